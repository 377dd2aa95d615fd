"""What every page of the admin has: times in the reader's own zone."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse
from selenium.webdriver.common.by import By

from tests.support import staff
from tests.support.browser import Browser
from tests.support.factories import Tenant


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
