"""The browser fixtures: a page opens, and what a page complains of is noticed."""

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import User
from tests.support.browser import Console, axe, sign_in_as

pytestmark = pytest.mark.browser


@pytest.fixture
def blank(page: Page, live_server: LiveServer) -> Page:
    """A page of the hub with nothing on it."""
    page.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    page.goto(live_server.url + "/healthz")
    return page


def test_a_page_opens(blank: Page) -> None:
    assert '"ok"' in blank.inner_text("body")


def test_a_complaint_on_the_console_is_heard(blank: Page, console: Console) -> None:
    blank.evaluate("console.warn('look here'); console.log('never mind')")
    assert len(console.unexpected()) == 1
    console.expect("look here")
    assert not console.unexpected()


def test_a_violation_of_the_policy_is_heard(blank: Page, console: Console) -> None:
    blank.evaluate("document.body.append(Object.assign(document.createElement('script'), {textContent: '1'}))")
    blank.evaluate("document.body.setAttribute('style', 'color: red')")
    assert len(console.unexpected()) == 2
    console.expect("Content Security Policy")


def test_an_exception_in_a_page_is_heard(blank: Page, console: Console) -> None:
    blank.evaluate("setTimeout(() => { throw new Error('broken') })")
    blank.wait_for_timeout(100)
    assert "broken" in console.unexpected()[0]
    console.expect("broken")


def test_a_person_is_signed_in(blank: Page, live_server: LiveServer, alice: User) -> None:
    sign_in_as(blank.context, alice, live_server.url)
    assert any(cookie["name"] == "sessionid" for cookie in blank.context.cookies(live_server.url))


STYLE = "body { background: #fff; color: #333 } .pale { background: #fff } @media (prefers-color-scheme: dark) { %s }"


def shows(page: Page, body: str, dark: str = "") -> None:
    page.set_content(f"<html lang=en><title>x</title><style>{STYLE % dark}</style><main><h1>x</h1>{body}</main>")


def test_axe_measures_colours_in_each_theme_and_behind_each_text(page: Page) -> None:
    """Though what has passed is not measured again."""
    line = "<p>one</p><p>two</p>"
    shows(page, line)
    axe(page, only=("light", "dark"), always=True)
    shows(page, line, dark="body { background: #555 }")
    with pytest.raises(AssertionError, match=r"in dark:[\s\S]*contrast"):
        axe(page, only=("light", "dark"), always=True)
    for body in (
        f"{line}<div style='background: #555'>{line}</div>",
        f"{line}<p style='color: #ccc'>three</p>",
        f"{line}<button disabled style='color: #ccc'>first</button><button style='color: #ccc'>second</button>",
        f"{line}<div style='opacity: .3'>{line}</div>",
        "<p style='color: #333'>See <a href='/' style='text-decoration: none; color: #444'>this</a> and that.</p>",
    ):
        shows(page, body)
        with pytest.raises(AssertionError, match=r"in light:"):
            axe(page, only=("light",), always=True)
    shows(page, "<p>one</p><img src=''>")
    with pytest.raises(AssertionError, match=r"alternative text"):
        axe(page, only=("light",), always=True)
