"""Roles and forms: every address that takes a form is in a table with the least role, and refuses the role below it."""

from collections.abc import Mapping

import pytest
from django.db import transaction
from django.test import Client

from memoryhub.actions.accounts import keys_and_roles
from memoryhub.models import MemoryStore, Role, User
from tests.api.harness import row_counts
from tests.support.fixtures import BY, new_person, signed_in
from tests.test_charlie import (
    ANYONE,
    PAGES,
    Address,
    values,  # noqa: F401
)

pytestmark = pytest.mark.django_db

VIEWER, CURATOR, ADMIN, SUPERUSER = "viewer", "curator", "admin", "superuser"
BELOW = {CURATOR: VIEWER, ADMIN: CURATOR, SUPERUSER: ADMIN}

FORMS: Mapping[str, str] = {
    VIEWER: """
        download_memory selection export_trash export_versions export_life_line viewed put_away_comment export_store
        export_store_overview
        account change_password export_agents export_audit export_overview undo_decisions decide_many
        decide_all_findings save_view rename_view delete_view export_search mail_choices end_other_browsers
        end_browser second_step add_app begin_passkey add_passkey remove_authenticator
    """,
    CURATOR: """
        rename_directory delete_directory new_memory edit_memory rename_memory delete_memory restore_version comments
        answer_comment decide assign claim assign_proposal claim_proposal undo_decision flag restore_moment undo_session
        undo_entry undo_version undo_import decide_findings take_out reveal holds proposals_together
        proposal new_import choose_import leave_folder_out start_import cancel_import try_call replay_session
    """,
    ADMIN: """
        revoke_key replace_key members set_role leaving withdraw_store_invitation store_keys edit_store archive_store
        limits erase_everywhere erase redact_version receipts download_receipt scans cancel_scan rules new_policy policy
        delete_policy export_rehearsal start_run allow_run cancel_run undo_run edit_path_rules new_store_webhook
        edit_webhook delete_webhook pause_webhook resume_webhook rotate_webhook reveal_webhook test_webhook
        retention_certificate export_held release_hold remove_memories replay_failed replay_delivery new_claude_run
        stop_claude_run continue_claude_run propose_claude_run claude_preset start_claude_evaluation
        stop_claude_evaluation allow_act refuse_act withdraw_act every_receipt
    """,
    SUPERUSER: """
        hide_first_steps invite_person withdraw_invitation set_active deactivate password_link new_agent edit_agent
        issue_key new_store copy_store delete_store hub_limits hub_background scrub_now hub_rules new_hub_policy
        new_webhook verify_now hub_backups back_up_now hub_claude test_mail
        remove_authenticators browsers_of set_second_person administrator
    """,
}
"""{the least role, in the memory store of the address if it has one: the names of the addresses}. What a person may do
in several memory stores at once is decided for each of them: these addresses are open to viewers."""

UNKNOWN = {
    "new_claude_run", "stop_claude_run", "continue_claude_run", "propose_claude_run", "claude_preset",
    "start_claude_evaluation", "stop_claude_evaluation", "allow_act", "refuse_act", "withdraw_act",
}  # fmt: skip
"""For who may not run Claude, or decide about an act, these do not exist."""

LEAST = {name: role for role, names in FORMS.items() for name in names.split()}


@pytest.fixture
def people(store: MemoryStore, alice: User, bob: User, superuser: User) -> dict[str, Client]:
    curator = new_person("Carla")
    keys_and_roles.set_role(store, curator, Role.CURATOR, **BY)
    return {
        VIEWER: signed_in(bob), CURATOR: signed_in(curator), ADMIN: signed_in(alice), SUPERUSER: signed_in(superuser),
    }  # fmt: skip


def sent(client: Client, address: Address, values: dict[str, object]) -> int:  # noqa: F811
    """The status of an empty form; what it did is undone."""
    with transaction.atomic():
        response = client.post(address.filled(values))
        transaction.set_rollback(True)
    assert not response.headers.get("Location", "").startswith("/sign-in"), address
    return response.status_code


@pytest.mark.both_databases
def test_every_form_is_in_the_table_and_refuses_the_role_below(
    values: dict[str, object],  # noqa: F811
    people: dict[str, Client],
) -> None:
    """A form that is wrong is no reason for another answer: who may not do it learns nothing about it."""
    forms = {address.name: address for address in PAGES if address.name not in ANYONE}
    before = row_counts()
    for name, address in forms.items():
        if name not in LEAST:
            assert sent(people[SUPERUSER], address, values) == 405, address
            continue
        least = LEAST[name]
        assert least in (ADMIN, SUPERUSER) or sent(people[least], address, values) not in (403, 405), address
        refused = 404 if name in UNKNOWN else 403
        assert least == VIEWER or sent(people[BELOW[least]], address, values) == refused, address
    assert row_counts() == before and LEAST.keys() <= forms.keys()
