"""The page of `place`: all that the table tells, a chart that can be read without seeing it, and nothing obeyed."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import asked, complaints, emulated, opened
from helpers.cluster import cluster_of, container, machine, node, pod, subject, tree
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.machine import Taint
from speccompile.placement.node_pools import Pool
from speccompile.placement.placement import Answer, Known, answer
from speccompile.report.place_html import as_placed_page

EVIL = "</style><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


@pytest.fixture(scope="module")
def told() -> Answer:
    """A pool with room, one that is short, a run that fits nowhere, and a model with two servers."""
    cluster = cluster_of(
        node("cpu-1", labels={"pool": "cpu"}),
        node("cpu-2", labels={"pool": "cpu"}, unschedulable=True),
        node("gpu-1", {"nvidia.com/gpu": "2"}, labels={"pool": "gpu"}),
        pods=[pod("p", "cpu-1")],
    )
    cpu = {"nodeSelector": {"pool": "cpu"}, "containers": [container({"cpu": "3"})]}
    gpu = {"nodeSelector": {"pool": "gpu"}, "containers": [container({"nvidia.com/gpu": "1"})]}
    objects = [
        {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
        for kind, name, spec in (
            ("Server", "mlserver", {"serverConfig": "mlserver", "replicas": 1}),
            ("Server", "stopped", {"serverConfig": "mlserver", "replicas": 0}),
            ("Model", "iris", {"requirements": ["sklearn"]}),
        )
    ]
    subjects = [
        subject(cpu, 4, "web"),
        subject(gpu, name="train"),
        subject({"nodeSelector": {"pool": "tpu"}, "priorityClassName": "high"}, name="lost"),
    ]
    pools = [Pool(name, {"pool": name}, (), {}) for name in ("cpu", "gpu")]
    return answer(subjects, Known([tree(one) for one in objects]), cluster, pools, suggests=True)


@pytest.fixture(scope="module")
def evil() -> Answer:
    bad = machine(EVIL, labels={EVIL: EVIL}, taints=(Taint(EVIL, EVIL, "NoSchedule"),))
    spec = {"nodeSelector": {EVIL: "x"}, "containers": [container({f"{EVIL}/x": "1"})]}
    return answer(
        [subject(spec, name=EVIL)], Known(), Cluster((bad,)), [Pool(EVIL, {EVIL: EVIL}, (), {})], suggests=True
    )


def test_the_policy_allows_the_style_of_the_page_and_nothing_else(told: Answer) -> None:
    page = as_placed_page(told)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="(.*?)">', page)
    assert style
    assert policy
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1].split("; ") == [
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert not re.search(r"<[^>]+ (?:style|on\w+)=", page)


def test_the_page_asks_nobody_for_anything(told: Answer) -> None:
    page = as_placed_page(told)
    assert not re.findall(r"https?://|\bsrc=|url\(|@import|<link|<base|<form|<iframe|<script", page)
    assert re.findall(r'href="(?!#)', page) == []


def test_the_same_answer_gives_the_same_page(told: Answer) -> None:
    assert as_placed_page(told) == as_placed_page(told)


def test_hostile_names_stay_text(evil: Answer) -> None:
    page = as_placed_page(evil)
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1
    assert {char for char in page if not char.isprintable()} == {"\n"}


def test_nothing_to_place_is_a_page_too() -> None:
    page = as_placed_page(answer([], Known(), cluster_of(node("a"))))
    assert "0 of 0 workloads fit, on 1 node" in page
    assert "<svg" not in page


# In a browser.


@pytest.fixture
def page(chrome: Chrome, told: Answer, tmp_path: Path) -> Iterator[Chrome]:
    """The page, opened as a file; the console stays silent."""
    emulated(chrome)
    yield opened(chrome, as_placed_page(told), tmp_path)
    assert complaints(chrome) == []


def test_everything_is_on_the_page(page: Chrome) -> None:
    text = page.find_element(By.TAG_NAME, "main").text
    for line in (
        "at once: 3 of 6 pods, all pods of 1 of 3 workloads",
        "2 pods of Job web would wait: no node of cpu has enough cpu left",
        "Job lost",
        "fits no node",
        "label `pool`: asks for `tpu`, found `cpu`",
        "select `pool`: `cpu` (run test): would fit 1 node: cpu-1",
        "not looked at, and this run has it: priority and preemption",
        "Model iris",
        "it has no replicas",
        "an estimate: first fit",
    ):
        assert line in text
    assert "Not looked at: volumes" in page.find_element(By.TAG_NAME, "footer").text


def test_the_chart_is_told_to_whoever_cannot_see_it(page: Chrome) -> None:
    for chart in page.find_elements(By.CSS_SELECTOR, "svg.chart"):
        names = (chart.get_attribute("aria-labelledby") or "").split()
        title, text = (asked(page, "return document.getElementById(arguments[0]).textContent", name) for name in names)
        assert chart.aria_role in ("image", "img", "graphics-document")
        assert chart.accessible_name.startswith("Pool ")
        assert title.startswith("Pool ")
        assert "allocatable" in text
    (cpu, gpu) = page.find_elements(By.CSS_SELECTOR, "svg.chart desc")
    assert "cpu: 8 allocatable, 1 taken now, 6 added by runs, 1 free, 5 missing" in (
        cpu.get_attribute("textContent") or ""
    )
    assert "nvidia.com/gpu: 2 allocatable" in (gpu.get_attribute("textContent") or "")


def test_bars_are_as_long_as_what_they_stand_for(page: Chrome) -> None:
    widths = asked(
        page,
        "return Object.fromEntries([...document.querySelector('svg.chart').querySelectorAll('rect')].slice(0, 5)"
        ".map(one => [one.getAttribute('class'), one.getBoundingClientRect().width]))",
    )
    unit = widths["taken"]
    assert widths["added"] == pytest.approx(6 * unit, rel=0.1)
    assert widths["missing"] == pytest.approx(5 * unit, rel=0.1)
    assert widths["room"] == pytest.approx(8 * unit, rel=0.1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_the_page_fits_narrow_and_wide_windows_in_light_and_dark(page: Chrome, scheme: str, width: int) -> None:
    emulated(page, scheme=scheme, width=width)
    assert asked(page, "return document.documentElement.scrollWidth <= innerWidth")
    colours = asked(
        page,
        "return ['taken', 'added', 'missing'].map(name => "
        "getComputedStyle(document.querySelector(`svg.chart rect.${name}`)).fill)",
    )
    paper = asked(page, "return getComputedStyle(document.querySelector('article')).backgroundColor")
    assert len({*colours, paper}) == 4


def test_hostile_names_do_nothing_in_a_browser(chrome: Chrome, evil: Answer, tmp_path: Path) -> None:
    opened(chrome, as_placed_page(evil), tmp_path)
    assert asked(chrome, "return window.pwned === undefined")
    assert complaints(chrome) == []
