"""What the documentation says of webhooks is what the service does."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import WebhookVerificationError

from events.models import KEEP_DAYS
from events.webhooks import policy, secrets, sender
from events.webhooks.models import RESPONSE_LENGTH
from tests.support.docs import samples, text_of
from tests.support.factories import uid
from tests.support.openapi import SCHEMA, resolved, validator
from tests.support.webhooks import SECRET, signed

WEBHOOK = SCHEMA["webhooks"]["document.*"]["post"]
UNITS = {"h": 3600, "min": 60, "s": 1}


def seconds(text: str) -> int:
    """The seconds of "5 min"."""
    number, _, unit = text.partition(" ")
    return 0 if text == "at once" else int(number) * UNITS[unit]


@pytest.fixture
def text() -> str:
    return re.sub(r"\s+", " ", html.unescape(text_of("/webhooks")))


def test_docs_have_the_schedule_and_the_limits(text: str) -> None:
    [schedule] = re.findall("ten times in all: (.*?) after the attempt before", text)
    found = re.findall(r"at once|\d+ (?:s|min|h)\b", schedule)
    assert [seconds(wait) for wait in found] == list(policy.DELAYS)
    for fact in (
        f"{policy.ATTEMPT_SECONDS:.0f} seconds",
        f"For {policy.BOTH_SECRETS.total_seconds() / 3600:.0f} hours after",
        f"kept for {KEEP_DAYS} days",
        f"<code>User-Agent: {sender.USER_AGENT}</code>",
        f"first {RESPONSE_LENGTH:,} characters of your response",
    ):
        assert fact in text
    # Numbers that the page has as words.
    assert (policy.FAILING_DAYS, policy.AT_ONCE, policy.MOST_RETRY_AFTER) == (5, 10, 3600)


def test_docs_lines_verify_what_the_service_signs() -> None:
    body, headers = signed(uid(2))
    values: dict[str, Any] = {}
    exec(samples(text_of("/webhooks"))["verify"]["python"], values)  # noqa: S102 - our own
    assert values["verify"](body, headers, SECRET) == json.loads(body)
    with pytest.raises(WebhookVerificationError):
        values["verify"](body.replace(b"COMPLETED", b"DECLINED"), headers, SECRET)


RUN_VERIFY = """
const [body, headers, secret] = JSON.parse(process.argv[1]);
console.log(verify(body, headers, secret).type);
"""


def test_docs_function_in_javascript_verifies_what_the_service_signs() -> None:
    program = samples(text_of("/webhooks"))["verify"]["javascript"]
    node = [str(Path(sys.executable).parent / "node"), "--input-type=module", "--eval"]

    def verified(body: bytes, headers: dict[str, str]) -> str:
        arguments = json.dumps([body.decode(), headers, SECRET])
        done = subprocess.run(
            [*node, program + RUN_VERIFY, arguments], capture_output=True, text=True
        )
        return done.stdout.strip() or re.findall("^Error: (.*)", done.stderr, re.MULTILINE)[0]

    body, headers = signed(uid(2))
    _, others = signed(uid(2), secret=secrets.new())
    both = f"{others['webhook-signature']} {headers['webhook-signature']}"
    assert verified(body, headers) == "document.completed"
    assert verified(body, {**headers, "webhook-signature": both}) == "document.completed"
    assert verified(body + b" ", headers) == "Wrong signature"
    for seconds in (-301, 400):  # a while passes until it is verified
        sent = str(int(headers["webhook-timestamp"]) + seconds)
        assert verified(body, {**headers, "webhook-timestamp": sent}) == "Too old"


def test_openapi_webhook_has_the_body_and_the_headers_that_are_sent() -> None:
    body, headers = signed(uid(2))
    content = WEBHOOK["requestBody"]["content"]["application/json"]
    assert resolved(content["schema"]) == SCHEMA["components"]["schemas"]["DocumentEvent"]
    check = validator(content["schema"])
    for example in (json.loads(body), content["examples"]["Completed"]["value"]):
        assert [problem.message for problem in check.iter_errors(example)] == []
    declared = {each["name"]: each["schema"] for each in WEBHOOK["parameters"]}
    headers["webhook-signature"] += f" {headers['webhook-signature']}"  # of two secrets
    assert declared.keys() == headers.keys()
    for name, value in headers.items():
        assert validator(declared[name]).is_valid(value), name
    assert list(WEBHOOK["responses"]) == ["2XX", "410", "default"]
