"""What the hub sends elsewhere: where it may go, and how little a receiver can do to it."""

import ipaddress
import ssl
import time
from pathlib import Path

import pytest

from memoryhub.pure import outgoing
from memoryhub.pure.outgoing import Answer, Limits, Refused, Sender
from tests.webhooks import receivers
from tests.webhooks.receivers import receiver, status

FAST = Limits(resolve=0.3, connect=0.5, whole=0.4)
PUBLIC = ("8.8.8.8", "1.1.1.1", "193.0.6.139", "2606:4700:4700::1111", "2a00:1450:4001::200e")
NOT_PUBLIC = (
    "127.0.0.1", "127.255.0.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
    "100.64.0.1", "100.127.255.255", "192.0.0.8", "192.0.2.1", "198.51.100.7", "203.0.113.7", "198.18.0.1",
    "192.88.99.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "::", "::1", "::7f00:1",
    "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "2001::1",
    "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1",
    "ff02::1", "100::1", "no address", "",
)  # fmt: skip
REFUSED = {
    "http://example.com/": "scheme", "ftp://example.com/": "scheme", "javascript:alert(1)": "malformed",
    "file:///etc/passwd": "malformed", "https://": "malformed", "": "malformed", "https:///path": "malformed",
    "https://user@example.com/": "credentials", "https://:x@example.com/": "credentials",
    "https://example.com:22/": "port", "https://example.com:80/": "port", "https://example.com:0/": "port",
    "https://example.com:99999/": "malformed", "https://example.com:x/": "malformed",
    "https://example.com/#part": "fragment", "https://example.com/#": "fragment",
    "https://exa mple.com/": "malformed", "https://example.com/a b": "malformed",
    "https://example.com/\r\nX-Evil: 1": "malformed", "https://example.com/\0": "malformed",
    "https://example.com\\@evil.example/": "malformed", "https://example.com/ü": "malformed",
    "https://a_b$c.example/": "malformed", "https://[::1/": "malformed", "https://[fe80::1%25eth0]/": "malformed",
    "https://127.0.0.1/": "private", "https://[::1]/": "private", "https://[::ffff:127.0.0.1]/": "private",
    "https://2130706433/": "private", "https://0x7f.1/": "private", "https://127.1/": "private",
    "https://localhost/": "private", "https://169.254.169.254/latest": "private",
    "https://" + "a" * 2000 + "/": "malformed", "https://" + "a" * 200 + "!/": "malformed",
    "https://" + "a-" * 120 + "!/": "malformed", "https://a..example/": "malformed",
}  # fmt: skip


def test_addresses_of_the_open_internet_are_told_from_all_others() -> None:
    assert [one for one in PUBLIC if not outgoing.is_public(one)] == []
    assert [one for one in NOT_PUBLIC if outgoing.is_public(one)] == []


def test_every_ipv4_address_inside_ipv6_is_refused() -> None:
    for form in ("::ffff:{}", "64:ff9b::{}", "::{}"):
        assert not outgoing.is_public(str(ipaddress.ip_address(form.format("8.8.8.8"))))


def test_urls_that_lead_nowhere_good_are_refused() -> None:
    codes = {}
    for url in REFUSED:
        with pytest.raises(Refused) as refused:
            outgoing.check(url)
        codes[url] = refused.value.code
    assert codes == REFUSED
    assert set(codes.values()) <= set(outgoing.PROBLEMS)


def test_what_an_administrator_allows_may_be_plain_and_on_any_port_and_nothing_more() -> None:
    target = outgoing.check("http://127.0.0.1:80/a?b=c", private=True)
    assert (target.addresses, target.path, target.netloc) == (("127.0.0.1",), "/a?b=c", "127.0.0.1")
    assert outgoing.parse("https://[::1]:8443/", private=True).netloc == "[::1]:8443"
    for url in ("http://user@127.0.0.1/", "ftp://127.0.0.1/", "http://127.0.0.1:0/"):
        with pytest.raises(Refused):
            outgoing.check(url, private=True)


def test_a_name_in_another_script_is_asked_for_in_ascii() -> None:
    assert outgoing.parse("https://bücher.example/x").host == "xn--bcher-kva.example"
    with pytest.raises(Refused):
        outgoing.parse("https://straße.example/x")  # the codec of Python would ask strasse.example
    assert outgoing.parse("https://xn--strae-oqa.example/x").host == "xn--strae-oqa.example"


