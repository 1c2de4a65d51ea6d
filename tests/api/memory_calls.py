"""Calls of the API on the memories and versions of one store, through the whole WSGI way."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlencode

from memoryhub.models import Access, AuditEntry
from tests.api.harness import Answer, Hub, new_secret, new_store

Json = dict[str, Any]


def sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


@dataclass(slots=True)
class Api:
    """One key's calls to one store; `headers` go with each."""

    hub: Hub
    session: str | None = None

    def send(self, method: str, path: str = "", body: object = b"", /, **query: object) -> Answer:
        url = f"/v1/memory_stores/{self.hub.store.id}{path}"
        named = {name.replace("__", "[") + ("]" if "__" in name else ""): value for name, value in query.items()}
        headers = {"memoryhub_session": self.session} if self.session else {}
        return self.hub.send(body, method=method, url=f"{url}?{urlencode(named)}" if named else url, **headers)

    def good(self, method: str, path: str = "", body: object = b"", /, **query: object) -> Json:
        answer = self.send(method, path, body, **query)
        assert answer.status == 200, answer.body
        value: Json = answer.value
        return value

    def refused(self, method: str, path: str = "", body: object = b"", /, **query: object) -> tuple[int, str, str]:
        """Status, type and message of a refusal."""
        answer = self.send(method, path, body, **query)
        error = answer.value["error"]
        assert answer.headers.get("x-should-retry") == ("false" if answer.status == 409 else None)
        return answer.status, error["type"], error["message"]

    def create(self, path: str, content: str = "text\n", **query: object) -> Json:
        return self.good("POST", "/memories", {"path": path, "content": content}, **query)

    def update(self, memory: str, body: Json, **query: object) -> Json:
        return self.good("POST", f"/memories/{memory}", body, **query)

    def memory(self, id: str, **query: object) -> Json:
        return self.good("GET", f"/memories/{quote(id)}", **query)

    def delete(self, id: str, **query: object) -> Json:
        return self.good("DELETE", f"/memories/{id}", **query)

    def version(self, id: str, **query: object) -> Json:
        return self.good("GET", f"/memory_versions/{id}", **query)

    def pages(self, kind: str, limit: int = 100, **query: object) -> list[list[Json]]:
        """Every page of a list, one after the other."""
        found: list[list[Json]] = []
        page: Json = {}
        while True:
            value = self.good("GET", f"/{kind}", limit=limit, **query, **page)
            assert set(value) == {"data", "next_page"} and len(value["data"]) <= limit
            found.append(value["data"])
            if value["next_page"] is None:
                return found
            page = {"page": value["next_page"]}

    def all(self, kind: str, limit: int = 100, **query: object) -> list[Json]:
        return [item for page in self.pages(kind, limit, **query) for item in page]

    def entries(self, after: int = 0) -> list[AuditEntry]:
        """The store's entries that follow one, oldest first."""
        return [*AuditEntry.objects.of_chain(self.hub.store.id).filter(seq__gt=after).oldest()]

    @property
    def seq(self) -> int:
        return self.entries()[-1].seq


def new_api(level: Access = Access.WRITE, *, session: str | None = None, **own: Any) -> Api:
    store = new_store(**own)
    return Api(Hub(store, new_secret(store, level)), session)
