"""The documentation site: it builds without a warning, its examples are true, and readers need no network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml
from helpers.page_examples import blocks, calls_named, has_examples, played
from helpers.paths import ROOT
from helpers.programs import browser
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from speccompile.cli.main import parser

DOCS = ROOT / "docs"
TEXTS = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
HOW_TO = ("argocd", "check", "ci", "completion", "editors", "helm", "kustomize", "pre-commit", "python", "verify")
ALL = pytest.mark.parametrize("page", TEXTS)


def build(root: Path, target: Path) -> subprocess.CompletedProcess[str]:
    """The call of `make docs`, in a copy of the sources, with another target."""
    recipe = re.search(
        r"^docs:.*\n\tNO_MKDOCS_2_WARNING=1 \$\(BIN\)/(.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    assert recipe
    call = [sys.executable, "-m", *recipe.group(1).split(), "--site-dir", str(target)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(call, cwd=root, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("site")
    done = build(ROOT, target)
    assert (done.returncode, "WARNING" in done.stderr) == (0, False), done.stderr
    return target


def test_the_site_has_every_page(site: Path) -> None:
    """That all of them are in the navigation, and lead nowhere in vain, is what the build itself checks."""
    built = {path.relative_to(site).with_suffix(".md").as_posix() for path in site.rglob("*.html")}
    assert built - {"404.md"} == set(TEXTS)
    assert {f"howto/{name}.md" for name in HOW_TO} <= built


def test_links_that_lead_nowhere_and_pages_that_nobody_finds_stop_the_build(tmp_path: Path) -> None:
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "docs" / "lost.md").write_text("[a](nosuch.md) [b](reference.md#nosuch) [c](/admin.md)\n")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 1
    assert "Aborted with 4 warnings in strict mode" in done.stdout


@pytest.mark.parametrize("page", [name for name, text in TEXTS.items() if has_examples(text)])
def test_the_examples_of_a_page_give_what_it_shows(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    true = played(TEXTS[page])
    if request.config.getoption("--update-golden"):
        (DOCS / page).write_text(true, encoding="utf-8")
    else:
        assert TEXTS[page] == true, "if this is meant, run pytest --update-golden and read the diff"


@ALL
def test_the_yaml_of_a_page_is_yaml(page: str) -> None:
    """Pages of codes contain bad examples; tests/model/test_diagnostic_codes.py runs them."""
    for block in blocks(TEXTS[page]) if not page.startswith("codes/") or page == "codes/index.md" else ():
        if block.language == "yaml":
            list(yaml.safe_load_all(block.body))


@ALL
def test_the_scripts_and_pipelines_of_a_page_make_calls_that_exist(page: str) -> None:
    for call in calls_named(TEXTS[page]):
        parser().parse_args(call[1:])


@ALL
def test_the_commands_that_a_page_speaks_of_exist(page: str) -> None:
    """Or begin as one that exists, where a page is about completion."""
    named = set(re.findall(r"`speccompile ([a-z]+)\b", TEXTS[page]))
    below = parser()._subparsers
    assert below
    known = tuple(below._group_actions[0].choices or ())
    assert [name for name in named if not any(command.startswith(name) for command in known)] == []


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Nothing: what is asked for is the browser's to tell."""


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def test_a_reader_finds_a_page_by_search_and_asks_nobody_else_for_anything(address: str, tmp_path: Path) -> None:
    binary, driver = browser()
    options = ChromeOptions()
    options.binary_location = binary
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    with Chrome(options=options, service=Service(driver)) as chrome:
        chrome.get(f"{address}index.html")
        chrome.execute_script("document.querySelector('[data-md-toggle=search]').click()")
        chrome.find_element(By.CSS_SELECTOR, "[data-md-component=search-query]").send_keys("project_profiles")
        found = WebDriverWait(chrome, 60).until(
            lambda page: page.find_elements(By.CSS_SELECTOR, ".md-search-result__link")
        )
        assert any("admin.html" in (link.get_attribute("href") or "") for link in found)
        log = chrome.get_log("performance")  # type: ignore[no-untyped-call]
        assert chrome.get_log("browser") == []  # type: ignore[no-untyped-call]
    asked = list(requests(log, address))
    assert f"{address}search/search_index.json" in asked
    assert [url for url in asked if not url.startswith((address, "data:"))] == []


def requests(log: list[dict[str, str]], address: str) -> Iterator[str]:
    """What pages of the site asked for; the browser's own pages ask for theirs."""
    for entry in log:
        event = json.loads(entry["message"])["message"]
        if event["method"] == "Network.requestWillBeSent" and event["params"]["documentURL"].startswith(address):
            yield event["params"]["request"]["url"]
