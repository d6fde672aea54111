"""The page of `explain --html`: correct positions, no injection, no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.browser import asked, complaints, emulated, opened
from helpers.paths import ROOT
from selenium.webdriver import Chrome
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from speccompile import compile_many, compile_run
from speccompile.compiler.compiled import Compiled
from speccompile.model.redaction import HIDDEN
from speccompile.report.explain_html import as_page
from speccompile.schema.bundled import asset

PLATFORM = """\
namespace: ai-jobs
memory_limit_factor: 1.5
defaults:
  envs: {LOG_LEVEL: info}
enforce:
  labels: {cost-center: ai-lab}
"""
GPU = """\
id: gpu
node_selector:
  pool: gpu
defaults:
  resources:
    cpu: "4"
---
apiVersion: batch/v1
kind: Job
spec:
  backoffLimit: 2
"""
A100 = """\
# Nobody sees this line.
#
#
id: a100
extends: gpu
# Near the GPU, shown once.
resources:
  gpu: 1
node_selector:
  pool: a100
args: []
"""
TRAIN = """\
name: train
project: audio
action: job
profile: a100
image: ghcr.io/acme/train:1.4
args: [--debug]
labels:
  cost-center: my-team
node_selector:
  pool: h100
resources:
  mem: 6Gi
  gpu: 2
envs:
  NOTE: |
    first

    third
volumes:
- volume_type: persistent_volume_claim
  name: data
  mount_path: /data
  spec: {size: 10Gi}
