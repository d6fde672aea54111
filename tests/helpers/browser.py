"""A page opened in a browser, and what the browser reports about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome


def opened(chrome: Chrome, text: str, folder: Path) -> Chrome:
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    chrome.get(path.as_uri())
    return chrome


def complaints(chrome: Chrome) -> list[dict[str, Any]]:
    """Whatever the console was told, such as an error or a breach of the policy."""
    log: list[dict[str, Any]] = chrome.get_log("browser")  # type: ignore[no-untyped-call]
    return log


def emulated(chrome: Chrome, *, scheme: str = "light", width: int = 1440) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def asked(chrome: Chrome, script: str, *arguments: Any) -> Any:
    return chrome.execute_script(script, *arguments)
