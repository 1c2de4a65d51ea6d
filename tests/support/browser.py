"""A real Chromium on a real server: pages whose console must stay empty, axe in both themes, people signed in."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT, AxeResults
from django.conf import settings
from django.test import override_settings
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Page, expect
from pytest_django.live_server_helper import LiveServer

from memoryhub.models import User
from tests.api.server import collected
from tests.support.directory import run_directory
from tests.support.fixtures import signed_in
from tests.support.long import is_turn

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""The shell draws the same pages without a window around them, and needs little more than half of the processor."""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--renderer-process-limit=1",
]  # fmt: skip
PATIENCE = 30_000
"""Milliseconds: what does not come at all is as wrong as before, and a busy machine is no mistake of the hub."""

expect.set_options(timeout=PATIENCE)

SHIPPED = {"BACKEND": "memoryhub.web.common.assets.JoinedStaticFilesStorage"}

MISSING = "There is no Chromium on this machine (or name it in MEMORYHUB_CHROMIUM): browser tests need one."


def find_chromium() -> str | None:
    """The path of the browser to drive."""
    if chosen := os.environ.get("MEMORYHUB_CHROMIUM"):
        return chosen
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Console:
    """What a page said that a person would have to be told of; `expect` names what a test provokes on purpose."""

    messages: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, *parts: str) -> None:
        """Messages that have one of these parts are no failure, for example "status of 404"."""
        self.expected += parts

    def hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.messages.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    def unexpected(self) -> list[str]:
        return [text for text in self.messages if not any(part in text for part in self.expected)]


THEMES: tuple[str, ...] = ("light", "dark")
if os.environ.get("MEMORYHUB_TEST_DATABASE") == "postgres":
    THEMES = ()  # what axe looks at does not depend on the database

COLOUR_RULES = {"color-contrast": "*", "link-in-text-block": "a[href]"}
"""What depends on colours, and of which elements; all other rules are about the page in any theme."""

WIDTHS = (1440, 390, 320)
FONTS = ("", "DejaVu Sans", "DejaVu Sans Mono")
"""The hub's own choice, and what a machine may have instead: a broad font, and a very wide one."""


def axe(page: Page, *, only: tuple[str, ...] = THEMES, always: bool = False) -> None:
    """Fails if axe finds anything on the page, in light or in dark. In the short form, about each fifth call looks,
    unless it says `always`: the same ones in each run.

    The contrast of each combination of a text's colour and size and of the backgrounds around it is measured once.
    """
    for scheme in only if always or is_turn(5) else ():
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        results = AxeResults(_run_axe(page, {"everything": scheme == only[0]}))
        assert not results.violations_count, f"{page.url} in {scheme}:\n{results.generate_report()}"


def _run_axe(page: Page, options: dict[str, Any]) -> dict[str, Any]:
    """What axe says of the page; where a key or a click has just started a navigation, of the page it leads to.

    A navigation takes the loaded axe, or a run of it, away at any moment: then it begins again, a few times.
    """
    for _ in range(4):
        with suppress(Error):
            return _load_and_run_axe(page, options)
        page.wait_for_load_state()
    return _load_and_run_axe(page, options)


_READABLE = run_directory() / "readable"
"""The hashes of the combinations of colours in which axe has found a text readable, in any process of the run."""


def _load_and_run_axe(page: Page, options: dict[str, Any]) -> dict[str, Any]:
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE_SCRIPT)
    passed = [int(value) for value in _READABLE.read_text().split()] if _READABLE.exists() else []
    results: dict[str, Any] = page.evaluate(_VIOLATIONS, {**options, "colours": COLOUR_RULES, "passed": passed})
    with _READABLE.open("a") as file:
        file.write("".join(f"{value}\n" for value in results.pop("passed")))
    return results


_VIOLATIONS = """async ({ everything, colours, passed }) => {
    const known = new Set(passed), backgrounds = new Map(), elements = new Map()

    function hash(text) {
        let value = 0x811c9dc5
        for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
        return value
    }
    function behind(element) {
        if (!element) return ''
        if (!backgrounds.has(element)) {
            const { backgroundColor, backgroundImage, opacity, position, filter } = getComputedStyle(element)
            const own = [backgroundColor, backgroundImage, opacity, position, filter].join()
            const plain = own === 'rgba(0, 0, 0, 0),none,1,static,none'
            backgrounds.set(element, behind(element.parentElement) + (plain ? '' : `|${own}`))
        }
        return backgrounds.get(element)
    }
    function combination(element) {
        const { color, fontSize, fontWeight, textShadow, textDecorationLine, display } = getComputedStyle(element)
        const around = element.closest('a') ? [getComputedStyle(element.parentElement).color, display,
            textDecorationLine, hasText(element.parentElement)] : []
        return hash([color, fontSize, fontWeight, textShadow, around, behind(element)].join(' '))
    }
    const hasText = element => [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())
    const isSeen = element => element.checkVisibility({ opacityProperty: true, visibilityProperty: true })
        && element.getBoundingClientRect().width > 1

    for (const element of document.body.querySelectorAll('*')) {
        if ((hasText(element) || element.matches('input, select, textarea')) && isSeen(element)) {
            const value = combination(element)
            if (!known.has(value)) elements.set(value, [...(elements.get(value) ?? []), element])
        }
    }
    axe.addReporter('measured', (results, options, done) => {
        const measured = results.filter(rule => rule.id === 'color-contrast').flatMap(rule => rule.passes)
        const readable = measured.map(({ node }) => combination(node.element))
        axe.getReporter('v2')(results, options, ({ violations }) => done({ violations, readable }))
    })
    axe.configure({ rules: Object.entries(colours).map(([id, of]) => ({ id, selector: `${of}[data-measured]` })) })

    const violations = [], now = new Set()
    async function run(measured, rules) {
        const marked = measured.flatMap(element => [element, element.closest('a') ?? element])
        for (const element of marked) element.dataset.measured = ''
        const results = await axe.run({ resultTypes: ['violations'], preload: false, reporter: 'measured', ...rules })
        for (const element of marked) delete element.dataset.measured
        violations.push(...results.violations)
        for (const value of results.readable) now.add(value)
    }
    const only = { runOnly: { type: 'rule', values: Object.keys(colours) } }
    const first = [...elements.values()].map(([element]) => element)
    if (everything || first.length) await run(first, everything ? {} : only)
    const others = [...elements].flatMap(([value, [, ...others]]) => now.has(value) ? [] : others)
    if (others.length) await run(others, only)
    return { violations, passed: [...now] }
}"""


