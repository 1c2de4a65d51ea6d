"""File names that a program obeys as soon as a directory is entered, listed or opened: an export never writes them.

An unpacked archive or a checked-out repository is data. A memory named `/.git/config` would make `git status` run what
it says, so the formats escape such a name, and an import takes the escape back.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple


class Reason(NamedTuple):
    """Why some names are escaped, as docs/export.md says it, and the names, folded."""

    why: str
    names: frozenset[str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _reason(why: str, names: str) -> Reason:
    return Reason(why, _words(names))


NAMES: tuple[Reason, ...] = (
    _reason(
        "a version control system runs the hooks and settings that it finds there; `HEAD` makes a directory a bare"
        " repository",
        ".git .gitmodules .gitattributes .gitconfig .lfsconfig head .hg .hgrc .bzr .svn .jj .sl _darcs .fslckout"
        " _fossil_",
    ),
    _reason(
        "hooks of a version control system are kept there",
        ".husky .githooks .lefthook .pre-commit-config.yaml .overcommit.yml lefthook.yml",
    ),
    _reason(
        "a shell or one of its extensions runs it when the directory is entered",
        ".envrc .env .direnvrc .autoenv .autoenv.zsh .autoenv_leave.zsh .mise.toml mise.toml .mise .tool-versions"
        " .rtx.toml",
    ),
    _reason(
        "an editor runs its tasks, or takes its settings, when the directory is opened",
        ".vscode .idea .vs .fleet .zed .devcontainer .devcontainer.json .exrc .vimrc _vimrc .gvimrc .nvimrc .nvim.lua"
        " .lvimrc .local.vimrc .dir-locals.el .dir-locals-2.el .ycm_extra_conf.py",
    ),
    _reason("a coding agent starts the programs that it names", ".mcp.json"),
    _reason(
        "a debugger, package manager or interpreter that is started there runs it",
        ".gdbinit .lldbinit .npmrc .yarnrc .yarnrc.yml .yarn .pnp.cjs .pnp.loader.mjs .pnpmfile.cjs .bunfig.toml"
        " bunfig.toml .irbrc .pryrc .perldb .pdbrc .pypirc sitecustomize.py usercustomize.py",
    ),
    _reason(
        "in a home directory a shell or program runs or obeys it",
        ".bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc"
        " .cshrc .tcshrc .login .logout .inputrc .xinitrc .xprofile .xsession .xsessionrc .pam_environment .ssh .gnupg"
        " .netrc .curlrc .wgetrc .forward .rhosts",
    ),
    _reason("a web server obeys it in a directory that it serves", ".htaccess .htpasswd .user.ini web.config"),
    _reason(
        "a file manager obeys it when the directory is shown, or the volume mounted",
        "desktop.ini autorun.inf .directory .autorun autorun.sh autoexec.bat .ds_store",
    ),
)

BENEATH: Mapping[str, frozenset[str]] = {
    ".claude": frozenset({"settings.json", "settings.local.json"}),
    ".cursor": frozenset({"mcp.json", "hooks.json", "environment.json"}),
    ".gemini": frozenset({"settings.json"}),
    ".codex": frozenset({"config.toml", "hooks.json"}),
}
"""Names that a coding agent obeys in its own directory, whose other contents are memories."""

ENDINGS: frozenset[str] = _words(
    "lnk url scf pif library-ms search-ms searchconnector-ms website theme themepack desktop webloc inetloc fileloc"
    " code-workspace exe com scr bat cmd hta vbs vbe jse wsf wsh msc cpl reg application appref-ms settingcontent-ms"
    " terminal command workflow mobileconfig"
)
"""Endings that a file manager follows when it shows a directory, or runs at a double click without being text."""

_SHORT_NAME = re.compile(r"[^~.]{1,6}~[0-9]{1,6}(\.[^.]{0,3})?")
"""How Windows spells a long name that it also has in short: `git~1` is `.git`."""
_ALL_NAMES: frozenset[str] = frozenset().union(*(reason.names for reason in NAMES))


def folded(name: str) -> str:
    """The name as the most generous file system compares it: without case and characters that are not shown, in one
    Unicode form, and without what Windows cuts off (a stream after a colon, dots and spaces at the end)."""
    seen = "".join(character for character in name if unicodedata.category(character) not in ("Cf", "Cc"))
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).upper().casefold())
    return plain.replace("i\u0307", "i").split(":")[0].rstrip(". ")


def to_escape(name: str, directory: str = "") -> frozenset[int]:
    """The positions of the characters without which no program obeys the name; empty for an ordinary one."""
    plain = folded(name)
    found: set[int] = set()
    if plain in _ALL_NAMES or plain in BENEATH.get(folded(directory), ()):
        found.add(0)
    if _SHORT_NAME.fullmatch(plain):
        found |= _positions(name, "~")
    if "." in plain and plain.rpartition(".")[2] in ENDINGS:
        found |= _positions(name, ".")
    return frozenset(found)


def _positions(name: str, sign: str) -> set[int]:
    """Where the sign stands, or what folds into it."""
    return {at for at, character in enumerate(name) if unicodedata.normalize("NFKC", character) == sign}
