"""Browser sessions, stored under a hash. Someone who can read the database cannot sign in with what it holds."""

import hashlib
from typing import Any

from django.contrib.auth import user_logged_in
from django.contrib.sessions.backends import db

from memoryhub.web.accounts import known_browser

user_logged_in.connect(known_browser.begin, dispatch_uid="memoryhub.web.accounts.known_browser.begin")


def stored(key: str | None) -> str:
    """Return the key under which a session is stored. `key` is the one in the cookie, which has 165 random bits."""
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
