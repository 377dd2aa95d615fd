"""A headless Chromium that uses the real server as a user does.

With `--pictures` it keeps pictures of the pages in the tests' data folder, which git ignores: each
page wide and on a phone, light and dark.
"""

import base64
import contextlib
import itertools
import os
import shutil
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
from django.contrib.auth.models import User
from django.test import Client
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from config.env import data_dir
from tests.support.proxy import HOST
from tests.support.server import Server, eventually

SCREENSHOTS = data_dir() / "tests" / "screenshots"
WIDTHS = {"wide": 1280, "small": 1024, "tablet": 820, "phone": 390, "narrow": 320}  # CSS pixels
SCHEMES = ("light", "dark")
CHECKED = {"wide": "light", "phone": "dark"}  # axe takes a third of a second
PICTURED = ("wide", "phone")
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
RUN_AXE = """
const done = arguments[0];
const options = { resultTypes: ["violations"], selectors: false, iframes: false };
axe.run(document, options).then(({ violations }) => done(violations.map(
  ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ").slice(0, 500)}`)));
"""
FITS = """
const times = [...document.querySelectorAll("time")];
return document.documentElement.scrollWidth <= arguments[0]
  && times.every((time) => time.getClientRects().length < 2);
"""
FLAGS = (
    "--headless=new",
    f"--window-size={WIDTHS['wide']},900",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-component-update",
)


class Browser:
    """One browser window on the server.

    Attributes:
        clicks: on links and buttons since the test began, for tests that count them.
    """

    def __init__(self, driver: webdriver.Chrome, server: Server, *, pictures: bool) -> None:
        self.driver = driver
        self.url = f"http://{HOST}:{server.port}"
        self.clicks = 0
        self.pictures = pictures
        self._pages = itertools.count(1)

    def open(self, path: str) -> None:
        self.driver.get(f"{self.url}{path}")

    def log_in(self, user: User) -> None:
        """Gives the browser a session of this user, without the form."""
        client = Client()
        client.force_login(user)
        session = client.cookies["sessionid"].value
        self.forget()
        self.cdp("Network.setCookie", name="sessionid", value=session, url=self.url, httpOnly=True)

    def forget(self) -> None:
        self.cdp("Network.clearBrowserCookies")

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    @contextlib.contextmanager
    def next_page(self) -> Iterator[None]:
        """Waits, after what is done inside, until another page has loaded.

        The driver does not wait for a page that a click or a key leads to: it may still read the
        page that is being left. All that leads to another page goes through here.
        """
        number = next(self._pages)
        self.driver.execute_script("window.leftAs = arguments[0]", number)
        yield
        assert eventually(lambda: self._has_loaded_after(number)), "no other page has loaded"

    def _has_loaded_after(self, number: int) -> bool:
        """Whether a whole page is shown that is not the one which was left under the number."""
        loaded = "return document.readyState === 'complete' && window.leftAs !== arguments[0]"
        try:
            return bool(self.driver.execute_script(loaded, number))
        except WebDriverException:  # between two pages
            return False

    def click(self, text: str) -> None:
        """Clicks the link or button with this text, and waits for the page that it leads to."""
        quoted = f"'{text}'"
        xpath = f"//main//a[contains(., {quoted})] | //main//button[contains(., {quoted})]"
        self.follow(self.driver.find_element(By.XPATH, xpath))

    def follow(self, element: WebElement) -> None:
        self.clicks += 1
        with self.next_page():
            element.click()

    def submit(self, field: WebElement, text: str) -> None:
        with self.next_page():
            field.send_keys(text + Keys.ENTER)

    def shows(self, text: str) -> bool:
        return bool(eventually(lambda: text in self.text))

    @property
    def text(self) -> str:
        return str(self.find("body").text)

    @property
    def source(self) -> str:
        return str(self.driver.page_source)

    def cdp(self, command: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, parameters)

    def widths(self) -> Iterator[tuple[str, int]]:
        """The name of each width, and how many CSS pixels it is; the window has it meanwhile."""
        for kind, width in WIDTHS.items():
            size = {"width": width, "height": 800, "deviceScaleFactor": 1}
            self.cdp("Emulation.setDeviceMetricsOverride", **size, mobile=width < WIDTHS["wide"])
            yield kind, width
        self.cdp("Emulation.clearDeviceMetricsOverride")

    def check_layout(self, name: str, checked: Mapping[str, str] = CHECKED) -> None:
        """The page fits in each width, is accessible, and keeps to its policy.

        Keeps pictures of it if they are wanted.

        Args:
            checked: the widths in which axe-core checks it, each with a colour scheme.
        """
        for kind, width in self.widths():
            assert eventually(partial(self._fits, width)), f"{name} does not fit in {width}"
            if scheme := checked.get(kind):
                assert self.violations(scheme) == [], (name, kind, scheme)
            if self.pictures and kind in PICTURED:
                self._keep_pictures(f"{name}-{kind}")
        assert self.refused_by_policy() == [], name

    def violations(self, scheme: str) -> list[str]:
        """What axe-core finds on the page: WCAG 2.2 A and AA, and its best practices."""
        self.driver.execute_script("'axe' in window || loadAxe()")
        with self.preferring(scheme):
            return list(self.driver.execute_async_script(RUN_AXE))

    def refused_by_policy(self) -> list[str]:
        """What the content security policy has refused since the last call."""
        messages = [str(each["message"]) for each in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]
        return [each for each in messages if "Content Security Policy" in each]

    def _fits(self, width: int) -> bool:
        return bool(self.driver.execute_script(FITS, width))

    def _keep_pictures(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for scheme in SCHEMES:
            with self.preferring(scheme):
                picture = self.cdp("Page.captureScreenshot", captureBeyondViewport=True)
            (SCREENSHOTS / f"{name}-{scheme}.png").write_bytes(base64.b64decode(picture["data"]))

    @contextlib.contextmanager
    def preferring(self, scheme: str) -> Iterator[None]:
        preferred = [{"name": "prefers-color-scheme", "value": scheme}]
        self.cdp("Emulation.setEmulatedMedia", features=preferred)
        yield
        self.cdp("Emulation.setEmulatedMedia", features=[])


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    program, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (program and driver):
        missing = "chromedriver (chromium-driver)" if program else "Chromium (chromium)"
        if os.environ.get("CI"):
            pytest.fail(f"CI needs {missing}: apt-get install chromium chromium-driver")
        pytest.skip(f"{missing} is not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    chrome = webdriver.Chrome(options, webdriver.ChromeService(driver))
    # Each page has it from its beginning: to send it to a page takes a third of a second.
    load_axe = f"window.loadAxe = () => {{ {AXE.read_text()} }}"
    chrome.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": load_axe})
    try:
        yield chrome
    finally:
        chrome.quit()


@pytest.fixture
def browser(
    chromium: webdriver.Chrome, service: Server, pytestconfig: pytest.Config
) -> Iterator[Browser]:
    """A browser on a real process of pages and the API; nobody is logged in."""
    opened = Browser(chromium, service, pictures=pytestconfig.getoption("pictures"))
    opened.forget()
    yield opened
    opened.cdp("Emulation.setTimezoneOverride", timezoneId="")
    # A page without scripts, so that nothing asks the server any longer. about:blank would make
    # Chromium end the process that shows pages, and start another one.
    opened.open("/healthz")
