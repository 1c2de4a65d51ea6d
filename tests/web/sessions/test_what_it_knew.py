"""What a session knew at a time: the versions and lines that it had read or written."""

from typing import Any

import pytest

from memoryhub.models import User
from memoryhub.web.sessions import known as sessions_known
from memoryhub.web.sessions.known import joined
from tests.support.in_turn import in_turn
from tests.support.write_guard import tampering
from tests.web.history.versions import Caller
from tests.web.sessions.session_page import calls, session_page

pytestmark = pytest.mark.django_db


class TestWhatItKnew:
    def pieces(self, response: Any) -> list[tuple[str, int, list[tuple[int, int]], bool, int]]:
        return [
            (piece.version.path, piece.version.number, list(piece.spans), piece.own, piece.times)
            for piece in response.context["known"].pieces
        ]

    def test_it_lists_the_versions_that_were_read_or_written(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
        caller.call("view", path="/memories/a.md", view_range=[1, 2])
        caller.call("view", path="/memories/a.md", view_range=[3, 4])
        caller.call("view", path="/memories/a.md", view_range=[8, 9])
        caller.replace("/a.md", "9", "nine")
        caller.call("view", path="/memories/nothing.md")
        response = session_page(bob)
        assert self.pieces(response) == [
            ("/a.md", 2, [(7, 9)], True, 1), ("/a.md", 1, [(1, 4), (8, 9)], True, 4),
        ]  # fmt: skip
        body = response.content.decode()
        assert "lines 1 to 4, lines 8 to 9" in body
        assert "changed since" in body

    def test_at_a_time_it_knew_only_what_it_had_seen(self, caller: Caller, bob: User) -> None:
        caller.create("/a.md", "1\n")  # at 9:01, like every call a minute after the one before
        caller.create("/b.md", "1\n")
        caller.call("view", path="/memories/a.md")
        first = session_page(bob, at="09:01")
        assert [path for path, *_ in self.pieces(first)] == ["/a.md"]
        assert first.context["known"].pieces[0].times == 1
        assert [path for path, *_ in self.pieces(session_page(bob, at="2025-11-03 09:02"))] == ["/b.md", "/a.md"]
        assert [path for path, *_ in self.pieces(session_page(bob, at="2025-11-03T09:03:30"))] == ["/a.md", "/b.md"]
        assert self.pieces(session_page(bob, at="08:59")) == []
        assert 'value="09:01"' in first.content.decode() and "What this session knew then" in first.content.decode()

    def test_a_time_is_in_the_persons_zone(self, caller: Caller, bob: User) -> None:
        with tampering():
            User.objects.filter(pk=bob.pk).update(time_zone="Asia/Tokyo")
        caller.create("/a.md", "1\n")
        assert len(self.pieces(session_page(bob, at="18:01"))) == 1
        assert self.pieces(session_page(bob, at="2025-11-03 09:01")) == []

    @pytest.mark.both_databases
    def test_at_an_entry_it_knew_what_it_had_seen_up_to_it(
        self, caller: Caller, elsewhere: Caller, superuser: User
    ) -> None:
        caller.create("/a.md", "1\n")
        elsewhere.at = caller.at
        elsewhere.create("/there.md", "1\n")
        caller.at = elsewhere.at
        caller.create("/b.md", "1\n")
        until = f"{caller.store.pk}:{caller.last.seq}"
        caller.create("/c.md", "1\n")
        response = session_page(superuser, until=until)
        assert [path for path, *_ in self.pieces(response)] == ["/b.md", "/there.md", "/a.md"]
        assert f"?until={until}#known" in response.content.decode()

    @in_turn(
        "query",
        [
            {"at": "never"}, {"at": "25:00"}, {"at": "2025-02-30 10:00"}, {"at": "0001-01-01 00:00"},
            {"at": "9999-12-31 23:59:59"}, {"at": "1" * 500}, {"at": "<b>"}, {"until": "x"}, {"until": "hub:1"},
            {"until": "a:b"}, {"until": ":" + "9" * 30},
        ],
    )  # fmt: skip
    def test_what_is_no_moment_is_no_error(self, query: dict[str, str], caller: Caller, bob: User) -> None:
        caller.create("/a.md", "1\n")
        response = session_page(bob, **query)
        assert "<b>” is" not in response.content.decode()
        assert calls(response)

    def test_what_was_not_looked_at_is_said(self, caller: Caller, bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sessions_known, "LOOK", 2)
        for name in "abc":
            caller.create(f"/{name}.md", "1\n")
        response = session_page(bob)
        assert [path for path, *_ in self.pieces(response)] == ["/c.md", "/b.md"]
        assert "The session may have read or written other versions too" in response.content.decode()

    def test_stretches_that_touch_are_one(self) -> None:
        assert joined([(5, 6), (1, 2), (3, 3), (6, 9), (11, 12)]) == [(1, 3), (5, 9), (11, 12)]
        assert joined([]) == []
