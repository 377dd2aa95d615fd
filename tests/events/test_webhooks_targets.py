"""Which URLs an endpoint may have, and to which addresses deliveries may go."""

from typing import Any

import pytest

from events.webhooks.targets import check_url, is_public


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com",
        "https://hooks.example.com./",
        "https://hooks.example.com:8443/a/b?c=d&e=%20",
        "https://xn--bcher-kva.example/",
        "https://93.184.216.34/hook",
        "https://[2606:4700::1111]:444/",
        "HTTPS://Hooks.Example.COM/",
    ],
)
def test_url_of_a_public_host_is_accepted(url: str) -> None:
    check_url(url)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "only the characters"),
        ("hooks.example.com", "Begin the URL with https://"),
        ("http://hooks.example.com/", "Begin the URL with https://"),
        ("ftp://hooks.example.com/", "Begin the URL with https://"),
        ("https:///path", "Add the host's name"),
        ("https://?", "Add the host's name"),
        ("https://user@hooks.example.com/", "Leave out the user name"),
        ("https://user:word@hooks.example.com/", "Leave out the user name"),
        ("https://hooks.example.com/#part", "Leave out the part from #"),
        ("https://hooks.example.com:0/", "Leave out the port"),
        ("https://hooks.example.com:/", "Leave out the port"),
        ("https://hooks.example.com:65536/", "not a valid URL"),
        ("https://hooks.example.com:https/", "not a valid URL"),
        ("https://[::1/", "not a valid URL"),
        ("https://hooks.example.com/ a", "only the characters"),
        ("https://hooks.example.com/\r\nX: y", "only the characters"),
        ("https://hooks.example.com\\@127.0.0.1/", "only the characters"),
        ("https://bücher.example/", "only the characters"),
        ("https://１２７.0.0.1/", "only the characters"),
        ("https://127。0。0。1/", "only the characters"),
        ("https://a..example.com/", "Check the host"),
        ("https://-a.example.com/", "Check the host"),
        (f"https://{'a' * 64}.example.com/", "Check the host"),
        (f"https://hooks.example.com/{'a' * 500}", "at most 500"),
        ("https://2130706433/", "Check the host"),
        ("https://0x7f000001/", "Check the host"),
        ("https://0x7f.1/", "Check the host"),
        ("https://0177.0.0.1/", "Check the host"),
        ("https://127.1/", "Check the host"),
        ("https://127.0.0.1./", "Check the host"),
        ("https://1.2.3.4.5/", "Check the host"),
        ("https://localhost/", "with its domain"),
        ("https://localhost./", "with its domain"),
        ("https://127.0.0.1/", "a public address"),
        ("https://[::1]/", "a public address"),
        ("https://[::ffff:127.0.0.1]/", "a public address"),
        ("https://[64:ff9b::7f00:1]/", "a public address"),
        ("https://[fe80::1%25eth0]/", "a public address"),
        ("https://169.254.169.254/latest/meta-data/", "a public address"),
    ],
)
def test_url_is_refused_with_what_to_change(url: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        check_url(url)


def test_url_parts_for_the_request(settings: Any) -> None:
    assert check_url("https://Hooks.example.com:443?a=b") == (
        "https",
        "hooks.example.com",
        443,
        "hooks.example.com",
        "/?a=b",
    )
    assert check_url("https://[2606:4700::1111]:444/x")[1:4] == (
        "2606:4700::1111",
        444,
        "[2606:4700::1111]:444",
    )


def test_laptop_may_have_any_target(settings: Any) -> None:
    settings.WEBHOOK_TARGETS = "any"
    assert check_url("http://127.0.0.1:9000/hook").authority == "127.0.0.1:9000"
    check_url("http://localhost/")
    with pytest.raises(ValueError, match="Begin the URL with https:// or http://"):
        check_url("file:///etc/passwd")


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",  # between a provider and its customers (RFC 6598)
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "168.63.129.16",  # of Azure's machines
        "192.0.0.1",
        "192.0.0.192",  # of Oracle's
        "192.88.99.1",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::169.254.169.254",
        "64:ff9b::168.63.129.16",
        "64:ff9b::192.0.0.192",
        "::ffff:168.63.129.16",
        "2002:a83f:8110::1",  # 168.63.129.16 by 6to4
        "3fff::1",
        "3fff:fff::1",
        "64:ff9b:1::1",
        "100::1",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",  # Teredo
        "2001:db8::1",
        "2002:7f00:1::1",  # 6to4
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
    ],
)
def test_address_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "168.63.129.17",
        "192.88.98.1",
        "93.184.216.34",
        "2606:4700::1111",
        "64:ff9b::1.1.1.1",
    ],
)
def test_address_is_public(address: str) -> None:
    assert is_public(address)
