"""/api/docs in a browser: its looks, the keyboard, and requests with a key."""

import itertools
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from config.docs.pages import PAGES
from tests.support import factories
from tests.support.browser import CHECKED, WIDTHS, Browser
from tests.support.factories import Tenant
from tests.support.server import eventually

BYTES = """
return performance.getEntries().filter(e => "decodedBodySize" in e)
  .reduce((sum, e) => sum + e.decodedBodySize, 0)"""
# Elements with a part outside of the window, code that is wider than its box, words of tables
# that are broken, and pages in the menu that only scrolling reaches.
CUT = r"""
const right = document.documentElement.clientWidth + 1;
const cut = [...document.querySelectorAll("main *, #menu")].filter(e =>
  e.getBoundingClientRect().right > right || (e.matches("pre") && e.scrollWidth > e.clientWidth)
  || (e.matches("#menu") && e.scrollHeight > e.clientHeight));
const broken = [...document.querySelectorAll("th, td")].filter(cell => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/\w+/g)) {
      const range = new Range();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      if (range.getClientRects().length > 1) return true;
    }
  }
});
return [...cut, ...broken].map(e => e.outerHTML)
"""
STORED = """
return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])"""
MOST_BYTES = 200 * 1024  # of a page with all that it loads, without compression
MOST_HEIGHT = 4000  # pixels
RESPONSE = "#content .response"
PATHS = [*(f"/api/docs/{page.path}".rstrip("/") for page in PAGES), "/api/docs/find?q=document"]


@pytest.fixture
def page(browser: Browser) -> Any:
    """A browser on the first page. Its policy lets it ask this server alone; no test breaks it."""
    browser.open("/")
    # An earlier test may have chosen a language.
    browser.driver.execute_script("localStorage.clear(); sessionStorage.clear()")
    yield browser
    assert browser.refused_by_policy() == []


def focused(page: Browser) -> WebElement:
    return page.driver.switch_to.active_element


def press(page: Browser, *keys: str) -> WebElement:
    """The element with the focus after keys are pressed."""
    for key in keys:
        ActionChains(page.driver).send_keys(key).perform()
    return focused(page)


def click(page: Browser, selector: str) -> None:
    """Clicks what a selector matches, scrolled to the middle of the window."""
    element = page.find(selector)
    page.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    element.click()


def enter(page: Browser, raw: str) -> None:
    """Types a key into the dialog."""
    field = page.find("dialog input")
    field.clear()
    field.send_keys(raw + Keys.ENTER)


def text_in(page: Browser, selector: str) -> str:
    """What a user can read there; a visited page may replace it at any moment."""
    script = "return document.querySelector(arguments[0])?.innerText ?? ''"
    return str(page.driver.execute_script(script, selector))


def responds(page: Browser, *texts: str) -> bool:
    """Whether the page shows a response with these texts."""
    return bool(eventually(lambda: all(text in text_in(page, RESPONSE) for text in texts)))


def test_docs_pages_are_small_and_readable_in_each_width(page: Browser) -> None:
    turns = itertools.cycle(CHECKED.items())  # axe looks at each page once
    for path in PATHS:
        checked, scheme = next(turns)
        page.open(path)
        assert page.driver.execute_script(BYTES) < MOST_BYTES, path
        for kind, width in page.widths():
            assert page.driver.execute_script(CUT) == [], (path, kind)
            if width >= WIDTHS["phone"]:
                height = page.driver.execute_script("return document.documentElement.scrollHeight")
                assert height <= MOST_HEIGHT, (path, kind)
            if kind == checked:
                assert page.violations(scheme) == [], (path, kind)


def test_docs_page_shows_the_responses_of_the_reader_s_workspace_and_keeps_no_key(
    page: Browser, acme: Tenant
) -> None:
    factories.document(acme.workspace, "COMPLETED", title="Lease of the moon")
    assert '"name": "Archive sync"' in page.find(RESPONSE).text  # an example
    click(page, ".run")
    for wrong, problem in (
        ("dtd_ключ", "begins with dtd_"),
        (f"{acme.raw}x", "A valid API key is required"),
    ):
        enter(page, wrong)
        assert eventually(lambda: problem in text_in(page, "[role=alert]"))  # noqa: B023
    enter(page, f" {acme.raw} ")
    assert responds(page, "200,", '"name": "Acme sync"', "ratelimit:", "request-id:")

    page.driver.find_element(By.LINK_TEXT, "Downloads").click()
    assert eventually(lambda: text_in(page, "h1") == "Downloads")
    click(page, f"{RESPONSE} .run")
    assert responds(page, "Lease of the moon")
    page.find("[type=search]").send_keys("signature" + Keys.ENTER)
    assert eventually(lambda: text_in(page, "h1") == "Search the documentation")
    page.driver.find_element(By.LINK_TEXT, "Webhooks: Verify").click()
    assert eventually(lambda: text_in(page, "h1") == "Webhooks")
    page.driver.back()
    assert eventually(lambda: "Webhooks: Verify" in text_in(page, "#content"))
    assert page.find("#key").text == "Key of Acme"
    stored = page.driver.execute_script(STORED)
    assert acme.raw not in stored
    assert f"{page.url}/api/docs/find?q=signature" in stored
    assert acme.raw not in page.source
    page.open("/api/docs")
    click(page, ".run")
    assert page.find("dialog").is_displayed()


def test_docs_reference_sends_what_is_filled_in(page: Browser, acme: Tenant) -> None:
    document = factories.document(acme.workspace, "COMPLETED", title="Lease of the moon")
    page.open("/api/docs/reference/search_documents")
    page.find("[name=title]").send_keys("it's")
    statuses = Select(page.find("[name=status]"))
    for status in ("COMPLETED", "DRAFT"):
        statuses.select_by_visible_text(status)
    query = "/api/v1/search?status=DRAFT&status=COMPLETED&title=it%27s"
    assert page.find("#content .curl").text.endswith(f"'{page.url}{query}'")
    page.find("[name=title]").clear()
    page.find("[name=title]").send_keys(Keys.ENTER)
    page.check_layout("docs-key")
    enter(page, acme.raw)
    assert responds(page, "200,", "Lease of the moon")
    page.check_layout("docs-tried")

    page.driver.find_element(By.LINK_TEXT, "Download a PDF").click()
    filled = "return document.querySelector('[name=id]')?.value"
    assert eventually(lambda: page.driver.execute_script(filled) == str(document.id))
    page.find("[name=Range]").send_keys("bytes=0-3")
    click(page, ".run")
    assert responds(page, "206,", "Save the PDF", "content-range: bytes 0-3/")


def test_docs_page_can_be_used_with_the_keyboard(page: Browser, acme: Tenant) -> None:
    assert press(page, Keys.TAB).text == "Skip to main content"
    press(page, Keys.ENTER)
    assert eventually(lambda: focused(page).get_attribute("id") == "content")
    codes = page.driver.find_elements(By.CSS_SELECTOR, "fieldset:has(#get_me-curl) pre")
    page.driver.execute_script("document.getElementById('get_me-curl').focus()")
    for number in (1, 2, 3, 0):
        press(page, Keys.ARROW_RIGHT)
        assert [code.is_displayed() for code in codes] == [i == number for i in range(4)]
    assert press(page, Keys.TAB).text == "Copy"
    assert press(page, Keys.TAB) == codes[0]  # it may need scrolling
    assert press(page, Keys.TAB).text == "Run with your key"
    press(page, Keys.ENTER, acme.raw, Keys.ENTER)
    assert responds(page, "200,", '"name": "Acme"')
