"""The page of `place`: its content, layout and accessibility, and hostile names."""

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
from speccompile.placement.placement import PlacementObjects, PlacementResult, place_workloads
from speccompile.report.place_html import as_placed_page

EVIL = "</style><script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>"


@pytest.fixture(scope="module")
def result() -> PlacementResult:
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
    return place_workloads(subjects, PlacementObjects([tree(one) for one in objects]), cluster, pools, suggests=True)


@pytest.fixture(scope="module")
def evil() -> PlacementResult:
    bad = machine(EVIL, labels={EVIL: EVIL}, taints=(Taint(EVIL, EVIL, "NoSchedule"),))
    spec = {"nodeSelector": {EVIL: "x"}, "containers": [container({f"{EVIL}/x": "1"})]}
    return place_workloads(
        [subject(spec, name=EVIL)],
        PlacementObjects(),
        Cluster((bad,)),
        [Pool(EVIL, {EVIL: EVIL}, (), {})],
        suggests=True,
    )


def test_the_policy_allows_the_style_of_the_page_and_nothing_else(result: PlacementResult) -> None:
    page = as_placed_page(result)
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


def test_the_page_loads_nothing(result: PlacementResult) -> None:
    page = as_placed_page(result)
    assert not re.findall(r"https?://|\bsrc=|url\(|@import|<link|<base|<form|<iframe|<script", page)
    assert re.findall(r'href="(?!#)', page) == []


def test_equal_results_produce_equal_pages(result: PlacementResult) -> None:
    assert as_placed_page(result) == as_placed_page(result)


def test_hostile_names_stay_text(evil: PlacementResult) -> None:
    page = as_placed_page(evil)
    assert "<script" not in page
    assert "<img" not in page
    assert page.count("</style>") == 1
    assert {char for char in page if not char.isprintable()} == {"\n"}


def test_nothing_to_place_is_a_page_too() -> None:
    page = as_placed_page(place_workloads([], PlacementObjects(), cluster_of(node("a"))))
    assert "no workloads to place (1 node checked)" in page
    assert "<svg" not in page


# In a browser.


@pytest.fixture
def page(chrome: Chrome, result: PlacementResult, tmp_path: Path) -> Iterator[Chrome]:
    """The page, opened as a file; the console stays silent."""
    emulated(chrome)
    yield opened(chrome, as_placed_page(result), tmp_path)
    assert complaints(chrome) == []


def test_everything_is_on_the_page(page: Chrome) -> None:
    text = page.find_element(By.TAG_NAME, "main").text
    for line in (
        "1 of 3 workloads does not fit any node (3 nodes checked): Job lost",
        "room for 3 of 6 pods, and for all pods of 1 of 3 workloads (estimate)",
        "2 pods of Job web stay pending: no node in pool cpu has enough cpu free",
        "Job lost: label pool: needs tpu, has cpu or gpu (2 nodes)",
        "does not fit any node",
        "Suggestion\nset pool to cpu in the node selector (run test), to fit 1 node: cpu-1",
        "not considered: priority and preemption",
        "Model iris",
        "it has no replicas",
        "estimate: pods are placed in the order of the runs",
    ):
        assert line in text
    assert "`" not in page.find_element(By.TAG_NAME, "body").text
    assert "Not considered\nvolumes" in page.find_element(By.TAG_NAME, "footer").text


def test_the_result_comes_first_and_then_the_pools(page: Chrome) -> None:
    headings = [heading.text for heading in page.find_elements(By.CSS_SELECTOR, "main h2")]
    assert headings[:5] == ["Result", "Job lost", "Pools", "Models and servers", "Job train"]
    assert page.find_element(By.CSS_SELECTOR, ".count").text == "not everything fits"


def test_identifiers_are_code(page: Chrome) -> None:
    codes = {element.text for element in page.find_elements(By.CSS_SELECTOR, "main code")}
    assert {"pool", "tpu", "cpu"} <= codes


def test_workloads_are_in_natural_order() -> None:
    subjects = [subject({}, name=f"train-{number}") for number in (10, 2, 1)]
    unfit = subject({"nodeSelector": {"a": "b"}}, name="train-11")
    page = as_placed_page(place_workloads([*subjects, unfit], PlacementObjects(), cluster_of(node("a"))))
    index = re.findall(r"<strong>Job (.*?)</strong>", page)
    assert index == ["train-11", "train-1", "train-2", "train-10"]


def test_amounts_beside_a_chart_are_text(page: Chrome) -> None:
    rows = page.find_elements(By.CSS_SELECTOR, ".capacity tbody tr")
    assert rows[0].text.split() == ["cpu", "8", "1", "6", "1", "5"]
    assert all(chart.get_attribute("aria-hidden") == "true" for chart in page.find_elements(By.TAG_NAME, "svg"))


def test_bars_are_proportional_to_amounts(page: Chrome) -> None:
    widths = asked(
        page,
        "return Object.fromEntries([...document.querySelector('svg.chart').querySelectorAll('rect')]"
        ".map(one => [one.getAttribute('class'), one.getBoundingClientRect().width]))",
    )
    unit = widths["used"]
    assert widths["added"] == pytest.approx(6 * unit, rel=0.1)
    assert widths["missing"] == pytest.approx(5 * unit, rel=0.1)
    assert widths["room"] == pytest.approx(8 * unit, rel=0.1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 375, 1440])
def test_the_page_fits_narrow_and_wide_windows_in_light_and_dark(page: Chrome, scheme: str, width: int) -> None:
    emulated(page, scheme=scheme, width=width)
    assert asked(page, "return document.documentElement.scrollWidth <= innerWidth")
    colours = asked(
        page,
        "return ['used', 'added', 'missing'].map(name => "
        "getComputedStyle(document.querySelector(`svg.chart rect.${name}`)).fill)",
    )
    hidden = asked(
        page, "return [...document.querySelectorAll('table')].filter(one => one.scrollWidth > innerWidth).length"
    )
    assert hidden == 0
    paper = asked(page, "return getComputedStyle(document.querySelector('article')).backgroundColor")
    assert len({*colours, paper}) == 4


def test_hostile_names_do_nothing_in_a_browser(chrome: Chrome, evil: PlacementResult, tmp_path: Path) -> None:
    opened(chrome, as_placed_page(evil), tmp_path)
    assert asked(chrome, "return window.pwned === undefined")
    assert complaints(chrome) == []
