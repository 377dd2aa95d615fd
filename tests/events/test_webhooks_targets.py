"""Which URLs an endpoint may have, and to which addresses deliveries may go."""

from typing import Any

import pytest

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
        "hooks.example.com",
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
    ],
    "Add the host's name": ["https:///path", "https://?"],
    "Leave out the user name": [
        "https://user@hooks.example.com/",
        "https://user:word@hooks.example.com/",
    ],
    "Leave out the part from #": ["https://hooks.example.com/#part"],
    "Leave out the port": ["https://hooks.example.com:0/", "https://hooks.example.com:/"],
    "not a valid URL": [
        "https://hooks.example.com:65536/",
        "https://hooks.example.com:https/",
        "https://[::1/",
    ],
    "only the characters": [
        "",
        "https://hooks.example.com/ a",
        "https://hooks.example.com/\r\nX: y",
        "https://hooks.example.com\\@127.0.0.1/",
        "https://bücher.example/",
        "https://１２７.0.0.1/",
        "https://127。0。0。1/",
    ],
    "Check the host": [
        *("https://a..example.com/", "https://-a.example.com/"),
        f"https://{'a' * 64}.example.com/",
        *("https://2130706433/", "https://0x7f000001/", "https://0x7f.1/", "https://0177.0.0.1/"),
        *("https://127.1/", "https://127.0.0.1./", "https://1.2.3.4.5/"),
    ],
    "at most 500": [f"https://hooks.example.com/{'a' * 500}"],
    "with its domain": ["https://localhost/", "https://localhost./"],
    "a public address": [
        *("https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/"),
        *("https://[64:ff9b::7f00:1]/", "https://[fe80::1%25eth0]/"),
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
            with pytest.raises(ValueError, match=sentence):
                check_url(url)


def test_url_parts_for_the_request() -> None:
    target = check_url("https://Hooks.example.com:443?a=b")
    assert target == ("https", "hooks.example.com", 443, "hooks.example.com", "/?a=b")
    target = check_url("https://[2606:4700::1111]:444/x")
    assert target[1:4] == ("2606:4700::1111", 444, "[2606:4700::1111]:444")


def test_laptop_may_have_any_target(settings: Any) -> None:
    settings.WEBHOOK_TARGETS = "any"
    assert check_url("http://127.0.0.1:9000/hook").authority == "127.0.0.1:9000"
    check_url("http://localhost/")
    with pytest.raises(ValueError, match="Begin the URL with https:// or http://"):
        check_url("file:///etc/passwd")


def test_address_is_public_or_not() -> None:
    assert [each for each in PUBLIC.split() if not is_public(each)] == []
    assert [each for each in NOT_PUBLIC.split() if is_public(each)] == []
