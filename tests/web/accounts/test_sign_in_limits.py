"""Sign-in under attack: limits that hold for guesses at once, owners who come in anyway, and a hub that goes on."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.utils import timezone

from memoryhub.actions.accounts import passwords, people, sign_in, tries
from memoryhub.actions.accounts.passwords import TooBusy
from memoryhub.actions.accounts.sign_in import Credentials
from memoryhub.actions.accounts.tries import TooManyTries
from memoryhub.models import HUB, AuditEntry, TryCounter, User
from tests.api.test_concurrency import together
from tests.support.fixtures import AT, BY, PASSWORD, new_person, signed_in

pytestmark = pytest.mark.django_db

EMAIL = "alice@example.com"


@pytest.fixture
def quick(settings: Any) -> None:
    """Hashes that cost next to nothing."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def somebody(quick: None, db: None) -> User:
    return new_person("Alice")


def guess(address: str, email: str = EMAIL, password: str = "wrong", at: Any = AT, device: str | None = None) -> str:
    """What became of one try."""
    try:
        user = sign_in.sign_in(Credentials(email, password, address, device), at=at)
    except TooManyTries as error:
        return f"wait {error.wait}"
    except TooBusy:
        return "busy"
    return "in" if user else "wrong"


def posted(client: Client, address: str, email: str = EMAIL, password: str = "wrong") -> Any:
    return client.post("/sign-in", {"email": email, "password": password}, REMOTE_ADDR=address)


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_of_many_guesses_at_once_no_more_than_the_limit_are_looked_at(quick: None) -> None:
    new_person("Alice")
    barrier = threading.Barrier(24)

    def work(_: int) -> str:
        try:
            barrier.wait()
            for _ in range(100):
                if (said := guess("203.0.113.9")) != "busy":
                    return said
                time.sleep(0.01)
            return "busy"
        finally:
            connection.close()

    said = together(work, clients=24)
    assert said.count("wrong") == tries.ONE.free
    assert sum(each.startswith("wait") for each in said) == 24 - tries.ONE.free
    assert AuditEntry.objects.of_chain(HUB).of_command("sign_in").count() == tries.ONE.free