"""
CLEAN = """\
name: clean
action: job
image: python:3.12
"""
HOSTILE = {
    "SCRIPT": "</script><script>window.pwned = 1</script>",
    "IMAGE": "<img src=x onerror='window.pwned = 1'>",
    "JINJA": "{{ 7 * 7 }}",
    "COMMENT": "<!-- <script> ]]>",
    "ENTITY": "&lt;b&gt;",
    "OVERRIDE": "abc \u202e txt.exe",
    "ZERO": "a\u200bb",
    "BREAK": "a\u2028b",
    "HEBREW": "שלום (x) 1",
    "LONG": "x" * 5000,
}


class Files(NamedTuple):
    """Compiled runs and their directory."""

    folder: Path
    compiled: tuple[Compiled, ...]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("files")
    texts = {"platform": PLATFORM, "gpu": GPU, "a100": A100, "train": TRAIN, "clean": CLEAN}
    for name, text in texts.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Files(folder, compiled_in(folder))


def compiled_in(folder: Path) -> tuple[Compiled, ...]:
    results = compile_many(
        [folder / "train.yaml", folder / "clean.yaml"],
        profiles=[folder / "gpu.yaml", folder / "a100.yaml"],
        platform=folder / "platform.yaml",
    )
    return tuple(result for result in results if isinstance(result, Compiled))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    """A run with markup in values, comments and the file name, some of it overridden."""
    folder = tmp_path_factory.mktemp("hostile")
    run = folder / "<img src=x onerror='window.pwned = 1'> \u202e.yaml"
    profile = folder / "p.yaml"
    written = "".join(f"  {name}: {json.dumps(value)} # {HOSTILE['IMAGE']} \u202e\n" for name, value in HOSTILE.items())
    run.write_text(f"name: hostile\naction: job\nprofile: p\nimage: python:3.12\nenvs:\n{written}", encoding="utf-8")
    profile.write_text("id: p\nenvs: {SCRIPT: ok, OVERRIDE: ok, LONG: ok}\n", encoding="utf-8")
    return compile_run(run, profiles=[profile])


# The text of the page


def data_of(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def inline(page: str, tag: str) -> str:
    match = re.search(rf"<{tag}>(.*?)</{tag.partition(' ')[0]}>", page, re.DOTALL)
    assert match
    return match[1]


def test_the_page_is_deterministic(files: Files) -> None:
    assert as_page(files.compiled) == as_page(compiled_in(files.folder))


def test_a_page_without_runs() -> None:
    page = as_page([])
    assert "No runs." in page
    assert data_of(page)["lines"] == []


def test_the_policy_allows_only_the_style_and_the_script(files: Files) -> None:
    page = as_page(files.compiled)
    match = re.search(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', page)
    assert match
    hashes = [
        "'sha256-" + base64.b64encode(hashlib.sha256(inline(page, tag).encode()).digest()).decode() + "'"
        for tag in ('script type="module"', "style")
    ]
    assert match[1].split("; ") == [
        "default-src 'none'",
        f"script-src {hashes[0]}",
        f"style-src {hashes[1]}",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert page.index(match[0]) < page.index("<style")
    assert not re.search(r"<[^>]+ (?:style|on\w+)=", page)


def test_the_page_refers_to_no_resource(files: Files) -> None:
    page = as_page(files.compiled)
    assert not re.findall(r"https?://|\bsrc=|url\(|@import|<link|<base|<form|<iframe", page)
    assert re.findall(r'href="(?!#)', page) == []


def test_the_script_never_parses_markup() -> None:
    sinks = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser|setHTML"
    assert not re.findall(sinks, asset("page.js"))


def test_hostile_text_is_escaped(hostile: Compiled) -> None:
    page = as_page([hostile])
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "&lt;/script&gt;&lt;script&gt;window.pwned = 1" in page
    assert "{{ 7 * 7 }}" in page
    assert "&amp;lt;b&amp;gt;" in page
    assert page.startswith("<!doctype html>")


def test_every_character_of_the_page_is_visible(hostile: Compiled) -> None:
    page = as_page([hostile])
    assert {char for char in page if not char.isprintable()} == {"\n"}
    assert "\\u202e" in page
    assert HOSTILE["HEBREW"] in page


def test_a_file_name_that_is_not_unicode(tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.yaml"
    path.write_text(CLEAN, encoding="utf-8")
    page = as_page([compile_run(path)])
    page.encode("utf-8")
    assert "caf\\udce9.yaml" in page


def test_lines_that_may_contain_a_secret_are_not_in_the_page(tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(
        f"{CLEAN}profile: p\nenvs:\n  MY_SECRET: hunter1 # hunter2\n  OTHER: x\n# secrets: hunter3\n", encoding="utf-8"
    )
    profile: Mapping[str, Any] = {"id": "p", "envs": {"MY_SECRET": "fixed"}}
    page = as_page([compile_run(run, profiles=[profile])])
    assert "hunter" not in page
    assert f"<em>{HIDDEN}</em>" in page
    assert [lines["6"] for lines in data_of(page)["sources"] if "  OTHER: x" in lines.values()] == [None]


def test_a_secret_in_an_overridden_mapping_is_not_in_the_page(tmp_path: Path) -> None:
    """The second volume is an alias, so its secret is on lines of the first; each is overridden at two lines."""
    run, profile = tmp_path / "run.yaml", tmp_path / "p.yaml"
    volume = "- {{volume_type: config_map, name: {0}, mount_path: /{0}{1}, spec: {{data: {2}}}}}\n"
    run.write_text(
        f"{CLEAN}profile: p\nvolumes:\n"
        + volume.format("a", "", "&data {\n  my_secret: hunter2\n  }")
        + volume.format("b", "", "*data"),
        encoding="utf-8",
    )
    fixed = [volume.format(name, "/fixed", "{key: text}") for name in "ab"]
    profile.write_text(f"id: p\nvolumes:\n{''.join(fixed)}", encoding="utf-8")
    page = as_page([compile_run(run, profiles=[profile])])
    assert "hunter2" not in page
    assert page.count(f"<em>{HIDDEN}</em>") == 4


def test_a_secret_in_an_overridden_string_is_not_in_the_page(tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(f"{CLEAN}profile: p\nenvs:\n  NOTE: |\n    user: me\n    secret: hunter2\n", encoding="utf-8")
    page = as_page([compile_run(run, profiles=[{"id": "p", "envs": {"NOTE": "fixed"}}])])
    assert "hunter2" not in page
    assert f"<em>{HIDDEN}</em>" in page


def test_a_source_line_is_in_the_page_once(files: Files) -> None:
    other = compile_run(
        TRAIN.replace("name: train", "name: other", 1),
        profiles=[files.folder / "gpu.yaml", files.folder / "a100.yaml"],
        platform=files.folder / "platform.yaml",
    )
    page = as_page([*files.compiled, other])
    assert page.count("Near the GPU, shown once.") == 1
    assert "Nobody sees this line." not in page


def test_runs_are_sorted_naturally() -> None:
    names = ("train-10", "train-2", "a-1", "train-02x", "train")
    runs = [CLEAN.replace("clean", name) for name in names] + [CLEAN.replace("name: clean", "name: z\nproject: a")]
    page = as_page(result for result in compile_many(runs) if isinstance(result, Compiled))
    index = re.findall(r'<strong><span class="project">(.*?)</span>(.*?)</strong>', page)
    in_default = [("default/", name) for name in ("a-1", "train", "train-2", "train-02x", "train-10")]
    assert index == [("a/", "z"), *in_default]
    headings = re.findall(r'<h2 id="run-\d-name"><span class="project">(.*?)</span>(.*?)</h2>', page)
    assert headings == index


def test_code_in_derivations_is_marked_up(chrome: Chrome, tmp_path: Path) -> None:
    run = {"name": "Train_1", "action": "job", "image": "a", "parameters": {"a": 1}}
    text = as_page([compile_run(run)])
    assert "`" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    opened(chrome, text, tmp_path)
    line(chrome, 'speccompile.dev/parameters: "{\\"a\\":1}"').click()
    assert "`" not in one(chrome, "aside").text
    assert one(chrome, "aside section p code").text == "parameters"


def test_the_size_of_a_page_with_many_runs() -> None:
    train = TRAIN.replace("profile: a100\n", "")
    texts = [train.replace("name: train", f"name: train-{number}", 1) for number in range(200)]
    page = as_page(result for result in compile_many(texts) if isinstance(result, Compiled))
    assert page.count("<section ") == 200
    assert len(page.encode()) < 15_000_000


# In a browser


@pytest.fixture
def page(chrome: Chrome, files: Files, tmp_path: Path) -> Iterator[Chrome]:
    """The page of two runs, opened from a file; the console must stay empty."""
    yield opened(chrome, as_page(files.compiled), tmp_path)
    assert complaints(chrome) == []


def one(chrome: Chrome, selector: str) -> WebElement:
    return chrome.find_element(By.CSS_SELECTOR, selector)


def yaml_shown(chrome: Chrome) -> list[str]:
    """The YAML of the visible lines."""
    script = """
    return [...document.querySelectorAll(".yaml .line")].filter((line) => line.checkVisibility())
        .flatMap((line) => [...line.querySelectorAll(":scope > code")].map((code) => code.textContent))
    """
    shown: list[str] = asked(chrome, script)
    return shown


def line(chrome: Chrome, text: str) -> WebElement:
    """The first visible line with this text, scrolled into view."""
    script = """
    const found = [...document.querySelectorAll(".line")].find((line) =>
        line.checkVisibility() && line.querySelector("code").textContent.trim() === arguments[0]);
    found?.scrollIntoView({block: "center"});
    return found;
    """
    found = asked(chrome, script, text)
    assert isinstance(found, WebElement), text
    return found


def focused(chrome: Chrome) -> WebElement:
    return chrome.switch_to.active_element


def press(chrome: Chrome, *keys: str) -> None:
    ActionChains(chrome).send_keys(*keys).perform()


def status(chrome: Chrome) -> str:
    return one(chrome, "[aria-live]").text


class Figure(NamedTuple):
    """An excerpt in the details."""

    who: str
    place: str
    line: int | None
    text: str | None
    marked: str


def figures(chrome: Chrome, heading: str) -> list[Figure]:
    """The excerpts below a heading of the details, each with its first marked line."""
    script = """
    const section = [...document.querySelectorAll(".details section")]
        .find((section) => section.querySelector("h3").textContent.startsWith(arguments[0]));
    return [...(section?.querySelectorAll("figure") ?? [])].map((figure) => [
        figure.querySelector(".who").textContent,
        figure.querySelector(".where").textContent,
        Number(figure.querySelector(".here i")?.textContent ?? NaN) || null,
        figure.querySelector(".here code")?.textContent ?? null,
        [...figure.querySelectorAll("mark")].map((mark) => mark.textContent).join("\\n"),
    ])
    """
    return [Figure(*values) for values in asked(chrome, script, heading)]


def in_file(path: Path, text: str, marked: str, who: str, name: str | None = None) -> Figure:
    """The expected excerpt for the line of the file with this text."""
    lines = path.read_text(encoding="utf-8").split("\n")
    number = lines.index(text) + 1
    return Figure(who, f"{name or path}:{number}:{text.index(marked) + 1}", number, text, marked)


def test_initially_all_lines_are_visible(page: Chrome, files: Files) -> None:
    whole = "".join(compiled.to_yaml() for compiled in files.compiled)
    assert yaml_shown(page) == whole.replace("---\n", "").splitlines()
    assert status(page) == f"{len(page.find_elements(By.CSS_SELECTOR, '.line'))} lines"


def test_each_line_shows_its_origin(page: Chrome, files: Files) -> None:
    origins = {
        "image: ghcr.io/acme/train:1.4": ("run", f"{files.folder}/train.yaml:5"),
        "pool: a100": ("profile", f"{files.folder}/a100.yaml:10"),
        'cpu: "4"': ("profile default", f"{files.folder}/gpu.yaml:6"),
        "backoffLimit: 2": ("profile base", f"{files.folder}/gpu.yaml:11"),
        "namespace: ai-jobs": ("platform setting", f"{files.folder}/platform.yaml:1"),
        "type: RuntimeDefault": ("platform setting", "built-in platform"),
    }
    for text, expected in origins.items():
        origin = line(page, text).find_element(By.CSS_SELECTOR, ".origin")
        who, where = (origin.find_element(By.CSS_SELECTOR, part) for part in (".who", ".where"))
        assert (who.text, where.get_property("textContent")) == expected
    assert line(page, "metadata:").find_elements(By.CSS_SELECTOR, ".origin, .who") == []


def test_overridden_values_are_struck_through_with_position_and_rule(page: Chrome, files: Files) -> None:
    parent, run = line(page, "pool: a100").find_elements(By.CSS_SELECTOR, ".overridden")
    assert run.find_element(By.CSS_SELECTOR, "del").text == "h100"
    assert f"{files.folder}/train.yaml:10" in str(run.get_property("textContent"))
    assert "a profile overrides the run" in run.text
    assert parent.find_element(By.CSS_SELECTOR, "del").text == "gpu"
    assert "a profile overrides its parents, and later parents override earlier ones" in parent.text


def test_filtering_by_layer_keeps_parent_lines(page: Chrome) -> None:
    one(page, "[data-layer=profile]").click()
    assert one(page, "[data-layer=profile]").get_attribute("aria-pressed") == "true"
    shown = yaml_shown(page)
    assert "        pool: a100" in shown
    assert "      nodeSelector:" in shown
    assert "spec:" in shown
    # The item of the list opens in a line of another layer.
    assert "      - name: main" in shown
    assert not [text for text in shown if "image:" in text or "restartPolicy" in text]
    for text, after in pairwise(shown):
        assert len(after) - len(after.lstrip(" -")) <= len(text) - len(text.lstrip(" -")) + 2
    one(page, "[data-layer=run]").click()
    assert "        image: ghcr.io/acme/train:1.4" in yaml_shown(page)
    one(page, "[data-reset]").click()
    assert "      restartPolicy: Never" in yaml_shown(page)


def test_the_counts_of_the_legend(page: Chrome) -> None:
    for layer in ("run", "profile", "platform", "template"):
        button = one(page, f"[data-layer={layer}]")
        button.click()
        count = button.find_element(By.CSS_SELECTOR, "small").text
        assert status(page).startswith(f"{count} of ")
        assert len(page.find_elements(By.CSS_SELECTOR, ".line:not([hidden], .context)")) == int(count)
        button.click()


def test_filtering_by_overrides_hides_runs_without_any(page: Chrome) -> None:
    one(page, "[data-overrides]").click()
    lines = page.find_elements(By.CSS_SELECTOR, ".line:not([hidden], .context)")
    assert lines
    assert all(shown.find_elements(By.CSS_SELECTOR, "del") for shown in lines)
    assert "        pool: a100" in yaml_shown(page)
    assert "        image: ghcr.io/acme/train:1.4" not in yaml_shown(page)
    assert one(page, "#run-1").is_displayed()
    # The platform's label overrides nothing in the other run.
    assert not one(page, "#run-2").is_displayed()
    assert [entry.is_displayed() for entry in page.find_elements(By.CSS_SELECTOR, "nav li")] == [True, False]


def test_search_finds_text_and_files_and_lines_below_a_key(page: Chrome) -> None:
    field = one(page, "input")
    field.send_keys("TRAIN:1.4")
    assert status(page).startswith("1 of ")
    assert yaml_shown(page) == [
        "spec:",
        "  template:",
        "    spec:",
        "      containers:",
        "      - name: main",
        "        image: ghcr.io/acme/train:1.4",
    ]
    field.clear()
    field.send_keys("a100.yaml:10")
    assert yaml_shown(page)[-1] == "        pool: a100"
    field.clear()
    field.send_keys("nodeselector")
    assert yaml_shown(page)[-2:] == ["      nodeSelector:", "        pool: a100"]
    field.clear()
    field.send_keys("there is no such text")
    assert yaml_shown(page) == []
    assert one(page, "[data-nothing]").is_displayed()
    assert not one(page, "article").is_displayed()


def test_details_show_the_line_of_the_file_that_set_the_value(page: Chrome, files: Files) -> None:
    cases = [
        ("image: ghcr.io/acme/train:1.4", "train", "image: ghcr.io/acme/train:1.4", "ghcr.io/acme/train:1.4", "run"),
        ("pool: a100", "a100", "  pool: a100", "a100", "profile"),
        ('cpu: "4"', "gpu", '    cpu: "4"', '"4"', "profile default"),
        ("backoffLimit: 2", "gpu", "  backoffLimit: 2", "2", "profile base"),
        ("cost-center: ai-lab", "platform", "  labels: {cost-center: ai-lab}", "ai-lab", "platform"),
    ]
    for text, name, written, marked, who in cases:
        line(page, text).click()
        assert figures(page, "Set by") == [in_file(files.folder / f"{name}.yaml", written, marked, who)]


def test_details_show_the_line_of_the_template(page: Chrome) -> None:
    line(page, "restartPolicy: Never").click()
    name = "templates/kubernetes/_pod.j2"
    text = "  restartPolicy: Never"
    assert figures(page, "Set by") == [in_file(ROOT / name, text, text.strip(), "template", name)]


def test_details_show_path_and_value(page: Chrome) -> None:
    line(page, "pool: a100").click()
    assert one(page, "aside h2").text == "spec.template.spec.nodeSelector.pool"
    assert one(page, "aside .of").text == "audio/train, Job train"
    assert one(page, "aside .value").text == "a100"
    assert line(page, "pool: a100").get_attribute("aria-selected") == "true"
    line(page, "nodeSelector:").click()
    assert one(page, "aside h2").text == "spec.template.spec.nodeSelector"
    assert "see the lines below" in one(page, "aside").text
    assert line(page, "pool: a100").get_attribute("aria-selected") is None


def test_details_of_a_derived_value_show_its_inputs(page: Chrome, files: Files) -> None:
    line(page, "memory: 9Gi").click()
    derived_from = in_file(files.folder / "platform.yaml", "memory_limit_factor: 1.5", "1.5", "platform setting")
    assert figures(page, "Set by") == [in_file(files.folder / "train.yaml", "  mem: 6Gi", "6Gi", "run")]
    assert figures(page, "Derived") == [derived_from]
    assert "the memory request × 1.5" in one(page, "aside").text


def test_details_show_overridden_values_by_precedence(page: Chrome, files: Files) -> None:
    line(page, "pool: a100").click()
    assert figures(page, "Overridden values, highest precedence first") == [
        in_file(files.folder / "gpu.yaml", "  pool: gpu", "gpu", "profile"),
        in_file(files.folder / "train.yaml", "  pool: h100", "h100", "run"),
    ]
    assert [gone.text for gone in page.find_elements(By.CSS_SELECTOR, "aside del")] == ["gpu", "h100"]
    assert "a profile overrides its parents, and later parents override earlier ones" in one(page, "aside").text


def test_overridden_values_without_a_line_have_their_own_section(page: Chrome, files: Files) -> None:
    gone = line(page, "args")
    assert gone.find_element(By.CSS_SELECTOR, "del").text == '["--debug"]'
    gone.click()
    assert [figure.place for figure in figures(page, "Overridden by")] == [f"{files.folder}/a100.yaml:11:7"]
    assert [figure.place for figure in figures(page, "Overridden value")] == [f"{files.folder}/train.yaml:6:7"]


def test_a_multi_line_value_is_marked_as_a_whole(page: Chrome, files: Files) -> None:
    line(page, "value: |").click()
    (figure,) = figures(page, "Set by")
    assert (figure.place, figure.text) == (f"{files.folder}/train.yaml:15:9", "  NOTE: |")
    assert figure.marked == "|\nfirst\n\nthird"
    assert one(page, "aside .value").get_property("textContent") == "|\nfirst\n\nthird"


def test_an_excerpt_shows_two_lines_around_and_ends_with_the_file(page: Chrome) -> None:
    def numbers() -> list[str]:
        return [number.text for number in page.find_elements(By.CSS_SELECTOR, "section:nth-of-type(1) .excerpt i")]

    line(page, "image: ghcr.io/acme/train:1.4").click()
    assert numbers() == ["3", "4", "5", "6", "7"]
    line(page, "image: python:3.12").click()
    assert numbers() == ["1", "2", "3"]


def test_values_without_a_source_line(page: Chrome, chrome: Chrome, tmp_path: Path) -> None:
    line(page, "type: RuntimeDefault").click()
    assert figures(page, "Set by") == [Figure("platform setting", "built-in platform", None, None, "")]
    assert "not set in any file" in one(page, "aside").text
    run = compile_run({"name": "data", "action": "job", "image": "python:3.12"})
    line(opened(chrome, as_page([run]), tmp_path), "image: python:3.12").click()
    assert figures(page, "Set by") == [Figure("run", "<run>", None, None, "")]
    assert "Set in Python" in one(page, "aside").text


def test_excerpts_hide_lines_that_may_contain_a_secret(chrome: Chrome, tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(f"{CLEAN}envs:\n  MY_SECRET: hunter2\n  OTHER: x\n", encoding="utf-8")
    line(opened(chrome, as_page([compile_run(run)]), tmp_path), "- name: OTHER").click()
    excerpt = one(chrome, ".excerpt").text
    assert HIDDEN in excerpt
    assert "hunter2" not in excerpt
    line(chrome, "value: hunter2").click()
    assert one(chrome, ".excerpt .here").text.split("\n") == ["5", HIDDEN]


def test_the_keyboard_alone_opens_and_closes_details(page: Chrome) -> None:
    press(page, "/")
    assert focused(page) == one(page, "input")
    press(page, "pool", Keys.ENTER)
    assert "apiVersion" not in focused(page).text
    first = focused(page)
    assert first.get_attribute("role") == "option"
    while "pool" not in focused(page).text:
        press(page, Keys.ARROW_DOWN)
    found = focused(page)
    press(page, "k")
    assert focused(page) != found
    press(page, "j")
    assert focused(page) == found
    press(page, Keys.ENTER)
    assert one(page, "aside").is_displayed()
    assert focused(page) == one(page, "aside h2")
    press(page, Keys.TAB)
    assert focused(page) == one(page, "[data-close]")
    press(page, Keys.ESCAPE)
    assert not one(page, "aside").is_displayed()
    assert focused(page) == found
    press(page, Keys.ARROW_UP)
    assert focused(page) != found


def test_arrows_go_from_manifest_to_manifest_and_details_follow(page: Chrome) -> None:
    last = page.find_elements(By.CSS_SELECTOR, "#run-1 .yaml")[0].find_elements(By.CSS_SELECTOR, ".line")[-1]
    last.click()
    press(page, Keys.ARROW_DOWN)
    assert focused(page).text.startswith("apiVersion: batch/v1")
    assert one(page, "aside h2").text == "apiVersion"
    press(page, Keys.ARROW_UP)
    assert focused(page) == last


def test_every_manifest_is_one_tab_stop(page: Chrome) -> None:
    def stops() -> list[int]:
        lists = page.find_elements(By.CSS_SELECTOR, "[role=listbox]")
        return [len(found.find_elements(By.CSS_SELECTOR, "[tabindex='0']:not([hidden])")) for found in lists]

    assert set(stops()) == {1}
    line(page, "pool: a100").click()
    assert set(stops()) == {1}
    one(page, "[data-layer=template]").click()
    left = [found.is_displayed() for found in page.find_elements(By.CSS_SELECTOR, "[role=listbox]")]
    assert stops() == [int(is_left) for is_left in left]
    press(page, Keys.HOME)
    asked(page, "document.activeElement.blur()")
    reached = set()
    for _ in range(30):
        press(page, Keys.TAB)
        reached.add(focused(page).get_attribute("role") or focused(page).tag_name)
    assert reached >= {"a", "button", "input", "option"}


def test_focus_is_visible(page: Chrome) -> None:
    press(page, "j")
    width = asked(page, "return getComputedStyle(document.activeElement).outlineWidth")
    assert focused(page).get_attribute("role") == "option"
    assert width == "2px"


def read_clipboard(chrome: Chrome) -> str:
    script = "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](`${error}`))"
    text: str = chrome.execute_async_script(script)
    return text


@pytest.mark.parametrize("without_clipboard", [False, True], ids=["clipboard", "fallback"])
def test_copy_copies_exactly_the_yaml(page: Chrome, files: Files, without_clipboard: bool) -> None:
    permission = {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    page.execute_cdp_cmd("Browser.grantPermissions", permission)
    if without_clipboard:
        asked(page, "navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))")
    train = files.compiled[0].to_yaml()
    claim, job = train.split("---\n")
    one(page, "[data-overrides]").click()
    for selector, expected in (
        ("#run-1 > header [data-copy]", train),
        ("#run-1 article:nth-of-type(1) [data-copy]", claim),
        ("#run-1 article:nth-of-type(2) [data-copy]", job),
    ):
        button = one(page, selector)
        button.click()
        WebDriverWait(button, 5).until(lambda copying: copying.text == "Copied")
        assert one(page, "[role=status]").get_property("textContent") == "Copied"
        assert read_clipboard(page) == expected


def test_hostile_text_stays_text(chrome: Chrome, hostile: Compiled, tmp_path: Path) -> None:
    opened(chrome, as_page([hostile]), tmp_path)
    for text in ("value: ok", "image: python:3.12"):
        line(chrome, text).click()
        assert one(chrome, "aside").is_displayed()
        assert chrome.find_elements(By.CSS_SELECTOR, "img, iframe, section script, aside script, main script") == []
    assert asked(chrome, "return window.pwned ?? null") is None
    assert chrome.title == "Who set what: 1 run"
    assert "\\u202e" in one(chrome, "aside").text
    assert "\u202e" not in asked(chrome, "return document.documentElement.textContent")
    assert line(chrome, 'value: "{{ 7 * 7 }}"').is_displayed()
    line(chrome, f'value: "{HOSTILE["HEBREW"]}"').click()
    assert figures(chrome, "Set by")[0].marked == json.dumps(HOSTILE["HEBREW"])
    styles = asked(
        chrome,
        """return [...document.querySelectorAll("code, del, pre, .where")]
        .map((code) => `${getComputedStyle(code).direction} ${getComputedStyle(code).unicodeBidi}`)""",
    )
    assert set(styles) == {"ltr isolate"}
    assert complaints(chrome) == []


def test_marks_count_characters_as_they_are_shown(chrome: Chrome, tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(f'{CLEAN}labels: {{"a": "b"}} # 😀\nenvs: {{A: "😀\u202e", B: "after 😀"}}\n', encoding="utf-8")
    opened(chrome, as_page([compile_run(run)]), tmp_path)
    line(chrome, 'value: "after 😀"').click()
    assert figures(chrome, "Set by")[0].marked == '"after 😀"'
    line(chrome, 'value: "😀\\u202e"').click()
    assert figures(chrome, "Set by")[0].marked == '"😀\\u202e"'


def test_the_page_loads_nothing(page: Chrome) -> None:
    line(page, "pool: a100").click()
    entries = asked(page, "return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert entries == []


# Appearance

TEXTS = (
    *(f".line.{layer} b" for layer in ("run", "profile", "platform", "template")),
    *(f".who.{layer}" for layer in ("run", "profile", "platform", "template")),
    *(f"[data-layer={layer}]" for layer in ("run", "profile", "platform", "template")),
    *("h1", "h3", "h3 span", ".opens code", ".line.run code span", ".where", ".note", "del", ".count", "footer p"),
    *("nav strong", "nav .project", "nav .facts", "nav .overrides", "[data-copy]", "small", "aside h2"),
    *(
        ".excerpt code",
        ".here code",
        "mark",
        "aside .rule, aside p",
        ".excerpt i",
        "[aria-selected] b",
        "[aria-selected] .note",
    ),
)


def luminance(color: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(color: str, ground: str) -> float:
    dark, light = sorted((luminance(color), luminance(ground)))
    return (light + 0.05) / (dark + 0.05)


def colors(chrome: Chrome, selector: str) -> tuple[str, str]:
    script = """
    const element = document.querySelector(arguments[0]);
    let ground = element;
    while (/, 0\\)$/.test(getComputedStyle(ground).backgroundColor)) ground = ground.parentElement;
    return [getComputedStyle(element).color, getComputedStyle(ground).backgroundColor];
    """
    color, ground = asked(chrome, script, selector)
    return color, ground


def test_light_and_dark_differ_and_both_have_contrast(page: Chrome) -> None:
    grounds = {}
    line(page, "pool: a100").click()
    try:
        for scheme in ("light", "dark"):
            emulated(page, scheme=scheme)
            grounds[scheme] = colors(page, "body")[1]
            weak = {text: colors(page, text) for text in TEXTS if contrast(*colors(page, text)) < 4.5}
            assert weak == {}
    finally:
        emulated(page)
    assert luminance(grounds["light"]) > 0.8
    assert luminance(grounds["dark"]) < 0.05


CUT = """
return [...document.querySelectorAll(".line, .details, .details pre")]
    .filter((block) => block.scrollWidth > block.clientWidth).map((block) => block.textContent)
