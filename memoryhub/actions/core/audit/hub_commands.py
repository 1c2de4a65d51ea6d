"""The commands of people, agents and keys, and of the hub itself: the second part of the registry in `commands`."""

from django.utils.translation import gettext_lazy as _, ngettext

from memoryhub.actions.core.audit.command import Command, Scope

_REFUSED = _("was refused at %(memory_store)s with %(status)s")
_REFUSED_MORE = _("was refused %(count)s more times within a minute")
_HOUR = _("changed the hour for rewriting the database file from %(hour)s:00 to %(new_hour)s:00 UTC")
ALL = (
    # People, agents and keys
    Command(
        "sign_in",
        (_("signed in from %(address)s; the provider did not name %(unnamed)s, so the roles stay as they were"),
         _("signed in from %(address)s")),
        _("failed to sign in as %(email)s from %(address)s"),
        scope=Scope.HUB, did=_("signed in"),
    ),
    Command("sign_out", _("signed out"), scope=Scope.HUB),
    Command(
        "confirm", _("proved again who they are, from %(address)s"),
        _("failed to prove again who they are, from %(address)s"), scope=Scope.HUB, did=_("proved again who they are"),
    ),
    Command(
        "end_browsers",
        several=lambda n: ngettext(
            "signed %(email)s out of %(count)s browser", "signed %(email)s out of %(count)s browsers", n
        ),
        counts="browsers", scope=Scope.HUB, did=_("signed out browsers"),
    ),
    Command("create_user", _("created an account for %(name)s (%(email)s)"), scope=Scope.HUB,
            did=_("created an account")),
    Command(
        "invite",
        (_("created an invitation for %(email)s"), _("created an invitation for the first person who opens it")),
        scope=Scope.BOTH, did=_("created an invitation"),
    ),
    Command("accept_invitation", _("accepted an invitation as %(name)s (%(email)s)"), scope=Scope.HUB,
            did=_("accepted an invitation")),
    Command(
        "withdraw_invitation",
        (
            _("withdrew an invitation of %(email_of_maker)s, who may no longer invite"),
            _("withdrew the invitation for %(email)s"), _("withdrew an invitation"),
        ),
        scope=Scope.BOTH, did=_("withdrew an invitation"),
    ),
    Command("request_password", _("asked for a new password for %(email)s from %(address)s"), scope=Scope.HUB,
            did=_("asked for a new password")),
    Command("set_password", _("set a new password for %(email)s"), scope=Scope.HUB, did=_("set a new password")),
    Command("edit_profile", _("changed their own settings: %(changes)s"), scope=Scope.HUB,
            did=_("changed their own settings")),
    Command("activate_user", _("activated %(name)s (%(email)s) again"), scope=Scope.HUB, did=_("activated a person")),
    Command("deactivate_user", _("deactivated %(name)s (%(email)s)"), scope=Scope.HUB, did=_("deactivated a person")),
    Command("add_app", _("added an authenticator app"), scope=Scope.HUB),
    Command("remove_app", _("removed the authenticator app of %(email)s"), scope=Scope.HUB,
            did=_("removed an authenticator app")),
    Command("add_passkey", _("added the passkey “%(name)s”"), scope=Scope.HUB, did=_("added a passkey")),
    Command("remove_passkey", _("removed the passkey “%(name)s” of %(email)s"), scope=Scope.HUB,
            did=_("removed a passkey")),
    Command("link_identity", _("linked the account of %(email)s to an identity at %(issuer)s"), scope=Scope.HUB,
            did=_("linked an account to an identity")),
    Command("set_administrator", _("made %(name)s (%(email)s) an administrator of the hub"), scope=Scope.HUB,
            did=_("made somebody an administrator")),
    Command(
        "unset_administrator", _("took the rights of an administrator from %(name)s (%(email)s)"), scope=Scope.HUB,
        did=_("took the rights of an administrator"),
    ),
    Command("create_agent", _("created the agent “%(name)s”"), scope=Scope.HUB, did=_("created an agent")),
    Command("edit_agent", _("changed the agent %(agent)s: %(changes)s"), scope=Scope.HUB, did=_("changed an agent")),
    Command("issue_key", _("issued the key %(key)s to %(agent)s: %(access)s in %(stores)s"), scope=Scope.HUB,
            did=_("issued a key")),
    Command("revoke_key", _("revoked the key %(key)s of %(agent)s"), scope=Scope.HUB, did=_("revoked a key")),
    Command("refused", _REFUSED, _REFUSED, scope=Scope.HUB, by_agents=True, did=_("was refused")),
    Command("refused_more", _REFUSED_MORE, _REFUSED_MORE, scope=Scope.HUB, by_agents=True,
            did=_("was refused more times")),
    Command("propose_act", _("asked a second person to allow: %(act)s"), scope=Scope.HUB,
            did=_("asked for a second person")),
    Command("allow_act", _("allowed as the second person what %(name)s had asked for: %(act)s"), scope=Scope.HUB,
            did=_("allowed as the second person")),
    Command("refuse_act", _("refused as the second person what %(name)s had asked for: %(act)s"), scope=Scope.HUB,
            did=_("refused as the second person")),
    Command("withdraw_act", _("took back the request to a second person: %(act)s"), scope=Scope.HUB,
            did=_("took back the request to a second person")),
    Command("start_act", _("began what %(name)s had allowed as the second person: %(act)s"), scope=Scope.HUB,
            did=_("began what a second person allowed")),
    # The hub
    Command("set_second_person", _("made a second person necessary for acts that cannot be undone"), scope=Scope.HUB,
            did=_("made a second person necessary")),
    Command("unset_second_person", _("made a second person unnecessary"), scope=Scope.HUB),
    Command("set_claude_role", (_("let people with the role %(role)s run Claude"), _("let no one run Claude")),
            scope=Scope.HUB, did=_("set who runs Claude")),
    Command("set_limits", _("changed the hub’s limits: %(changes)s"), scope=Scope.HUB,
            did=_("changed the limits of the hub")),
    Command("set_scrub_hour", _HOUR, scope=Scope.HUB, did=_("changed the hour for rewriting the database file")),
    Command("ask_scrub", _("asked for the database file to be rewritten"), scope=Scope.HUB),
    Command("ask_verify_audit", _("asked for a check of all audit entries"), scope=Scope.HUB,
            did=_("asked for a check of the audit")),
    Command(
        "verify_audit", _("verified the audit: %(entries)s entries are right"),
        _("could not confirm the audit: something is wrong in %(wrong)s"), scope=Scope.HUB, did=_("verified the audit"),
    ),
    Command("back_up", _("made the backup %(name)s"), scope=Scope.HUB, did=_("made a backup")),
    Command("set_backups", _("changed the settings of the backups"), scope=Scope.HUB,
            did=_("changed the settings of backups")),
    Command("ask_backup", _("asked for a backup"), scope=Scope.HUB),
    Command("restore_backup", _("restored the hub from the backup %(name)s"), scope=Scope.HUB,
            did=_("restored a backup")),
    Command("accept_missing", _("accepted that entries are missing: %(reason)s"), scope=Scope.HUB,
            did=_("accepted that entries are missing")),
    Command("rotate_audit_key", _("replaced the audit key: the new one is %(key)s"), scope=Scope.HUB,
            did=_("replaced the audit key")),
    Command("put_back_audit_key", _("put back the older audit key %(key)s"), scope=Scope.HUB,
            did=_("put back an older audit key")),
    Command("accept_secret_key", _("accepted a new SECRET_KEY"), scope=Scope.HUB),
    Command(
        "seal_rows",
        several=lambda n: ngettext(
            "recorded the state of %(count)s row of people, roles, keys, settings and rules",
            "recorded the state of %(count)s rows of people, roles, keys, settings and rules", n),
        counts="rows", scope=Scope.BOTH, did=_("recorded the state of rows"),
    ),
)  # fmt: skip
