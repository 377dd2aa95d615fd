"""What every page of the admin has: its weight, its frame, its tooltips."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from apikeys.usage.admin import STATUSES
from audit.models import Action
from tests.support import staff
from tests.support.browser import THOROUGHLY, WIDTHS, Browser
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.usage import refused, used

START = reverse("admin:index")
KEYS = reverse("admin:apikeys_apikey_changelist")
WORKSPACES = reverse("admin:workspaces_workspace_changelist")
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
    numbers = f"{today}: 1,190 successful, 8 errors, 6 over the limit, 36 downloads"
    browser.log_in(acme.admin)
    browser.open(START)
    browser.check_layout("start-admin", THOROUGHLY)
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


OFF = """
return [...document.querySelectorAll(".plot")].flatMap(plot => {
  const box = (element) => element.getBoundingClientRect();
  const middle = (element) => box(element).x + box(element).width / 2;
  const places = [...plot.querySelectorAll(".places > *")];
  const named = (tick) => places.find(each => each.textContent.includes(`${tick.textContent}:`));
  return [...plot.querySelectorAll(".ticks text")].filter(tick => box(tick).width)
    .map(tick => Math.abs(middle(tick) - middle(named(tick))));
});
"""


def test_each_date_below_a_chart_is_below_its_bar(acme: Tenant, browser: Browser) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=5)
    now = timezone.now()
    staff.happened(2, **staff.of(acme.workspace), created_at=now)
    browser.log_in(acme.admin)
    for path in (START, staff.HISTORY):
        browser.open(path)
        for width in (WIDTHS["wide"], WIDTHS["phone"]):
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
            browser.cdp("Emulation.setDeviceMetricsOverride", **size)
            off = browser.driver.execute_script(OFF)
            assert len(off) >= 3
            assert max(off) < 2, f"{path} at {width}: {off}"  # pixels
    browser.cdp("Emulation.clearDeviceMetricsOverride")


OVERLAPS = """
return [...document.querySelectorAll(".log > li")].filter(row =>
  row.querySelector(".word").getBoundingClientRect().right
    > row.querySelector(".who").getBoundingClientRect().left
  && row.querySelector(".who").getBoundingClientRect().top
    < row.querySelector(".word").getBoundingClientRect().bottom).map(row => row.innerText);
