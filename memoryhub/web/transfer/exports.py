"""The page of an export: the contents of each format, the amount of data, and the download."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from memoryhub.actions.core.audit import Act
from memoryhub.actions.transfer import exporting
from memoryhub.actions.transfer.exporting import TYPES, Export, NotDone, Wanted
from memoryhub.actions.verification.signed import Signed
from memoryhub.models import AuditChain, Comment, Directory, MemoryStore, Proposal, Role
from memoryhub.pure.protocol import paths
from memoryhub.pure.protocol.errors import ToolError
from memoryhub.web.common import addresses
from memoryhub.web.common.guards.access import act, in_store
from memoryhub.web.common.pages import context
from memoryhub.web.common.request import Request
from memoryhub.web.common.tables import attachment
from memoryhub.web.common.texts import masking


@dataclass(frozen=True, slots=True)
class Format:
    """An export format as the page describes it."""

    value: str
    icon: str
    name: Any
    what: Any
    good_for: Any
    command: str = ""


SIGNED = "signed"

FORMATS = (
    Format(
        "zip", "archive", _("ZIP archive"),
        _("The texts of the memories at their paths, ready to be unpacked. With history also every version, in a"
          " directory of its own."),
        _("Reading and working elsewhere, or giving the texts to someone."),
    ),
    Format(
        "jsonl", "braces", _("JSON Lines"),
        _("One line for each memory and each version, with its author. The history of a whole memory store "
          "includes its audit and the proofs of it."),
        _("Backups, moving to another hub, and programs."),
    ),
    Format(
        "git", "git-branch", _("Git repository"),
        _("One commit for each version, with its author and time. Import it into an empty repository:"),
        _("git log, git blame, and tools for reviewing changes."),
        "git fast-import < store.gitstream",
    ),
    Format(
        SIGNED, "shield-check", _("Signed JSON Lines"),
        _("The history and the audit as JSON Lines, in a ZIP archive with the hub's signature. Anyone can check it "
          "with the hub's public key. Before, the hub checks the chain of the audit, which takes a while."),
        _("An auditor."),
    ),
)  # fmt: skip


class ExportForm(forms.Form):
    """The format of an export, and whether the history, decisions and comments are included."""

    history = forms.BooleanField(required=False)
    governance = forms.BooleanField(required=False)

    def __init__(self, formats: Sequence[Format], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.formats = formats
        self.fields["format"] = forms.ChoiceField(
            choices=[(one.value, one.name) for one in formats],
            error_messages=dict.fromkeys(("invalid_choice", "required"), _("Choose one of the formats.")),
        )


@require_http_methods(["GET", "HEAD", "POST"])
@in_store(Role.VIEWER)
def export_store(request: Request, store: MemoryStore) -> HttpResponse:
    """Show the form for the store, or for the directory `path` in the URL; on POST, audit the export and send it."""
    directory = _directory(store, request.GET.get("path", ""))
    if directory is None:
        return _page(request, store, None, ExportForm(FORMATS))
    chosen = {"format": request.GET.get("format", "zip")}
    may_sign = not directory.path and request.role.includes(Role.CURATOR)
    formats = [one for one in FORMATS if may_sign or one.value != SIGNED]
    form = ExportForm(formats, request.POST if request.method == "POST" else None, initial=chosen)
    if form.is_valid():
        is_signed = form.cleaned_data["format"] == SIGNED
        wanted = wanted_by(
            request,
            "jsonl" if is_signed else form.cleaned_data["format"],
            path=directory.path,
            history=form.cleaned_data["history"] or is_signed,
            governance=form.cleaned_data["governance"],
            signed=is_signed,
        )
        doing = act(request)
        try:
            export = exporting.begin(store.pk, wanted, doing)
            return _signed(export, doing) if is_signed else answer(export)
        except NotDone:
            directory = None
    return _page(request, store, directory, form)


def wanted_by(request: Request, form: str, **more: Any) -> Wanted:
    """Return the export that a person requested. Sensitive values are masked if the person may not reveal them."""
    return Wanted(form, masked=not request.role.includes(Role.CURATOR), **more)


def answer(export: Export) -> HttpResponse:
    """Return the response with the download."""
    body = export.body(masking.cover if export.wanted.masked else None)
    return attachment(body, export.name, export.content_type)


def _signed(export: Export, act: Act) -> HttpResponse:
    """Return the download of an export that includes the audit, with the hub's signature."""
    entry = (export.scope.store, export.scope.seq)
    made = Signed(export.name, export.body(), export.entries, entry, act, reverse("public_key"))
    return attachment(made.archive(), f"{export.name.rpartition('.')[0]}.zip", TYPES["zip"])


def _has_governance(store: MemoryStore, path: str) -> bool:
    """Return whether an export may include anything that people decided or said.

    For a directory (`path`), this means comments on any memories of the store.
    """
    of_memories = Comment.objects.of_store(store.pk).filter(memory__isnull=False)
    if path:
        return of_memories.exists()
    return bool(store.path_rules) or of_memories.exists() or Proposal.objects.of_store(store.pk).exists()


def _directory(store: MemoryStore, path: str) -> Directory | None:
    """Return the directory at a path (the root for an empty path), or None."""
    try:
        clean = paths.from_tool(paths.ROOT + path)
    except ToolError:
        return None
    return Directory.objects.filter(store=store).at(clean).first()


def _page(request: Request, store: MemoryStore, directory: Directory | None, form: ExportForm) -> HttpResponse:
    path = directory.path if directory else ""
    row = AuditChain.objects.filter(pk=store.pk).first()
    shown = context(
        request,
        store,
        tab="memories",
        form=form,
        directory=directory,
        formats=form.formats,
        path=path,
        chosen=form["format"].value() or "zip",
        with_history=form["history"].value() if form.is_bound else True,
        has_governance=_has_governance(store, path),
        with_governance=form["governance"].value() if form.is_bound else False,
        entries=row.last_seq - row.start_seq if row else 0,
        is_masked=not request.role.includes(Role.CURATOR),
        crumbs=addresses.crumbs(store.pk, store.name, path) if path else [],
        name=paths.name(path) if path else store.name,
        here=addresses.of_directory(store.pk, path),
    )
    return render(request, "transfer/export.html", shown, status=200 if directory else 404)