def test_delays_grow_and_stay_short_and_a_try_within_one_is_not_hashed(
    somebody: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, waits = AT, []
    for _ in range(tries.ONE.free):
        assert guess("203.0.113.9", at=at) == "wrong"
    for _ in range(9):
        with monkeypatch.context() as patch:
            patch.setattr(passwords, "fits", lambda *_: pytest.fail("hashed"))
            said = guess("203.0.113.9", at=at, password=PASSWORD)
        waits.append(int(said.removeprefix("wait ")))
        at += timedelta(seconds=waits[-1])
        assert guess("203.0.113.9", at=at) == "wrong"
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert guess("203.0.113.9", at=at + timedelta(seconds=60), password=PASSWORD) == "in"
    assert guess("203.0.113.9", at=at + timedelta(seconds=60)) == "wrong"  # from the beginning


def test_sign_ins_of_others_do_not_make_the_hub_forget_the_wrong_ones(somebody: User) -> None:
    """Only the newest 500 used to be looked at."""
    new_person("Bob")
    for _ in range(tries.ONE.free):
        guess("203.0.113.9")
    for number in range(520):
        sign_in.enter(somebody, address=f"192.0.2.{number % 200}", at=AT)
    assert guess("203.0.113.9", password=PASSWORD) == "wait 1"


@pytest.mark.parametrize(
    "network", ["2001:db8:1:2:{:x}::7", "2001:db8:1:2::{:x}", "203.0.113.{}", "::ffff:203.0.113.{}"]
)
def test_all_addresses_of_one_network_have_one_limit_and_others_come_in(somebody: User, network: str) -> None:
    said = [guess(network.format(number)) for number in range(1, tries.ONE.free + 20)]
    assert said.count("wrong") == tries.ONE.free
    assert guess("198.51.100.7", password=PASSWORD) == "in"


def test_many_networks_that_guess_together_are_slowed_down_and_the_owner_comes_in_with_a_known_browser(
    somebody: User,
) -> None:
    home = Client()
    assert posted(home, "198.51.100.7", password=PASSWORD).status_code == 303
    home.post("/sign-out")
    now = timezone.now()
    said = [guess(f"10.{number}.0.1", at=now) for number in range(tries.ACCOUNT.free + 10)]
    assert said.count("wrong") == tries.ACCOUNT.free
    said = guess("198.51.100.7", password=PASSWORD, at=now)
    assert 0 < int(said.removeprefix("wait ")) <= tries.ACCOUNT.longest
    assert posted(home, "198.51.100.7", password=PASSWORD).status_code == 303


def test_a_neighbour_in_the_same_network_does_not_keep_the_owner_out_of_a_known_browser(somebody: User) -> None:
    home = Client()
    posted(home, "203.0.113.5", password=PASSWORD)
    home.post("/sign-out")
    for number in range(80):
        posted(Client(), f"203.0.113.{number}")
    assert posted(Client(), "203.0.113.5", password=PASSWORD).status_code == 429
    assert posted(home, "203.0.113.5", password=PASSWORD).status_code == 303


def test_a_known_browser_is_one_account_s_and_has_a_limit_too(somebody: User) -> None:
    new_person("Bob")
    home = Client()
    posted(home, "203.0.113.5", password=PASSWORD)
    home.post("/sign-out")
    for _ in range(tries.ONE.free):
        assert posted(home, "203.0.113.5").status_code == 200
    assert posted(home, "203.0.113.5", password=PASSWORD).status_code == 429
    for _ in range(tries.ONE.free):
        assert posted(home, "198.51.100.1", email="bob@example.com").status_code == 200
    assert posted(home, "198.51.100.1", email="bob@example.com").status_code == 429
    forged = Client()
    forged.cookies["device"] = f"{somebody.id}.{'x' * 22}:forged:signature"
    assert posted(forged, "198.51.100.1", email="bob@example.com").status_code == 429


def test_one_network_that_tries_many_accounts_is_slowed_down(somebody: User) -> None:
    said = [guess("203.0.113.9", email=f"{number}@example.com") for number in range(tries.NETWORK.free + 20)]
    assert said.count("wrong") == tries.NETWORK.free and said[-1].startswith("wait")


def test_the_answer_is_the_same_for_accounts_that_are_there_and_that_are_not(
    somebody: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes: list[str] = []
    verify = passwords.hashers.verify_password
    monkeypatch.setattr(passwords.hashers, "verify_password", lambda *of: (hashes.append("one"), verify(*of))[1])
    new_person("Root", is_superuser=True)
    people.set_active(new_person("Gone"), False, **BY)
    pages = []
    for email in (EMAIL, "nobody@example.com", "gone@example.com"):
        client, before = Client(), len(hashes)
        shown = [posted(client, f"198.51.{len(pages)}.1", email=email) for _ in range(tries.ONE.free + 1)]
        text = shown[0].content.decode().replace(email, "")
        pages.append((text[text.index("<main") :].split("csrfmiddlewaretoken")[0], [s.status_code for s in shown]))
        assert len(hashes) - before == tries.ONE.free
    assert pages[0] == pages[1] == pages[2]
    assert pages[0][1] == [200] * tries.ONE.free + [429]


def test_guesses_of_the_current_password_are_limited(somebody: User) -> None:
    client = signed_in(somebody)
    form = {"current": "wrong", "password": "a wholly different one", "again": "a wholly different one"}
    with time_machine.travel(timezone.now(), tick=False):  # the first delay is a second, and this machine may be slow
        answers = [client.post("/account/password", form) for _ in range(tries.ONE.free + 2)]
        assert [answer.status_code for answer in answers] == [200] * tries.ONE.free + [429] * 2
        assert "Retry-After" in answers[-1].headers and "Too many tries" in answers[-1].content.decode()
        assert client.post("/account/password", form | {"current": PASSWORD}).status_code == 429


@pytest.mark.both_databases
def test_at_most_two_passwords_are_hashed_at_once_and_who_would_wait_long_is_sent_away(
    somebody: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, most, gate = [], [], threading.Event()
    verify = passwords.hashers.verify_password

    def slow(*of: Any) -> Any:
        running.append(1)
        most.append(len(running))
        gate.wait(5)
        running.pop()
        return verify(*of)

    monkeypatch.setattr(passwords.hashers, "verify_password", slow)
    threads = [threading.Thread(target=passwords.fits, args=("x", somebody.password)) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(0.3)
    begun = time.monotonic()
    answer = posted(Client(), "203.0.113.9", password=PASSWORD)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1") and time.monotonic() - begun < 1
    assert TryCounter.objects.filter(tries__gt=0).count() == 0  # nobody looked at the password
    gate.set()
    for thread in threads:
        thread.join()
    assert max(most) == passwords.AT_ONCE
    assert posted(Client(), "203.0.113.9", password=PASSWORD).status_code == 303


@pytest.mark.parametrize("link", ["new", "known"])
def test_no_password_is_hashed_while_the_database_is_locked(
    somebody: User, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    from memoryhub.actions.core import transactions

    inside: list[bool] = []
    hashed = passwords.hashers.make_password
    monkeypatch.setattr(
        passwords.hashers, "make_password", lambda *of: (inside.append(transactions.is_open()), hashed(*of))[1]
    )
    now = timezone.now()
    acts: list[Callable[[], Any]] = [lambda: people.change_password(somebody, PASSWORD, "a wholly new one", at=now)]
    options: dict[str, Any] = {"email": "dora@example.com"} if link == "new" else {"user": somebody}
    _, token = people.invite(**options, **(BY | {"at": now}))
    acts.append(lambda: people.accept(token, email="", name="Dora", password="a wholly new one", at=now))
    for act in reversed(acts):
        act()
    assert inside and not any(inside)


def test_an_outdated_hash_is_written_anew_at_the_next_sign_in(somebody: User, settings: Any) -> None:
    settings.PASSWORD_HASHERS = [
        "django.contrib.auth.hashers.PBKDF2SHA1PasswordHasher", "django.contrib.auth.hashers.MD5PasswordHasher",
    ]  # fmt: skip
    passwords._any_hash.cache_clear()
    assert guess("203.0.113.9", password=PASSWORD) == "in"
    assert User.objects.get(pk=somebody.pk).password.startswith("pbkdf2_sha1$")
    assert guess("203.0.113.9", password=PASSWORD) == "in"
    passwords._any_hash.cache_clear()


@pytest.mark.both_databases
def test_counters_name_nobody_and_are_forgotten(somebody: User) -> None:
    guess("203.0.113.9", email="my secret password")
    assert all("@" not in row.id and "secret" not in row.id and "203" not in row.id for row in TryCounter.objects.all())
    assert TryCounter.objects.count() == 3
    assert tries.forget(AT + timedelta(minutes=10)) == 0
    assert tries.forget(AT + timedelta(hours=1)) == 3 and not TryCounter.objects.exists()


def test_a_clock_that_was_set_back_keeps_nobody_out(somebody: User) -> None:
    for _ in range(tries.ONE.free + 1):
        guess("203.0.113.9", at=AT + timedelta(days=1))
    assert guess("203.0.113.9", at=AT, password=PASSWORD) == "in"
