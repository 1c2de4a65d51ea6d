"""Browser sessions, stored under a hash: someone who can read the database cannot sign in with what it holds."""

import hashlib
from contextlib import suppress
from typing import Any

from django.contrib.auth import user_logged_in
from django.contrib.sessions.backends import db
from django.contrib.sessions.exceptions import SessionInterrupted
from django.db import Error

from memoryhub.actions.core.transactions import writing
from memoryhub.web.accounts import known_browser

user_logged_in.connect(known_browser.begin, dispatch_uid="memoryhub.web.accounts.known_browser.begin")

_SPENT = "spent_forms"
_SPENT_KEPT = 50


def stored(key: str | None) -> str:
    """Return the key under which a session is stored. `key` is the random key in the browser's cookie."""
    return hashlib.sha256((key or "").encode()).hexdigest()[:40]


class SessionStore(db.SessionStore):
    """Django's session store, but the database never holds the key that is in the cookie."""

    def _get_session_from_db(self) -> Any:
        own, self._session_key = self._session_key, stored(self._session_key)
        try:
            return super()._get_session_from_db()  # type: ignore[misc]
        finally:
            self._session_key = own if self._session_key is not None else None

    def exists(self, session_key: str | None) -> bool:
        return super().exists(stored(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row = super().create_model_instance(data)
        row.session_key = stored(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        key = self.session_key if session_key is None else session_key
        if key is not None:
            super().delete(stored(key))

    spent = ""
    """The form that this request has spent; "" if none."""

    def spend(self, form: str) -> bool:
        """Mark a form, which may be sent only once, as spent. Return False if it was spent before, otherwise True.

        Call this before the act of the form; the mark is committed at once. Raises SessionInterrupted if the session
        has ended since the request began.
        """
        with writing():
            row = self._locked()
            forms = self.decode(row.session_data).get(_SPENT, [])
            if form in forms:
                return False
            self._keep(row, [*forms, form][-_SPENT_KEPT:])
        self.spent = form
        return True

    def give_back(self) -> None:
        """Remove the mark from the form that this request has spent, so that the form can be sent again.

        Call this if the hub failed to do the act of the form.
        """
        form, self.spent = self.spent, ""
        if not form:
            return
        with suppress(Error, SessionInterrupted), writing():  # where the database fails, the form stays spent
            row = self._locked()
            self._keep(row, [one for one in self.decode(row.session_data)[_SPENT] if one != form])

    def _locked(self) -> Any:
        row = self.model.objects.select_for_update().filter(session_key=stored(self.session_key)).first()
        if row is None:
            raise SessionInterrupted("The session ended before the form was sent.")
        return row

    def _keep(self, row: Any, forms: list[str]) -> None:
        row.session_data = self.encode(self.decode(row.session_data) | {_SPENT: forms})
        row.save(update_fields=["session_data"])
        self._get_session()[_SPENT] = forms  # type: ignore[attr-defined]  # a later save of this request keeps it
