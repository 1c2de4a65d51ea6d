"""The demo's story: the agents' sessions and calls, over three weeks that end now."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from memoryhub.demo import texts

Input = dict[str, Any]

SUPPORT, CODE, RESEARCH = "support-assistant", "code-companion", "research-scout"
SERVICE, WORKSHOP = "Customer service", "Engineering notebook"
PRODUCTION, READ_ONLY = "production", "evening, read only"
DAYS = 21


@dataclass(frozen=True, slots=True)
class Run:
    """One session of an agent: how long ago it began, and its calls."""

    agent: str
    store: str
    session: str
    ago: timedelta
    calls: list[Input]
    key: str = PRODUCTION


def view(path: str = "", **more: Any) -> Input:
    return {"command": "view", "path": f"/memories{path}", **more}


def create(path: str, text: str) -> Input:
    return {"command": "create", "path": f"/memories{path}", "file_text": text}


def replace(path: str, old: str, new: str) -> Input:
    return {"command": "str_replace", "path": f"/memories{path}", "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> Input:
    return {"command": "insert", "path": f"/memories{path}", "insert_line": line, "insert_text": text}


def rename(path: str, new_path: str) -> Input:
    return {"command": "rename", "old_path": f"/memories{path}", "new_path": f"/memories{new_path}"}


def delete(path: str) -> Input:
    return {"command": "delete", "path": f"/memories{path}"}


def runs() -> list[Run]:
    """Return all sessions, the oldest first."""
    return sorted([*_service(), *_workshop(), *_research()], key=lambda run: run.ago, reverse=True)


def _service() -> Iterator[Run]:
    yield _run(SUPPORT, SERVICE, "ticket-4401", DAYS, 9, [
        view(), create("/customer_service_guidelines.xml", texts.GUIDELINES),
        create("/refund_policies.xml", texts.REFUNDS), create("/customers/acme.md", texts.ACME),
        create("/customers/northwind.md", texts.NORTHWIND), create("/known_problems.md", texts.ON_CALL), view(),
    ])  # fmt: skip
    yield _run(SUPPORT, SERVICE, "ticket-4402", DAYS, 11, [
        view(), create("/customers/高橋文具店.md", texts.JAPANESE), view("/customers"),
        view("/customers/takahashi.md"), view("/customers/高橋文具店.md"),
    ])  # fmt: skip
    yield from _tickets(Random(7))
    yield _run(SUPPORT, SERVICE, "ticket-4477", 9, 15, [
        view(), view("/refund_policies.xml"),
        replace("/refund_policies.xml", "- Up to 120 EUR: decide alone\n- Above 120 EUR: ask the shift lead",
                "- Up to 150 EUR: decide alone\n- Above 150 EUR: ask the shift lead"),
        create("/refund_policies.xml", texts.REFUNDS), view("/refund_policies.xml"),
        create("/bank_account.md", texts.BANK),
    ])  # fmt: skip
    yield _run(SUPPORT, SERVICE, "ticket-4498", 2, 10, [
        view(), view("/customers/northwind.md"), view("/refund_policies.xml"),
        replace("/refund_policies.xml", "</limits>", texts.POISONED + "</limits>"),
        insert("/customers/northwind.md", 7, "- Forwarded a message that says how refunds are handled now."),
    ])  # fmt: skip
    yield _run(SUPPORT, SERVICE, "ticket-4503", 1, 9, [
        view(), view("/customer_service_guidelines.xml"), view("/refund_policies.xml"),
        create("/tickets/4503.md", "# 4503 high refund\n\nRefunded 460 EUR without asking, as the policies say.\n"
               "To the card 4111 1111 1111 1111.\n"),
    ])  # fmt: skip
    yield _run(SUPPORT, SERVICE, "ticket-4507", 0, 3, [
        view(), view("/customer_service_guidelines.xml"), view("/known_problems.md", view_range=[1, 4]),
        replace("/known_problems.md", "| Delayed confirmation e-mails | Tuesday | The order is safe; the e-mail comes "
                "within 6 hours |\n", ""),
        rename("/known_problems.md", "/operations/known_problems.md"), view("/operations"),
    ])  # fmt: skip


def _tickets(random: Random) -> Iterator[Run]:
    """Yield ordinary sessions: read the guidelines, write down a ticket, add the ticket to the customer's memory."""
    for number, day in enumerate(range(DAYS - 1, 2, -1)):
        ticket = 4410 + number * 4
        topic, what = texts.TOPICS[number % len(texts.TOPICS)]
        customer = random.choice(("acme", "northwind"))
        path = f"/tickets/{ticket}.md"
        calls = [
            view(), view("/customer_service_guidelines.xml"),
            create(path, f"# {ticket} {topic}\n\nCustomer: {customer}\n\n{what}\n\nStatus: open\n"),
            insert(f"/customers/{customer}.md", 7, f"- Ticket {ticket}: {topic}"),
            replace(path, "Status: open", "Status: answered"),
        ]  # fmt: skip
        if number % 3 == 0:
            calls.append(replace(f"/customers/{customer}.md", "- ", "* "))
        if number % 4 == 1:
            calls += [view("/tickets"), delete(f"/tickets/{ticket - 4}.md"), view(f"/tickets/{ticket - 4}.md")]
        if number % 5 == 2:
            calls.append(view(f"/tickets/../{customer}.md"))
        yield _run(SUPPORT, SERVICE, f"ticket-{ticket}", day, random.randint(8, 17), calls)


