"""A headless Chromium that uses the real server as a person does, and keeps pictures of it.

The pictures lie in the tests' data folder, which git ignores: each page wide and on a phone, light
and dark.
"""

import base64
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from config import embedded
from tests.proxy import HOST
from tests.server import Server, eventually

SCREENSHOTS = embedded.data_dir(os.environ) / "tests" / "screenshots"
WIDTHS = {"wide": 1280, "phone": 390}  # CSS pixels
SCHEMES = ("light", "dark")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Browser:
    """One browser window on the server."""

    def __init__(self, driver: webdriver.Chrome, server: Server) -> None:
        self.driver = driver
        self.server = server
        self.url = f"http://{HOST}:{server.port}"

    def open(self, path: str) -> None:
        """Goes to an address of the server."""
        self.driver.get(f"{self.url}{path}")

    def enter(self, person: User) -> None:
        """Gives the browser a session of this person's, without the form."""
        client = Client()
        client.force_login(person)
        self.open("/admin/login/")
        self.driver.delete_all_cookies()
        session = client.cookies["sessionid"].value
        self.driver.add_cookie({"name": "sessionid", "value": session, "httpOnly": True})

    def find(self, selector: str) -> WebElement:
        """The first element that a CSS selector means."""
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, text: str) -> None:
        """Clicks the link or button that says `text`, and waits for the page it leads to."""
        quoted = f"'{text}'"
        xpath = (
            f"//main//a[contains(., {quoted})] | //main//button[contains(., {quoted})] "
            f"| //main//input[@type='submit' and contains(@value, {quoted})]"
        )
        self.leave_by(self.driver.find_element(By.XPATH, xpath))

    def leave_by(self, element: WebElement) -> None:
        """Clicks an element, and waits for the page it leads to."""
        marker = self.find("html")
        element.click()
        eventually(lambda: gone(marker))

    @property
    def text(self) -> str:
        """What a person can read."""
        return str(self.find("body").text)

    @property
    def source(self) -> str:
        """All of the page."""
        return str(self.driver.page_source)

    def cdp(self, command: str, **parameters: Any) -> Any:
        """A command of Chromium's own protocol."""
        return self.driver.execute_cdp_cmd(command, parameters)

    def shoot(self, name: str) -> None:
        """Keeps a picture of the whole page in each width and scheme; none may be cut off."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for (kind, width), scheme in [(w, s) for w in WIDTHS.items() for s in SCHEMES]:
            self.cdp(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}],
            )
            size = {"width": width, "height": 800, "deviceScaleFactor": 1}
            self.cdp("Emulation.setDeviceMetricsOverride", **size, mobile=kind == "phone")
            picture = self.cdp("Page.captureScreenshot", captureBeyondViewport=True)
            file = SCREENSHOTS / f"{name}-{kind}-{scheme}.png"
            file.write_bytes(base64.b64decode(picture["data"]))
            needed = self.driver.execute_script("return document.documentElement.scrollWidth")
            assert needed <= width, f"{name} is {needed} wide on {width}"
        self.cdp("Emulation.clearDeviceMetricsOverride")
        self.cdp("Emulation.setEmulatedMedia", features=[])


def gone(element: WebElement) -> bool:
    """Whether the page that the element was on has been left."""
    try:
        element.is_enabled()
    except WebDriverException:
        return True
    return False


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """One Chromium for all tests; they use it through `browser`."""
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        if os.environ.get("CI"):
            pytest.fail("CI needs Chromium: apt-get install chromium chromium-driver")
        pytest.skip("Chromium is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    chrome = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield chrome
    finally:
        chrome.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome, server: Server) -> Iterator[Browser]:
    """A browser on the real server that nobody has signed in to."""
    chromium.delete_all_cookies()
    yield Browser(chromium, server)
    chromium.get("about:blank")
