"""What the documentation says of webhooks is what the service does."""

import html
import json
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from config.api.responses import as_json
from events.models import KEEP_DAYS, public_id
from events.serializers import event
from events.webhooks import policy, secrets, sender
from events.webhooks.models import RESPONSE_LENGTH
from tests.support.docs import samples, text_of
from tests.support.factories import uid
from tests.support.openapi import SCHEMA, resolved, validator

WEBHOOK = SCHEMA["webhooks"]["document.*"]["post"]
UNITS = {"h": 3600, "min": 60, "s": 1}


def seconds(text: str) -> int:
    """The seconds of "5 min"."""
    number, _, unit = text.partition(" ")
    return 0 if text == "at once" else int(number) * UNITS[unit]


@pytest.fixture
def text() -> str:
    return re.sub(r"\s+", " ", html.unescape(text_of("/webhooks")))


def test_docs_have_the_schedule_of_the_attempts(text: str) -> None:
    rows = re.findall(r"<td>(\d+)</td><td>(at once|\d+ (?:s|min|h))</td>", text)
    found = [(int(number), seconds(wait)) for number, wait in rows]
    assert found == list(enumerate(policy.DELAYS, 1))
    assert len(policy.DELAYS) == 10
    assert "up to ten times" in text
    assert (policy.JITTER, policy.MOST_RETRY_AFTER) == (0.1, 3600)
    assert "up to a tenth shorter or longer" in text
    assert "<code>Retry-After</code> says, an hour at most" in text


def test_docs_have_the_limits_of_webhooks_and_events(text: str) -> None:
    assert f"{policy.ATTEMPT_SECONDS:.0f} seconds" in text
    assert f"For {policy.BOTH_SECRETS.total_seconds() / 3600:.0f} hours after" in text
    assert f"kept for {KEEP_DAYS} days" in text
    assert policy.FAILING_DAYS == 5
    assert "five days in which events are being sent and no attempt succeeds" in text
    assert "five minutes" in text  # the package's tolerance
    assert "Redirects are not followed" in text
    assert f"<code>User-Agent: {sender.USER_AGENT}</code>" in text
    assert f"first {RESPONSE_LENGTH:,} characters of your response" in text
    assert policy.AT_ONCE == 10
    assert "up to ten requests at a time; one that fails, one at a time" in text


def test_docs_lines_verify_what_the_service_signs() -> None:
    program = samples(text_of("/webhooks"))["verify"]["python"]
    assert program.count("\n") == 2
    body, headers, secret = signed()
    values: dict[str, Any] = {"body": body, "headers": headers, "secret": secret}
    exec(program, values)  # noqa: S102 - our own
    assert values["event"] == json.loads(body)
    values["body"] = body.replace(b"COMPLETED", b"DECLINED")
    with pytest.raises(WebhookVerificationError):
        exec(program, values)  # noqa: S102


RUN_VERIFY = """
const [body, headers, secret] = JSON.parse(process.argv[1]);
console.log(verify(body, headers, secret).type);
"""


def test_docs_function_in_javascript_verifies_what_the_service_signs() -> None:
    program = samples(text_of("/webhooks"))["verify"]["javascript"]
    node = [str(Path(sys.executable).parent / "node"), "--input-type=module", "--eval"]

    def verified(body: bytes, headers: dict[str, str], secret: str) -> str:
        arguments = json.dumps([body.decode(), headers, secret])
        done = subprocess.run(
            [*node, program + RUN_VERIFY, arguments], capture_output=True, text=True
        )
        return done.stdout.strip() or re.findall("^Error: (.*)", done.stderr, re.MULTILINE)[0]

    body, headers, secret = signed()
    _, others, _ = signed()
    both = f"{others['webhook-signature']} {headers['webhook-signature']}"
    assert verified(body, headers, secret) == "document.completed"
    assert verified(body, {**headers, "webhook-signature": both}, secret) == "document.completed"
    assert verified(body + b" ", headers, secret) == "Wrong signature"
    assert verified(body, headers | {"webhook-signature": "v1,x"}, secret) == "Wrong signature"
    assert verified(body, headers | {"webhook-id": "evt_x"}, secret) == "Wrong signature"
    for seconds in (-301, 400):  # a while passes until it is verified
        sent = str(int(headers["webhook-timestamp"]) + seconds)
        assert verified(body, {**headers, "webhook-timestamp": sent}, secret) == "Too old"
    assert verified(body, {**headers, "webhook-timestamp": "now"}, secret) == "Too old"


def signed() -> tuple[bytes, dict[str, str], str]:
    """A webhook's body and headers, and the secret that signs it."""
    secret, at = secrets.new(), datetime.now(UTC)
    object = event(uid(1), "document.completed", at, str(uid(2)), "COMPLETED")
    body = as_json(object)
    timestamp = str(int(at.timestamp()))
    headers = {
        "webhook-id": public_id(uid(1)),
        "webhook-timestamp": timestamp,
        "webhook-signature": Webhook(secret).sign(public_id(uid(1)), at, body.decode()),
    }
    return body, headers, secret


def test_openapi_webhook_has_the_body_and_the_headers_that_are_sent() -> None:
    body, headers, _ = signed()
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
