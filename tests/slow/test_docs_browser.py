"""/api/docs in a browser: its looks, the keyboard, and requests with a key."""

import contextlib
import time
from typing import Any

import pytest
from selenium.common.exceptions import ElementClickInterceptedException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from tests.support import factories
from tests.support.browser import SCHEMES, Browser
from tests.support.factories import Tenant
from tests.support.server import eventually

# Runs before the page's scripts, and collects violations of the policy.
LISTEN = """
window.violations = [];
addEventListener("securitypolicyviolation", e =>
  window.violations.push(`${e.violatedDirective}: ${e.blockedURI} ${e.sourceFile}`));
"""
# Texts whose contrast with what is behind them is below WCAG 2's AA: 4.5, large ones 3.
FAINT = """
const parse = colour => [...colour.match(/[\\d.]+/g).map(Number), 1];  // without alpha it is 1
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = e => {
  for (; e; e = e.parentElement) {
    const colour = parse(getComputedStyle(e).backgroundColor);
    if (colour[3] === 1) return colour;
  }
  return [255, 255, 255, 1];
};
return [...document.querySelectorAll("body *")].filter(e => e.checkVisibility()
    && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => {
  const style = getComputedStyle(e), size = parseFloat(style.fontSize);
  const pair = [light(parse(style.color)), light(behind(e))].sort((a, b) => b - a);
  const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
  const large = size >= 24 || size >= 18.66 && style.fontWeight >= 700;
  return [ratio, large, `${e.tagName}.${e.className}: ${e.textContent.trim().slice(0, 40)}`];
}).filter(([ratio, large]) => ratio < (large ? 3 : 4.5)).map(([ratio,, what]) =>
  `${ratio.toFixed(2)} ${what}`);
"""
LIST = "#operations-Documents-list_documents"
MOST_HEIGHT = 4000  # pixels, on a desktop
DOWNLOAD = "#operations-Documents-download_document"


@pytest.fixture
def page(browser: Browser) -> Any:
    """The page with its reference loaded. No test may cause a violation of the policy."""
    added = browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
    console_messages(browser)
    browser.open("/")
    assert eventually(lambda: browser.driver.find_elements(By.CSS_SELECTOR, ".opblock"))
    # An earlier test may have opened the admin, which stores its colours there.
    browser.driver.execute_script("localStorage.clear(); sessionStorage.clear()")
    yield browser
    assert browser.driver.execute_script("return window.violations") == []
    asked = browser.driver.execute_script(
        "return performance.getEntriesByType('resource').map(e => e.name)"
    )
    assert [url for url in asked if not url.startswith((f"{browser.url}/", "data:"))] == []
    browser.cdp("Page.removeScriptToEvaluateOnNewDocument", **added)


def console_messages(page: Browser) -> list[str]:
    """The console's messages since the last call, without those about error responses."""
    driver: Any = page.driver
    messages = [each["message"] for each in driver.get_log("browser")]
    return [
        message for message in messages if "the server responded with a status of" not in message
    ]


def shown(page: Browser, selector: str) -> WebElement:
    """An element, once it exists, scrolled to the middle of the window."""
    assert eventually(lambda: page.driver.find_elements(By.CSS_SELECTOR, selector)), selector
    element = page.find(selector)
    page.driver.execute_script(
        "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element
    )
    return element


def authorize(page: Browser, raw: str) -> None:
    shown(page, ".btn.authorize").click()
    shown(page, ".auth-container input").send_keys(raw)
    shown(page, ".auth-btn-wrapper .authorize").click()
    shown(page, ".auth-btn-wrapper .btn-done").click()


def execute(page: Browser, operation: str, expected: str) -> None:
    """Sends an operation's request until the page shows a response with the expected text.

    It may take several requests: the page reads a field a moment after it was filled in.
    """
    script = "return document.querySelector(arguments[0])?.innerText ?? ''"
    response = f"{operation} .live-responses-table .response"
    for _ in range(60):
        with contextlib.suppress(ElementClickInterceptedException):  # it is moving
            shown(page, f"{operation} .execute").click()
        for _ in range(10):
            if expected in page.driver.execute_script(script, response):
                return
            time.sleep(0.1)
    pytest.fail(page.driver.execute_script(script, operation))


