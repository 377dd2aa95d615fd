"""Which URLs an endpoint may have, and to which addresses deliveries may go."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from events.webhooks.targets import check_url, is_public

ACCEPTED = """
    https://hooks.example.com
    https://hooks.example.com./
    https://hooks.example.com:8443/a/b?c=d&e=%20
    https://xn--bcher-kva.example/
    https://93.184.216.34/hook
    https://[2606:4700::1111]:444/
    HTTPS://Hooks.Example.COM/
"""

# What the sentence says, and URLs for which it does.
REFUSED = {
    "Begin the URL with https://": [
        *("", "hooks.example.com", "http://hooks.example.com/", "ftp://hooks.example.com/"),
        *("https:///path", "https://?", "https://localhost./", "https://hooks/"),
        *("https://hooks.example.com:0/", "https://hooks.example.com:/"),
        *("https://hooks.example.com:65536/", "https://hooks.example.com:https/", "https://[::1/"),
        "https://hooks.example.com/ a",
        *("https://a..example.com/", "https://-a.example.com/", "https://[fe80::1%25eth0]/"),
        f"https://{'a' * 64}.example.com/",
        *("https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/"),
        *("https://127.1/", "https://127.0.0.1./", "https://1.2.3.4.5/"),
    ],
    "Use 500 characters at most": [f"https://hooks.example.com/{'a' * 500}"],
    "Use ASCII characters only": [
        *("https://hooks.example.com/\r\nX: y", "https://hooks.example.com/\u202e"),
        *("https://hooks.example.com/\x00", "https://hooks.example.com/\x7f"),
        *("https://bücher.example/", "https://１２７.0.0.1/", "https://127。0。0。1/"),
    ],
    "Leave out the user name": [
        *("https://user@hooks.example.com/", "https://user:word@hooks.example.com/"),
        "https://hooks.example.com\\@127.0.0.1/",
    ],
    "Leave out the part from #": ["https://hooks.example.com/#part"],
    "a public address": [
        *("https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/"),
        *("https://[64:ff9b::7f00:1]/", "https://localhost/"),
        "https://169.254.169.254/latest/meta-data/",
    ],
}

PUBLIC = """
    1.1.1.1 168.63.129.17 192.88.98.1 93.184.216.34 2606:4700::1111 64:ff9b::1.1.1.1
"""

# Among them what is between a provider and its customers (100.64.0.1, RFC 6598), clouds' services
# for their own machines (168.63.129.16 of Azure, 192.0.0.192 of Oracle), and each of these inside
# of an IPv6 address: by NAT64 (64:ff9b::), 6to4 (2002:) and Teredo (2001:0:).
NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
    168.63.129.16 192.0.0.1 192.0.0.192 192.88.99.1 192.0.2.1 192.168.0.1 198.18.0.1 224.0.0.1
    239.255.255.250 240.0.0.1 255.255.255.255
    :: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:168.63.129.16
    64:ff9b::127.0.0.1 64:ff9b::169.254.169.254 64:ff9b::168.63.129.16 64:ff9b::192.0.0.192
    64:ff9b:1::1 100::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:db8::1 2002:7f00:1::1
    2002:a83f:8110::1 3fff::1 3fff:fff::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 fec0::1 ff02::1
"""


def test_url_of_a_public_host_is_accepted() -> None:
    for url in ACCEPTED.split():
        check_url(url)


def test_url_is_refused_with_what_to_change() -> None:
    for sentence, urls in REFUSED.items():
        for url in urls:
            with pytest.raises(ValidationError, match=sentence):
                check_url(url)


def test_laptop_may_have_any_target(settings: Any) -> None:
    settings.WEBHOOK_TARGETS = "any"
    for host in (
        *("127.0.0.1:9000", "[::1]:9000", "localhost", "receiver:5001", "my_receiver:5001"),
        *("hooks.internal_net.example", "receiver.", "hooks.example.com"),
    ):
        check_url(f"http://{host}/hook")
    for url in ("file:///etc/passwd", "http:///", "http://a..b/", "http://-a/", "http://a b/"):
        with pytest.raises(ValidationError, match="Begin the URL with https:// or http://"):
            check_url(url)


def test_address_is_public_or_not() -> None:
    assert [each for each in PUBLIC.split() if not is_public(each)] == []
    assert [each for each in NOT_PUBLIC.split() if is_public(each)] == []
