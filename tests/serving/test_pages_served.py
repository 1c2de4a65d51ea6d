"""A walk over real pages through `serve`: forms, cookies, static files, downloads, uploads and HEAD."""

import io
import re
import zipfile

import httpx
import pytest
from django.conf import settings

from tests.api.server import Server
from tests.serving.clients import Desk

LARGER = int(settings.MEMORYHUB_IMPORT["packed"]) + 6 * 1024 * 1024


def token_in(page: str) -> str:
    found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert found is not None
    return found[1]


@pytest.fixture(scope="session")
def browser(server: Server) -> httpx.Client:
    """The first administrator, signed in: once for each server, since the link for it works once."""
    link = re.search(r"http://\S+/invitations/\S+", server.log.read_text())
    assert link is not None
    client = httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=60, follow_redirects=True)
    values = {"email": "ada@example.com", "name": "Ada", "password": "correct horse battery"}
    page = client.get(link[0])
    values |= {"again": values["password"], "csrfmiddlewaretoken": token_in(page.text)}
    joined = client.post(link[0], data=values)
    assert joined.status_code == 200
    assert f"sessionid_{server.port}" in client.cookies, "a hub on another port of this machine has its own"
    return client


def test_pages_and_their_static_files_are_served(browser: httpx.Client, desk: Desk) -> None:
    page = browser.get(f"/stores/{desk.store}")
    assert page.status_code == 200
    assert page.headers["content-security-policy"].startswith("default-src 'none'")
    static = re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text)
    assert static
    for path in static:
        whole = browser.get(path)
        assert (whole.status_code, len(whole.content) > 0) == (200, True), path
        assert "max-age" in whole.headers["cache-control"]
        assert browser.get(path, headers={"If-None-Match": whole.headers.get("etag", "")}).status_code in (200, 304)
        head = browser.head(path)
        assert (head.status_code, head.content) == (200, b"")


@pytest.mark.push
def test_head_and_an_htmx_request_are_answered(browser: httpx.Client, desk: Desk) -> None:
    head = browser.head(f"/stores/{desk.store}")
    assert (head.status_code, head.content) == (200, b"")
    part = browser.get(f"/stores/{desk.store}", headers={"HX-Request": "true"})
    assert part.status_code == 200
    assert "HX-Request" in part.headers["vary"]


def test_an_upload_is_imported_and_the_export_holds_it(browser: httpx.Client, desk: Desk) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for n in range(30):
            archive.writestr(f"notes/{n}.md", f"{n} " + "word " * 10_000)
    address = f"/stores/{desk.store}/imports/new"
    token = token_in(browser.get(address).text)
    sent = browser.post(
        address, data={"csrfmiddlewaretoken": token, "source": "upload", "place": "/brought"},
        files={"brought": ("notes.zip", packed.getvalue(), "application/zip")},
    )  # fmt: skip
    assert sent.status_code == 200
    assert "/imports/" in str(sent.url)
    assert not str(sent.url).endswith("/new")


@pytest.mark.push
def test_a_file_that_is_too_large_is_told_on_the_page(browser: httpx.Client, desk: Desk) -> None:
    address = f"/stores/{desk.store}/imports/new"
    token = token_in(browser.get(address).text)
    sent = browser.post(
        address, data={"csrfmiddlewaretoken": token, "source": "upload", "place": ""},
        files={"brought": ("large.zip", b"x" * LARGER, "application/zip")},
    )  # fmt: skip
    assert sent.status_code == 200
    assert "The file is too large" in sent.text


def test_a_download_comes_whole(browser: httpx.Client, desk: Desk) -> None:
    agent = desk.agent()
    for n in range(6):
        agent.call(f"kept-{n}", command="create", path=f"/memories/kept/{n}.md", file_text="line\n" * 15_000)
    address = f"/stores/{desk.store}/export"
    token = token_in(browser.get(address).text)
    answer = browser.post(address, data={"csrfmiddlewaretoken": token, "format": "jsonl", "history": "on"})
    assert answer.status_code == 200
    assert len(answer.content) == int(answer.headers["content-length"]) > 400_000
    assert answer.headers["content-disposition"].startswith("attachment")
    assert '"type":"end"' in answer.text.splitlines()[-1].replace(" ", "")


@pytest.mark.parametrize(
    "path", ["/overview", "/", "/stores/{store}", "/review?q=path:/nothing", "/audit", "/stores/{store}/settings"]
)
def test_a_first_visit_asks_for_few_files_that_are_kept_for_ever(browser: httpx.Client, desk: Desk, path: str) -> None:
    page = browser.get(path.format(store=desk.store))
    assert page.status_code == 200
    assert page.headers["content-encoding"] == "gzip"
    linked = set(re.findall(r'(?:href|src)="(/static/[^"#]+)', page.text))
    over_the_wire = page.num_bytes_downloaded
    for name in linked:
        file = browser.get(name)
        assert "immutable" in file.headers["cache-control"], name
        over_the_wire += file.num_bytes_downloaded
    assert len(linked) + 1 <= 8, sorted(linked)
    assert over_the_wire <= 150_000
