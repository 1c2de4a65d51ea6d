"""The pages of path rules: who sees and edits them, what other rules would have done, and which rule decides."""

import json
from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.actions.core.audit import Act
from memoryhub.actions.erasure import erasure
from memoryhub.actions.stores import path_rules, stores
from memoryhub.models import Agent, AuditEntry, Key, MemoryStore, Role, User
from memoryhub.pure.path_rules import Effect, PathRule, Verb
from memoryhub.web.path_rules.forms import typed
from tests.api.harness import Hub, assert_audit_is_right
from tests.support.fixtures import BY, new_person, signed_in

pytestmark = pytest.mark.django_db

WHY = "Policies are changed by people."
ALL = tuple(verb.value for verb in Verb)


def listed(store: MemoryStore) -> str:
    return reverse("path_rules", args=[store.pk])


def editor(store: MemoryStore) -> str:
    return reverse("edit_path_rules", args=[store.pk])


def row(pattern: str, *, verbs: Sequence[str] = ALL, **more: str) -> dict[str, Any]:
    """What a person types for one rule."""
    return {"effect": "refuse", "verbs": list(verbs), "pattern": pattern, "who": "", "reason": "", **more}


def form(client: Client, store: MemoryStore, act: str, *rows: dict[str, Any], **more: str) -> Any:
    """Submits these rows with a button."""
    data: dict[str, Any] = {f"form-{n}-{name}": value for n, one in enumerate(rows) for name, value in one.items()}
    data |= {"form-TOTAL_FORMS": len(rows), "form-INITIAL_FORMS": 0, "act": act} | more
    return client.post(editor(store), data)


def tried_and_saved(client: Client, store: MemoryStore, *rows: dict[str, Any]) -> Any:
    tried = form(client, store, "try", *rows)
    return form(client, store, "save", *rows, seen=tried.context["seen"], opened=tried.context["opened"])


def test_without_rules_an_answer_speaks_of_none(store: MemoryStore, alice: User) -> None:
    asked = signed_in(alice).get(listed(store), {"path": "/a.md", "verb": "create"}).content.decode()
    assert "There are no rules, so the change is allowed.</p>" in asked and "The list above" not in asked


def patterns(response: Any) -> list[str]:
    return [one["pattern"].value() for one in response.context["form"]]


def rules_of(store: MemoryStore) -> list[dict[str, Any]]:
    return MemoryStore.objects.get(pk=store.pk).path_rules  # type: ignore[no-any-return]


@pytest.fixture
def hub(store: MemoryStore, key: str) -> Hub:
    return Hub(store, key)


def test_everyone_with_a_role_sees_the_rules_and_only_an_admin_edits_them(
    store: MemoryStore, alice: User, bob: User, charlie: User
) -> None:
    path_rules.save(store.pk, [PathRule(Effect.REFUSE, "/policies/", reason=WHY)], path_rules.digest([]), Act(**BY))
    viewer = new_person("Vera")
    keys_and_roles.set_role(store, viewer, Role.VIEWER, **BY)
    for person, seen, edited in ((alice, 200, 200), (bob, 200, 403), (viewer, 200, 403), (charlie, 404, 404)):
        client = signed_in(person)
        assert client.get(listed(store)).status_code == seen
        assert client.get(editor(store)).status_code == edited
        assert form(client, store, "save").status_code == edited
    html = signed_in(viewer).get(listed(store)).content.decode()
    assert "No agent may create, change, delete or rename any memory under /policies/." in html and WHY in html
    assert editor(store) not in html
    assert editor(store) in signed_in(alice).get(listed(store)).content.decode()
    asked = signed_in(alice).get(listed(store), {"path": "/other/a.md", "verb": "create"}).content.decode()
    assert "No rule matches, so the change is allowed. The list above says" in asked
    of_store = reverse("store", args=[store.pk])
    assert f'href="{listed(store)}"' in signed_in(viewer).get(of_store).content.decode(), "a tab leads to them"


