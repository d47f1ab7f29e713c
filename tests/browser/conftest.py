"""A real browser, for `make test-browser`; the ordinary suite does not collect these tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("ALLDAGS_BROWSER") else ["test_*.py"]


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium that remembers what was written to its console."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium):
    """The browser as a person with a wide, light screen has it."""
    chromium.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})  # as in the foremost window
    resize(chromium, 1100)
    colours(chromium, "light")
    chromium.get_log("browser")
    return chromium


def resize(driver, width, height=900):
    """Set the size of the window's inside, in pixels."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def colours(driver, scheme):
    """Prefer light or dark."""
    wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)


def overflow(driver):
    """How many pixels the page is wider than its window."""
    return driver.execute_script("const e = document.documentElement; return e.scrollWidth - e.clientWidth;")


def axe(driver):
    """What axe-core finds wrong with the page, as text."""
    import axe_core_python

    source = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    driver.execute_script(source)
    found = driver.execute_async_script("const done = arguments[0]; axe.run().then((r) => done(r.violations));")
    return [
        f"{rule['id']}: {node['html'][:160]} {node['failureSummary'][:200]}" for rule in found for node in rule["nodes"]
    ]


FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex='0']"


def reached_by_tab(driver, most=400):
    """Press Tab until the focus has left the page; return how many of the visible controls were never reached."""
    from selenium.webdriver.common.keys import Keys

    driver.execute_script(
        "window.seen = new Set(); document.activeElement.blur(); window.scrollTo(0, 0);"
        "document.addEventListener('focusin', (e) => window.seen.add(e.target));"
    )
    body = driver.find_element("tag name", "body")
    for _ in range(most):
        (driver.switch_to.active_element or body).send_keys(Keys.TAB)
        if driver.execute_script("return document.activeElement === document.body && window.seen.size > 0"):
            break
    return driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].filter((e) => e.checkVisibility() &&"
        " !e.disabled && !window.seen.has(e)).map((e) => e.outerHTML.slice(0, 120));",
        FOCUSABLE,
    )
