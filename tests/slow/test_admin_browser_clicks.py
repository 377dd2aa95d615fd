"""What users come for takes at most three clicks from the start page."""

import pytest
from django.urls import reverse

from tests.support import staff
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.webhooks import URL

# Who; a section of the menu, "field=text" to be typed, or the text of a link or a button; and what
# the last page says.
STORIES = {
    "roll a key": ("admin", ["/apikey/", "Roll…", "Roll the key"], "Copy the key"),
    "revoke a key": ("admin", ["/apikey/", "Revoke…", "Revoke this"], "“Acme sync” is revoked."),
    "delete a key": ("admin", ["/apikey/", "Delete…", "Delete this"], "No keys yet"),
    "create a webhook": (
        "admin",
        ["Create a webhook", f"url={URL}", "Create the webhook", "Send a test event"],
        "A test event is on its way.",
    ),
    "invite": (
        "operator",
        ["/workspace/", "Invite…", "email=eve@acme.example", "Invite"],
        "Invitation for eve@acme.example",
    ),
    "create a workspace": (
        "operator",
        ["Create a workspace", "name=Initech", "Create the workspace", "email=e@x.cz", "Invite"],
        "Invitation for e@x.cz",
    ),
    "suspend": (
        "operator",
        ["/workspace/", "Suspend…", "reason=Unpaid", "Suspend Acme"],
        "Acme · 00000001 is suspended.",
    ),
    "move to a plan": (
        "operator",
        ["/workspace/", "Plan…", "reason=They asked", "Move to Business"],
        "Acme · 00000001 is on Business now.",
    ),
    "create an account": (
        "operator",
        ["Create an account", "email=new@support.example", "Create the account"],
        "Link for new@support.example",
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_story_takes_at_most_three_clicks(acme: Tenant, browser: Browser, story: str) -> None:
    who, steps, text = STORIES[story]
    browser.log_in(acme.admin if who == "admin" else staff.operator())
    browser.open(reverse("admin:index"))
    for step in steps:
        name, typed, value = step.partition("=")
        if step.startswith("/"):
            browser.follow(browser.find(f".sections-nav a[href*='{step}']"))
        elif typed:
            browser.find(f"#id_{name}").send_keys(value)
        else:
            if step == steps[-1]:
                browser.check_layout(story.replace(" ", "-"))
            browser.click(step)
    assert browser.shows(text)
    assert browser.clicks <= 3