def test_rules_are_saved_after_what_they_would_have_done_was_shown(hub: Hub, alice: User) -> None:
    hub.call(command="create", path="/memories/policies/a.md", file_text="one")
    hub.call(command="str_replace", path="/memories/policies/a.md", old_str="one", new_str="two")
    hub.call(command="create", path="/memories/notes/b.md", file_text="x")
    client = signed_in(alice)
    rows = (row("/policies/", reason=f"  {WHY} "), row("/tickets/**", effect="allow", verbs=["create"]))
    unseen = form(client, hub.store, "save", *rows)
    assert unseen.status_code == 200 and unseen.context["asks"] and rules_of(hub.store) == []
    outcome = unseen.context["outcome"]
    assert (outcome.calls, outcome.refused, outcome.more, outcome.fewer) == (3, 2, 2, 0)
    assert [(group.number, group.calls, [path for path, _ in group.examples]) for group in outcome.groups] == [
        (1, 2, ["/policies/a.md"])
    ]
    html = unseen.content.decode()
    for sentence in ("tried on 3 changes that agents made", "2 would have been refused", "2 changes refused by rule 1"):
        assert sentence in html
    saved = tried_and_saved(client, hub.store, *rows)
    assert (saved.status_code, saved.url) == (303, listed(hub.store))
    assert rules_of(hub.store) == [
        PathRule(Effect.REFUSE, "/policies/", reason=WHY).as_json(),
        PathRule(Effect.ALLOW, "/tickets/**", frozenset({Verb.CREATE})).as_json(),
    ]
    assert hub.call(command="delete", path="/memories/policies/a.md")[1].endswith(WHY)
    other = form(client, hub.store, "try", row("/nothing/"))
    assert (other.context["outcome"].calls, other.context["outcome"].fewer) == (4, 1)
    assert "1 change that was refused or became a proposal would have been allowed" in other.content.decode()
    assert_audit_is_right(hub.store)