def _workshop() -> Iterator[Run]:
    yield _run(CODE, WORKSHOP, "scraper-1", DAYS, 14, [
        view(), create("/scraper/README.md", texts.PROJECT), create("/scraper/progress.md", texts.PROGRESS),
        create("/preferences.md", texts.PREFERENCES), view("/scraper"),
    ])  # fmt: skip
    yield _run(CODE, WORKSHOP, "scraper-2", 18, 10, [
        view(), view("/scraper/progress.md"), create("/scraper/bugs/timeout.md", texts.TIMEOUT),
        replace("/scraper/progress.md", "## Next\n", "## Next\n- [ ] Waits that grow (see bugs/timeout.md)\n"),
    ])  # fmt: skip
    yield _run(CODE, WORKSHOP, "scraper-3", 16, 16, [
        view(), view("/scraper/bugs/timeout.md"),
        insert("/scraper/bugs/timeout.md", 16, "\nFix: wait 1, 2, 4, 8 seconds; give up a shop, not the run."),
        replace("/scraper/progress.md", "- [ ] Waits that grow (see bugs/timeout.md)\n", ""),
        replace("/scraper/progress.md", "## Next\n", "- [x] Waits that grow\n\n## Next\n"),
        create("/.scratch/plan.md", "1. reproduce with a slow local server\n2. patch fetch.py\n3. run all tests\n"),
        delete("/.scratch"),
    ])  # fmt: skip
    for number, shop in enumerate(texts.SHOPS):
        yield _run(CODE, WORKSHOP, f"scraper-{number + 4}", 14 - number * 3, 9 + number, [
            view(), view("/scraper/progress.md"),
            create(f"/scraper/shops/{shop}.md", _shop(shop, number)),
            replace("/scraper/progress.md", f"- [x] Parsers for {7 + number} of 12 shops",
                    f"- [x] Parsers for {8 + number} of 12 shops"),
            view("/scraper/progress.md", view_range=[1, 8]),
            *([insert("/scraper/progress.md", 400, "- [ ] Ask the shop for an export")] if number == 2 else []),
        ])  # fmt: skip
    yield _run(CODE, WORKSHOP, "scraper-9", 1, 18, [
        view(), view("/preferences.md"), rename("/scraper/bugs", "/scraper/solved"), view("/scraper"),
        replace("/preferences.md", "- Small commits, each with its test",
                "- Small commits, each with its test\n- Reviews in the morning, never on a Friday afternoon"),
        create("/scraper/proxy.md", texts.PROXY),
    ])  # fmt: skip
    yield Run(CODE, WORKSHOP, "scraper-10", timedelta(hours=2), [
        view("/preferences.md"),
        replace("/preferences.md", "- Small commits, each with its test\n",
                "- Small commits, each with its test\n- Never push without running the tests\n"),
        create("/preferences/scraper.md", "# Scraper\n\n- Ask before a shop is read more than once a day\n"),
    ])  # fmt: skip


def _shop(shop: str, number: int) -> str:
    return (
        f"# {shop}\n\n- Price: `span.price` {'with' if number % 2 else 'without'} a currency sign\n"
        f"- Pages: {12 + number * 7}, about {2 + number} seconds each\n"
        f"- Blocks after {300 + number * 50} requests an hour\n"
    )


_OPINIONS = (
    ("| Reflexion | no | |", "| Reflexion | yes | verbal feedback works |"),
    ("| Reflexion | no | |", "| Reflexion | yes | |"),
    ("tables only |", "tables only, skip it |"),
    ("reflection step is the point", "the reflection step is the point, and costs the most tokens"),
    ("| MemGPT | yes |", "| MemGPT | twice |"),
    ("| Survey part 4 | yes |", "| Survey part 4 | partly |"),
)


def _research() -> Iterator[Run]:
    yield _run(RESEARCH, WORKSHOP, "reading-1", 19, 20, [
        view(), create("/reading/papers.md", texts.PAPERS), create("/reading/notes/memgpt.md", texts.MEMGPT),
    ])  # fmt: skip
    for number, day in enumerate(range(17, 1, -3)):
        yield _run(RESEARCH, WORKSHOP, f"reading-{number + 2}", day, 20, [
            view(), view("/reading"), view("/reading/papers.md"),
            insert("/reading/papers.md", 7, f"| Survey part {number + 1} | yes | tables only |"),
            replace("/reading/papers.md", *_OPINIONS[number]),
        ])  # fmt: skip
    yield Run(RESEARCH, WORKSHOP, "reading-9", timedelta(hours=5), [
        view("/reading/papers.md"), delete("/reading/notes"),
    ], READ_ONLY)  # fmt: skip


def _run(agent: str, store: str, session: str, day: int, hour: int, calls: list[Input]) -> Run:
    """Return a session that began `day` days ago, at `hour`. For today (0), it began some minutes ago."""
    return Run(agent, store, session, timedelta(days=day, hours=(20 - hour) if day else 0, minutes=hour * 7), calls)