def test_docs_page_lists_all_operations(page: Browser) -> None:
    assert page.driver.current_url == f"{page.url}/api/docs"
    paths = [e.text for e in page.driver.find_elements(By.CSS_SELECTOR, ".opblock-summary-path")]
    assert [path.replace("\u200b", "") for path in paths] == [
        "/api/v1/me",
        "/api/v1/documents",
        "/api/v1/documents/{id}",
        "/api/v1/documents/{id}/download",
        "/api/v1/search",
        "/api/v1/events",
        "/api/v1/openapi.json",
        "document.*",  # the webhook
    ]
    assert console_messages(page) == []


def test_docs_page_sends_a_key_and_does_not_keep_it(page: Browser, acme: Tenant) -> None:
    document = factories.document(acme.workspace, "COMPLETED", title="Lease of the moon")
    shown(page, f"{LIST} .opblock-summary-control").click()
    execute(page, LIST, "401")

    authorize(page, acme.raw)
    Select(shown(page, f"{LIST} tr[data-param-name=status] select")).select_by_value("COMPLETED")
    execute(page, LIST, "Lease of the moon")
    assert f"{page.url}/api/v1/documents?status=COMPLETED" in page.text

    shown(page, f"{DOWNLOAD} .opblock-summary-control").click()
    filled = "return [...document.querySelectorAll(arguments[0])].map(e => e.value).join('')"
    assert page.driver.execute_script(filled, f"{DOWNLOAD} tr[data-param-name] input") == ""
    shown(page, f"{DOWNLOAD} tr[data-param-name=id] input").send_keys(str(document.id))
    execute(page, DOWNLOAD, "Download file")
    assert console_messages(page) == []

    script = "return [localStorage.length, sessionStorage.length, document.cookie]"
    assert page.driver.execute_script(script) == [0, 0, ""]
    assert acme.raw not in page.driver.current_url
    page.driver.refresh()
    shown(page, f"{LIST} .opblock-summary-control").click()
    execute(page, LIST, "401")


def test_docs_page_is_readable_wide_and_narrow_light_and_dark(page: Browser, acme: Tenant) -> None:
    page.check_layout("docs")
    shown(page, f"{LIST} .opblock-summary-control").click()
    authorize(page, acme.raw)
    execute(page, LIST, "200")
    page.check_layout("docs-tried")
    for scheme in SCHEMES:
        preferred = [{"name": "prefers-color-scheme", "value": scheme}]
        page.cdp("Emulation.setEmulatedMedia", features=preferred)
        assert eventually(lambda: not page.driver.execute_script(FAINT)), scheme
    page.cdp("Emulation.setEmulatedMedia", features=[])


def focused(page: Browser) -> WebElement:
    return page.driver.switch_to.active_element


def press(page: Browser, key: str) -> WebElement:
    """The element with the focus after a key is pressed."""
    ActionChains(page.driver).send_keys(key).perform()
    return focused(page)


def test_docs_page_has_an_outline(page: Browser) -> None:
    headings = [
        element.tag_name
        for element in page.driver.find_elements(By.CSS_SELECTOR, "h1, h2, h3")
        if element.is_displayed()
    ]
    assert "".join(headings).replace("h", "") == "12222222222222333332"
    assert len(page.driver.find_elements(By.CSS_SELECTOR, "main:not([role])")) == 1


def test_docs_page_shows_code_in_the_language_that_the_keyboard_chooses(page: Browser) -> None:
    codes = page.driver.find_elements(By.CSS_SELECTOR, "#start .tabs:has(#me-curl) pre")
    assert [code.is_displayed() for code in codes] == [True, False, False]
    page.driver.execute_script("document.getElementById('me-curl').focus()")
    for shown_only in ([False, True, False], [False, False, True], [True, False, False]):
        press(page, Keys.ARROW_RIGHT)
        assert [code.is_displayed() for code in codes] == shown_only
    assert page.driver.execute_script("return document.body.scrollHeight") < MOST_HEIGHT


def test_docs_page_lets_the_keyboard_skip_to_the_reference(page: Browser) -> None:
    assert press(page, Keys.TAB).text == "Skip to the reference"
    press(page, Keys.ENTER)
    assert eventually(lambda: focused(page).get_attribute("id") == "reference")
    assert press(page, Keys.TAB).text == "Authorize"