def test_a_draft_that_was_changed_after_it_was_tried_is_tried_again(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    tried = form(client, store, "try", row("/a/"))
    again = form(client, store, "save", row("/b/"), seen=tried.context["seen"], opened=tried.context["opened"])
    assert again.status_code == 200 and again.context["asks"] and rules_of(store) == []


def test_rows_are_added_moved_and_removed_without_scripts(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    rows = [row("/a/"), row("not a path", verbs=[]), row("/c/")]
    for act, expected in (
        ("add", ["/a/", "not a path", "/c/", "/"]), ("up-1", ["not a path", "/a/", "/c/"]),
        ("down-1", ["/a/", "/c/", "not a path"]), ("remove-1", ["/a/", "/c/"]), ("up-0", ["/a/", "not a path", "/c/"]),
        ("down-9", ["/a/", "not a path", "/c/"]), ("remove-x", ["/a/", "not a path", "/c/"]),
        ("burn-1", ["/a/", "not a path", "/c/"]),
    ):  # fmt: skip
        response = form(client, store, act, *rows)
        assert (response.status_code, patterns(response)) == (200, expected), act
        assert response.content.decode().count('tabindex="-1" autofocus') == 1
    moved = form(client, store, "down-1", *rows).content.decode()
    assert 'id="rule-3" tabindex="-1" autofocus' in moved
    assert rules_of(store) == []


def test_what_is_wrong_with_a_row_is_said_beside_it(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    for wrong, sentence in (
        (row("policies/"), "A pattern begins with a slash"),
        (row("/a/", verbs=[]), "Tick at least one."),
        (row("/a/", reason="x" * 301), "300"),
        (row("/a/", effect="burn"), "burn"),
        (row("/a/", who="a\0b"), "Select a valid choice"),
        (row("/a/", who="agent_" + "x" * 9000), "Select a valid choice"),
        (row("/a/", reason="a\u202eb"), "cannot be seen"),
    ):
        response = form(client, store, "save", wrong)
        assert response.status_code == 200 and sentence in response.content.decode(), wrong
    assert client.post(editor(store), {"act": "save"}).status_code == 200
    assert rules_of(store) == []


def test_a_question_about_a_path_as_agents_write_it_is_answered_for_that_path(store: MemoryStore, alice: User) -> None:
    path_rules.save(store.pk, [PathRule(Effect.REFUSE, "/policies/")], path_rules.digest([]), Act(**BY))
    asked = signed_in(alice).get(listed(store), {"path": "/memories/policies/a.md", "verb": "create"})
    html = asked.content.decode()
    assert 'value="/policies/a.md"' in html and "so the change is allowed" not in html


def test_a_rival_change_is_shown_and_the_draft_is_kept(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    tried = form(client, store, "try", row("/mine/"))
    rival = [PathRule(Effect.REFUSE, "/theirs/")]
    path_rules.save(store.pk, rival, path_rules.digest([]), Act(**BY))
    seen = {"seen": tried.context["seen"], "opened": tried.context["opened"]}
    response = form(client, store, "save", row("/mine/"), **seen)
    html = response.content.decode()
    assert response.status_code == 200 and patterns(response) == ["/mine/"]
    assert "Someone else has changed the rules in the meantime" in html and "any memory under /theirs/" in html
    assert rules_of(store) == [rival[0].as_json()]
    again = form(client, store, "save", row("/mine/"), seen=response.context["seen"], opened=response.context["opened"])
    assert again.status_code == 303 and [one["pattern"] for one in rules_of(store)] == ["/mine/"]


def test_a_question_says_which_rule_decides_and_why_the_others_do_not(
    store: MemoryStore, alice: User, key: str
) -> None:
    agent, its_key = Agent.objects.get(), Key.objects.get()
    rules = [
        PathRule(Effect.ALLOW, "/policies/", frozenset({Verb.EDIT}), agent.pk),
        PathRule(Effect.REFUSE, "/policies/"),
        PathRule(Effect.REFUSE),
    ]
    path_rules.save(store.pk, rules, path_rules.digest([]), Act(**BY))
    client = signed_in(alice)
    for who, verb, path, number, whys in (
        (agent.pk, "edit", "/policies/a.md", 1,
         ["This rule decides.", *["This rule matches too, but rule 1 comes first."] * 2]),
        (its_key.pk, "delete", "/policies/a.md", 2,
         ["This rule is about other changes.", "This rule decides.", "This rule matches too, but rule 2 comes first."]),
        ("", "edit", "/b.md", 3,
         ["This rule is for another agent.", "This rule is about other paths.", "This rule decides."]),
    ):  # fmt: skip
        response = client.get(listed(store), {"who": who, "verb": verb, "path": path})
        assert response.context["decision"].number == number
        assert [one.why for one in response.context["rules"]] == whys
    assert "Rule 3 refuses the change." in response.content.decode()
    assert "A path begins with a slash" in client.get(listed(store), {"path": "b.md"}).content.decode()
    for hostile in ({"path": "/x", "verb": "burn", "who": "é"}, {"path": "/" + "x" * 9000}, {"path": "/a\u202eb"}):
        assert client.get(listed(store), hostile).status_code == 200


@pytest.mark.parametrize(("pattern", "has_rest"), [("/policies/", True), ("", False)])
def test_nothing_else_is_said_to_be_allowed_where_a_rule_covers_everything(
    store: MemoryStore, alice: User, pattern: str, has_rest: bool
) -> None:
    path_rules.save(store.pk, [PathRule(Effect.PROPOSE, pattern)], path_rules.digest([]), Act(**BY))
    page = signed_in(alice).get(reverse("path_rules", args=[store.pk])).content.decode()
    assert ("If no rule matches a change, every agent may make it." in page) is has_rest


def test_a_rule_typed_in_decomposed_letters_protects_its_directory(hub: Hub, alice: User) -> None:
    """Some systems write names like this; the paths of memories are composed."""
    client, directory = signed_in(alice), normalize("NFD", "/Café/")
    hub.call(command="create", path="/memories/Café/menu.md", file_text="Soup\n")
    assert tried_and_saved(client, hub.store, row(directory)).status_code == 303
    assert rules_of(hub.store)[0]["pattern"] == "/Café/"
    assert hub.call(command="delete", path="/memories/Café/menu.md")[0] == "err"
    asked = client.get(listed(hub.store), {"path": f"{directory}menu.md", "verb": "delete"})
    assert asked.context["decision"].number == 1


@pytest.mark.both_databases
def test_earlier_rules_are_compared_and_can_be_used_again(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    tried_and_saved(client, store, row("/a/", reason="first"))
    tried_and_saved(client, store, row("/b/"))
    response = client.get(listed(store))
    newest, oldest = response.context["earlier"]
    assert [(line.sign, line.sentence) for line in newest.lines] == [
        ("-", "No agent may create, change, delete or rename any memory under /a/. “first”"),
        ("+", "No agent may create, change, delete or rename any memory under /b/."),
    ]
    assert newest.is_current and oldest.count == 1
    back = f"{editor(store)}?from={oldest.entry.seq}"
    assert back in response.content.decode()
    assert patterns(client.get(back)) == ["/a/"]
    for other in ("0", "1", "x", "9" * 30):
        assert patterns(client.get(f"{editor(store)}?from={other}")) == ["/b/"]
    entry = AuditEntry.objects.of_chain(store.pk).newest()[0]
    assert (
        "changed the path rules: there is now 1 rule"
        in client.get(reverse("entry", args=[store.pk, entry.seq])).content.decode()
    )


def test_a_memory_and_a_directory_lead_to_a_rule_for_them(hub: Hub, alice: User, bob: User) -> None:
    hub.call(command="create", path="/memories/policies/a b.md", file_text="one")
    memory = hub.store.memories.get()
    places = ((reverse("memory", args=[hub.store.pk, memory.pk]), "%2Fpolicies%2Fa%20b.md", "/policies/a b.md"),
              (reverse("directory", args=[hub.store.pk, "policies"]), "%2Fpolicies%2F", "/policies/"))  # fmt: skip
    for page, query, pattern in places:
        link = f"{editor(hub.store)}?protect={query}"
        assert link in signed_in(alice).get(page).content.decode()
        assert link not in signed_in(bob).get(page).content.decode()
        assert patterns(signed_in(alice).get(link)) == [pattern]


def test_the_first_rule_is_begun_with_one_press(store: MemoryStore, alice: User) -> None:
    page = signed_in(alice).get(reverse("path_rules", args=[store.pk])).content.decode()
    link = f"{editor(store)}?ask=/"
    assert f'href="{link}"' in page
    assert patterns(signed_in(alice).get(link)) == ["/"]


def test_a_rule_for_one_memory_that_is_not_there_says_so_before_it_is_saved(hub: Hub, alice: User) -> None:
    hub.call(command="create", path="/memories/policies/refunds.md", file_text="one")
    client = signed_in(alice)
    rows = [row(pattern) for pattern in ("/policies", "/policies/", "/policies/refunds.md", "/*", "")]
    tried = form(client, hub.store, "try", *rows).content.decode()
    assert "Rule 1 covers only one memory, at /policies, and no memory is there now." in tried
    assert "write /policies/ with a slash at the end" in tried
    assert tried.count("covers only one memory") == 1


def test_an_archived_store_keeps_its_rules(store: MemoryStore, alice: User) -> None:
    stores.set_archived(store, True, **BY)
    response = tried_and_saved(signed_in(alice), store, row("/a/"))
    assert response.status_code == 200 and "archived" in response.content.decode() and rules_of(store) == []


def test_counts_of_a_form_that_nobody_made_do_no_harm() -> None:
    for total in ("", "x", "-1", "9" * 50, "٣"):
        assert typed(QueryDict(f"form-TOTAL_FORMS={total}")) == []


def test_rules_of_a_key_that_is_gone_keep_its_name(store: MemoryStore, alice: User, key: str) -> None:
    its_key = Key.objects.select_related("agent").get()
    path_rules.save(store.pk, [PathRule(Effect.REFUSE, "/a/", who=its_key.pk)], path_rules.digest([]), Act(**BY))
    keys_and_roles.revoke_key(its_key, **BY)
    client = signed_in(alice)
    name = f"{its_key.agent.name} with the key …{its_key.hint}"
    assert f"{name} may not create" in client.get(listed(store)).content.decode()
    assert name in client.get(editor(store)).content.decode()
    assert json.loads(json.dumps(rules_of(store)))[0]["who"] == its_key.pk


def test_earlier_rules_that_an_erasure_has_masked_are_named_and_not_offered(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    tried_and_saved(client, store, row("/customers/edit/", reason="edit Kovács is a customer"))
    tried_and_saved(client, store, row("/b/"))
    oldest = AuditEntry.objects.of_chain(store.pk).of_command("edit_path_rules").oldest()[0]
    found = erasure.search(store.pk, ["edit"], BY["at"])
    erasure.erase(store.pk, ["edit"], found.digest, Act(**BY))
    html = client.get(listed(store)).content.decode()
    assert "An erasure removed words of these rules." in html and "Use these again" not in html
    assert patterns(client.get(editor(store), {"from": oldest.seq})) == ["/b/"]
    assert_audit_is_right(store)


def test_a_form_that_a_link_filled_in_with_more_freedom_says_so(store: MemoryStore, alice: User) -> None:
    client = signed_in(alice)
    tried_and_saved(client, store, row("/policies/"))
    said = "The link that you opened has filled in this form"
    assert said in client.get(f"{editor(store)}?allow=/").content.decode()
    for harmless in ("", "?protect=/", "?allow=policies"):
        assert said not in client.get(f"{editor(store)}{harmless}").content.decode()