"""


def test_no_text_of_a_log_is_printed_over_another(acme: Tenant, browser: Browser) -> None:
    key = {"key_id": acme.key.pk, "key_name": "CRM sync"}
    of_acme = staff.of(acme.workspace, **key)
    for status in STATUSES:
        refused(**of_acme, status=status, more=12_345_678)
    for action in Action.values:
        staff.happened(1, **of_acme, action=action, person="ada@acme.example")
    browser.log_in(staff.support())
    for path in (reverse("admin:usage_refusedrequest_changelist"), staff.HISTORY):
        browser.open(path)
        for width in WIDTHS.values():
            size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
            browser.cdp("Emulation.setDeviceMetricsOverride", **size)
            assert browser.driver.execute_script(OVERLAPS) == [], f"{path} at {width}"
    browser.cdp("Emulation.clearDeviceMetricsOverride")


def test_start_page_fits(acme: Tenant, browser: Browser) -> None:
    for who, user in (("support", staff.support()), ("operator", staff.operator())):
        browser.log_in(user)
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


@pytest.fixture
def tokyo(browser: Browser) -> Iterator[Browser]:
    """A browser in Tokyo, nine hours before UTC, in which a user of Support has signed in."""
    browser.log_in(staff.support())
    browser.cdp("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")
    yield browser
    browser.cdp("Emulation.setTimezoneOverride", timezoneId="")


def test_times_are_in_the_reader_s_own_zone_with_utc_as_tooltip_and_beside_them(
    acme: Tenant, tokyo: Browser
) -> None:
    moment = datetime(2026, 3, 1, 14, 59, 59, tzinfo=UTC)
    of_acme = staff.of(acme.workspace)
    [entry] = staff.happened(1, **of_acme, created_at=moment)
    staff.happened(1, **of_acme, created_at=moment + timedelta(seconds=1))
    tokyo.open(f"{staff.HISTORY}?since=2026-03-01&until=2026-03-01")
    days = tokyo.driver.find_elements(By.CSS_SELECTOR, ".day")
    assert [day.text for day in days] == [
        "Monday, 2 March 2026 Asia/Tokyo",
        "Sunday, 1 March 2026 Asia/Tokyo",
    ]
    times = tokyo.driver.find_elements(By.CSS_SELECTOR, "#result_list summary time")
    assert [time.text for time in times] == ["00:00:00", "23:59:59"]
    title = "2026-03-01 23:59:59 GMT+9, 2026-03-01 14:59:59 UTC"
    assert times[1].get_attribute("title") == title
    tokyo.open(reverse("admin:audit_auditentry_change", args=[entry.pk]))
    assert "2026-03-01 23:59:59 GMT+9 (2026-03-01 14:59:59 UTC)" in tokyo.text


def test_hours_of_a_chart_are_the_reader_s(acme: Tenant, tokyo: Browser) -> None:
    moments = [datetime(2026, 3, 1, hour, 30, tzinfo=UTC) for hour in (14, 15)]
    of_acme = staff.of(acme.workspace)
    staff.happened(2, **of_acme, created_at=lambda number: moments[number])
    tokyo.open(f"{staff.HISTORY}?since=2026-03-01T14:00&until=2026-03-01T15:59")
    chart = tokyo.find(".chart")
    assert "Entries by hour (Asia/Tokyo), 2026-03-01 23:00 to 2026-03-02 00:00" in chart.text
    assert [tick.text for tick in chart.find_elements(By.CSS_SELECTOR, ".ticks text")] == [
        "03-01 23:00",
        "03-02 00:00",
    ]
    place = tokyo.find(".places a:last-child")
    assert place.get_attribute("aria-label") == "2026-03-02 00:00: 1 downloads"
    tokyo.follow(place)
    assert "From: 2026-03-02 00:00:00 GMT+9" in tokyo.text


def test_filters_by_time_show_the_reader_s_zone_and_send_utc(acme: Tenant, tokyo: Browser) -> None:
    staff.happened(1, **staff.of(acme.workspace), created_at=datetime(2026, 3, 1, tzinfo=UTC))
    tokyo.open(f"{staff.HISTORY}?since=2026-03-01&until=2026-03-01")
    since, until = tokyo.find("#id_since"), tokyo.find("#id_until")
    assert since.get_property("value") == "2026-03-01T09:00"
    assert until.get_property("value") == "2026-03-02T08:59"
    assert tokyo.find("#id_since_helptext").text == "Asia/Tokyo"
    assert "From: 2026-03-01 09:00:00 GMT+9" in tokyo.text
    tokyo.driver.execute_script("arguments[0].value = '2026-03-01T08:30'", since)
    tokyo.follow(tokyo.find(".list-filters [value=Show]"))
    assert "since=2026-02-28T23%3A30&until=2026-03-01T23%3A59" in tokyo.driver.current_url
    assert tokyo.find("#id_since").get_property("value") == "2026-03-01T08:30"
    tokyo.open(f"{staff.HISTORY}?since=yesterday&until=2026-03-01")
    assert "This is not a time" in tokyo.text
    assert tokyo.find("#id_until").get_property("value") == "2026-03-02T08:59"


def sized(browser: Browser, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1}
    browser.cdp("Emulation.setDeviceMetricsOverride", **size, mobile=width < 1280)


def test_header_is_one_line_and_its_icons_are_drawn(acme: Tenant, browser: Browser) -> None:
    browser.log_in(staff.operator())  # who has the longest menu
    browser.open(START)
    for width in WIDTHS.values():
        sized(browser, width)
        assert browser.find(".top").size["height"] < 64, width
        drawn = "return document.querySelector('.account use').getBBox().width > 0"
        assert eventually(lambda: browser.driver.execute_script(drawn)), width  # noqa: B023
        assert browser.find(".sections-button").is_displayed() == (width < 1200), width
    browser.cdp("Emulation.clearDeviceMetricsOverride")


def test_list_on_a_phone_comes_before_its_filters(acme: Tenant, browser: Browser) -> None:
    browser.log_in(staff.operator())
    sized(browser, 390)
    for url in (staff.HISTORY, WORKSPACES):
        browser.open(url)
        assert not browser.find("input[name=q]:not(.find *)").is_displayed()
        assert browser.find(".log > li, tbody tr").location["y"] < 700
        browser.find("summary.button").click()
        assert browser.find("input[name=q]:not(.find *)").is_displayed()
    browser.cdp("Emulation.clearDeviceMetricsOverride")


def test_theme_is_chosen_on_the_page_security(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    for theme, ground in (("Dark", "rgb(21, 25, 26)"), ("Light", "rgb(252, 252, 250)")):
        browser.open(reverse("admin:security"))
        browser.find("#id_theme").send_keys(theme)
        browser.click("Save the theme")
        other = "light" if theme == "Dark" else "dark"
        with browser.preferring(other):
            assert browser.find("body").value_of_css_property("background-color") in (
                ground,
                ground.replace("rgb", "rgba").replace(")", ", 1)"),
            )


def test_email_is_wrapped_after_its_at_and_before_its_dots(acme: Tenant, browser: Browser) -> None:
    browser.log_in(staff.operator())
    browser.open(reverse("admin:auth_user_change", args=[acme.admin.pk]))
    title = browser.find("h1").get_attribute("innerHTML")
    assert title == acme.admin.username.replace("@", "@<wbr>").replace(".", "<wbr>.")
    assert browser.find("h1").text == acme.admin.username


def test_header_has_its_menu_behind_a_button_on_a_phone_and_slash_leads_to_the_search(
    acme: Tenant, browser: Browser
) -> None:
    browser.log_in(acme.admin)
    sized(browser, 390)
    browser.open(KEYS)
    link = browser.find(".sections-nav a")
    assert not link.is_displayed()
    browser.find(".sections-button").click()
    assert link.is_displayed()
    browser.cdp("Emulation.clearDeviceMetricsOverride")
    browser.open(KEYS)
    browser.find("body").send_keys("/")
    browser.submit(browser.driver.switch_to.active_element, acme.raw)
    assert browser.driver.current_url.endswith(f"/apikeys/apikey/{acme.key.pk}/change/")