def fits(page: Page, widths: tuple[int, ...] = WIDTHS) -> None:
    """Fails if the page scrolls sideways on a desk, a telephone or at 320 pixels, whatever font the machine has.

    Other fonts than the hub's own are tried at the smallest width, where the least of a broad one has room. In the
    short form, about each third call looks at each of the other widths.
    """
    for width in widths:
        if width != min(widths) and not is_turn(3):
            continue
        if page.viewport_size != {"width": width, "height": 900}:
            page.set_viewport_size({"width": width, "height": 900})
        fonts = FONTS if width == min(widths) else FONTS[:1]
        for font, wide in zip(fonts, page.evaluate(_WIDE_IN_EACH_FONT, fonts), strict=True):
            assert wide <= width, f"{page.url} is {wide} pixels wide at {width} in {font or 'its own font'}"
    page.set_viewport_size({"width": 1440, "height": 900})


_WIDE_IN_EACH_FONT = """fonts => fonts.map(font => {
    const { style } = document.documentElement
    font ? style.setProperty('--font-ui', `"${font}"`) : style.removeProperty('--font-ui')
    const wide = document.documentElement.scrollWidth
    style.removeProperty('--font-ui')
    return wide
})"""


def press(page: Page, *keys: str) -> None:
    """Presses keys on a page whose scripts have run: a key that comes before them is nobody's."""
    for key in keys:
        page.wait_for_load_state()
        page.keyboard.press(key)


def sign_in_as(context: BrowserContext, user: User, address: str) -> None:
    """Gives the browser the session of a person who has signed in at this address."""
    cookie = signed_in(user).cookies[settings.SESSION_COOKIE_NAME]
    context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": address}])


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's Chromium, or the sentence that says why the test is skipped."""
    path = find_chromium()
    if path is None:
        if os.environ.get("MEMORYHUB_REQUIRE_BROWSER"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    return {**browser_type_launch_args, "executable_path": path, "args": FLAGS}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """A person's desktop, without animations."""
    own = {"viewport": {"width": 1440, "height": 900}, "locale": "en-GB", "reduced_motion": "reduce"}
    return {**browser_context_args, **own}


@pytest.fixture(scope="session")
def live_server() -> Iterator[LiveServer]:
    """The hub in a thread, with the static files as `collectstatic` leaves them: two for each page, not fifty."""
    with override_settings(STATIC_ROOT=collected()):
        server = LiveServer("localhost", start=False)
        server.thread.static_handler = lambda hub: hub  # the hub's own middleware answers, as where it is shipped
        server.start()
    yield server
    server.stop()


@pytest.fixture
def joined() -> Iterator[None]:
    """Pages link the joined static files."""
    with override_settings(STATIC_ROOT=collected(), STORAGES=settings.STORAGES | {"staticfiles": SHIPPED}):
        yield


@pytest.fixture(scope="session")
def lasting_context(
    browser: Browser, browser_context_args: dict[str, Any], live_server: LiveServer
) -> Iterator[BrowserContext]:
    """One whose first page stays open, so that its process does, with the scripts and styles that it has read."""
    context = browser.new_context(**browser_context_args)
    context.new_page().goto(f"{live_server.url}/livez")
    yield context
    context.close()


@pytest.fixture
def context(lasting_context: BrowserContext, live_server: LiveServer) -> Iterator[BrowserContext]:
    """The one of all tests: it keeps the files that it has read, and nothing else of a test."""
    yield lasting_context
    first, *others = lasting_context.pages
    for page in others:
        page.close()
    lasting_context.set_offline(False)
    lasting_context.unroute_all()
    lasting_context.clear_cookies()
    first.evaluate("localStorage.clear()")


@pytest.fixture
def console() -> Console:
    """What the test's page says on the console."""
    return Console()


@pytest.fixture
def page(context: BrowserContext, console: Console, joined: None) -> Iterator[Page]:
    """A page that fails the test if it logs an error or a warning, violates its policy or raises."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.on("console", console.hear)
    page.on("pageerror", lambda error: console.messages.append(f"uncaught: {error}"))
    yield page
    assert not console.unexpected(), "\n".join(console.unexpected())