"""
"""The texts that overflow."""


@pytest.mark.parametrize("width", [360, 375, 768, 1200])
def test_the_page_is_never_wider_than_the_screen(
    chrome: Chrome, files: Files, hostile: Compiled, tmp_path: Path, width: int
) -> None:
    try:
        emulated(chrome, width=width)
        opened(chrome, as_page([*files.compiled, hostile]), tmp_path)
        for text in ("pool: a100", "value: ok"):
            found = line(chrome, text)
            found.click()
            assert asked(chrome, "return document.documentElement.scrollWidth <= innerWidth")
            assert asked(chrome, CUT) == []
            sheet, shown = one(chrome, "aside").rect, found.rect
            assert sheet["width"] <= width
            scrolled = asked(chrome, "return scrollY")
            assert shown["y"] - scrolled < 800 - sheet["height"]
    finally:
        emulated(chrome)


def test_a_page_of_many_runs_answers_at_once(chrome: Chrome, files: Files, tmp_path: Path) -> None:
    opened(chrome, as_page(files.compiled * 100), tmp_path)
    script = """
    const field = document.querySelector("input");
    const before = performance.now();
    field.value = "pool: a100";
    field.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    return performance.now() - before;
    """
    assert asked(chrome, script) < 3000
    assert status(chrome).startswith("100 of ")
