"""What every page of the admin has: its weight, its frame, its tooltips."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.support import staff
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.usage import used

START = reverse("admin:index")
KEYS = reverse("admin:apikeys_apikey_changelist")
LIMIT = 120 * 1024  # bytes of a list of keys with all that it loads, at the first visit
TRANSFERRED = """
return performance.getEntries().reduce((sum, { transferSize }) => sum + (transferSize ?? 0), 0);
"""
SCRIPTS = "return [...document.scripts].map(({ src }) => src).filter(Boolean)"


def test_chart_of_the_start_page_shows_its_numbers_by_pointing_tapping_and_keys(
    acme: Tenant, browser: Browser
) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=1190, errors=8, limited=6, downloads=36)
    used(acme.key.pk, acme.workspace.pk, days_ago=1, ok=5)
    today = timezone.now().date()
    numbers = f"{today}: 1,190 successful, 8 errors, 6 over the limit (429), 36 downloads"
    browser.log_in(acme.admin)
    browser.open(START)
    browser.check_layout("start-admin")
    assert numbers not in browser.text
    last = browser.find(".places label:last-child input")
    ActionChains(browser.driver).move_to_element(last).perform()
    assert browser.shows(numbers)
    browser.open(START)
    browser.find(".places label:last-child").click()
    ActionChains(browser.driver).move_to_element(browser.find("h1")).perform()
    assert browser.shows(numbers)
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    assert browser.shows(f"{today - timedelta(days=1)}: 5 successful")
    assert numbers not in browser.text


@pytest.mark.parametrize("who", ["support", "operator"])
def test_start_page_fits(who: str, acme: Tenant, browser: Browser) -> None:
    browser.log_in(staff.support() if who == "support" else staff.operator())
    browser.open(START)
    browser.check_layout(f"start-{who}")


@pytest.fixture
def without_cache(browser: Browser) -> Browser:
    browser.cdp("Network.enable")
    browser.cdp("Network.setCacheDisabled", cacheDisabled=True)
    return browser


def test_list_of_keys_is_small_and_loads_no_jquery(acme: Tenant, without_cache: Browser) -> None:
    browser = without_cache
    browser.log_in(acme.admin)
    browser.open(KEYS)
    assert browser.driver.execute_script(TRANSFERRED) < LIMIT
    assert "jquery" not in " ".join(browser.driver.execute_script(SCRIPTS)).lower()
    browser.cdp("Network.setCacheDisabled", cacheDisabled=False)


def test_times_have_the_reader_s_own_time_zone_as_tooltip(acme: Tenant, browser: Browser) -> None:
    staff.happened(1)
    browser.log_in(acme.admin)
    browser.cdp("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
    browser.open(staff.HISTORY)
    title = eventually(lambda: browser.find("#result_list time").get_attribute("title"))
    assert "in your time zone" in str(title)
    assert "GMT+9" in str(title)
    browser.cdp("Emulation.setTimezoneOverride", timezoneId="")


def test_header_has_its_menu_behind_a_button_on_a_phone_and_slash_leads_to_the_search(
    acme: Tenant, browser: Browser
) -> None:
    browser.log_in(acme.admin)
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1}
    browser.cdp("Emulation.setDeviceMetricsOverride", **size, mobile=True)
    browser.open(KEYS)
    link = browser.find(".sections-nav a")
    assert not link.is_displayed()
    browser.find(".sections-button").click()
    assert link.is_displayed()
    browser.cdp("Emulation.clearDeviceMetricsOverride")
    browser.open(KEYS)
    browser.find(".menu summary").click()
    assert browser.find(".menu ul").is_displayed()
    browser.find("body").send_keys(Keys.ESCAPE)
    assert not browser.find(".menu ul").is_displayed()
    browser.find("body").send_keys("/")
    browser.submit(browser.driver.switch_to.active_element, acme.raw)
    assert browser.driver.current_url.endswith(f"/apikeys/apikey/{acme.key.pk}/change/")