def test_a_name_is_refused_when_any_of_its_addresses_is() -> None:
    with pytest.raises(Refused, match="private"):
        outgoing.check("https://two.example/", resolve=lambda host, port: ["8.8.8.8", "10.0.0.1"])


def test_a_name_that_takes_too_long_to_look_up_is_given_up() -> None:
    with pytest.raises(Refused, match="unresolved"):
        outgoing.check("https://slow.example/", resolve=lambda host, port: time.sleep(2) or [], seconds=0.05)  # type: ignore[func-returns-value]


def test_the_connection_is_made_to_the_address_that_was_checked() -> None:
    """A name that says something public first and this machine later (rebinding) is asked once."""
    asked: list[str] = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["192.0.2.1"] if len(asked) == 1 else ["127.0.0.1"]

    with receiver() as there:
        sender = Sender(resolve=rebinding, limits=FAST)
        answer = sender.post(f"http://rebind.example:{there.port}/", b"{}", {}, private=True)
        assert answer.problem in ("timeout", "unreachable") and asked == ["rebind.example"]
        assert there.connections == 0
        assert sender.post(f"http://rebind.example:{there.port}/", b"{}", {}, private=True).is_delivered
        assert there.arrived[0].headers["host"] == f"rebind.example:{there.port}"
    for answers in (["127.0.0.1"], ["::1"]):
        sender = Sender(resolve=lambda host, port, answers=answers: answers, limits=FAST)  # type: ignore[misc]
        assert sender.post("https://rebind.example/", b"{}", {}).problem == "private"


def test_each_thing_that_a_receiver_does_is_told_in_a_word() -> None:
    cases: list[tuple[object, int | None, str]] = [
        (status(200), 200, ""), (status(204), 204, ""), (status(301, Location="http://10.0.0.1/"), 301, "redirect"),
        (status(307, Location="/elsewhere"), 307, "redirect"), (status(404), 404, "status"),
        (status(500), 500, "status"), (b"HTTP/1.1 100 Continue\r\n\r\n" + status(202), 202, ""),
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", None, "no_http"), (b"HTTP/1.1 200 OK\r\n", None, "no_http"),
        (b"", None, "closed"), (receivers.hang, None, "timeout"), (receivers.drip, None, "timeout"),
        (receivers.huge, 200, ""), (receivers.huge_head, None, "no_http"),
    ]  # fmt: skip
    with receiver() as there:
        for behaviour, code, problem in cases:
            there.answer = behaviour  # type: ignore[assignment]
            begun = len(there.arrived)
            answer = Sender(limits=FAST).post(there.url, b'{"a":1}', {"x-own": "1"}, private=True)
            assert (answer.status, answer.problem) == (code, problem), behaviour
            assert len(there.arrived) == begun + 1  # a redirect is not followed
        assert there.arrived[0].body == '{"a":1}' and there.arrived[0].headers["x-own"] == "1"
        assert there.arrived[0].headers["user-agent"].startswith("MemoryHub")
    assert Sender(limits=FAST).post(there.url, b"{}", {}, private=True).problem == "unreachable"


def test_when_to_come_back_is_heard() -> None:
    with receiver() as there:
        there.answer = status(503, Retry_After="120")
        answer = Sender(limits=FAST).post(there.url, b"{}", {}, private=True)
    assert answer == Answer(503, "status", "120", answer.duration)


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    place = Path(__file__).parent
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(place / "loopback.pem")
    with receiver(lambda plain: served.wrap_socket(plain, server_side=True)) as there:
        url = there.url.replace("http://", "https://").replace("127.0.0.1", "localhost")
        strict = Sender(resolve=lambda host, port: ["127.0.0.1"], limits=FAST)
        assert strict.post(url, b"{}", {}, private=True).problem == "tls"
        trusting = ssl.create_default_context(cafile=str(place / "loopback.pem"))
        known = Sender(resolve=lambda host, port: ["127.0.0.1"], limits=FAST, tls=trusting)
        assert known.post(url, b"{}", {}, private=True).is_delivered
        other = url.replace("localhost", "other.example")
        assert known.post(other, b"{}", {}, private=True).problem == "tls"
