"""File names that a program obeys when a directory is entered, listed or opened. An export escapes these names.

For example, a memory at `/.git/config` would make `git status` run commands. An import reverses the escape.
"""

import re
import unicodedata
from collections.abc import Mapping
from typing import NamedTuple


class Reason(NamedTuple):
    """Names, in lower case, that are escaped for the same reason, and the sentence about this reason in
    docs/export.md."""

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
"""{directory of a coding agent: names of files in it that the agent obeys}. Other files there are ordinary memories."""

ENDINGS: frozenset[str] = _words(
    "lnk url scf pif library-ms search-ms searchconnector-ms website theme themepack desktop webloc inetloc fileloc"
    " code-workspace exe com scr bat cmd hta vbs vbe jse wsf wsh msc cpl reg application appref-ms settingcontent-ms"
    " terminal command workflow mobileconfig"
)
"""Extensions of files that a file manager follows when it shows a directory, or runs on a double click without being
text."""

_SHORT_NAME = re.compile(r"[^~.]{1,6}~[0-9]{1,6}(\.[^.]{0,3})?")
"""Windows' short form of a long name, such as `git~1` for `.git`."""
_ALL_NAMES: frozenset[str] = frozenset().union(*(reason.names for reason in NAMES))


def folded(name: str) -> str:
    """Return a name in the form in which the most tolerant file system compares it.

    The result has no upper case, no invisible characters and one Unicode form. It also lacks what Windows ignores, such
    as a dot at the end.
    """
    seen = "".join(character for character in name if unicodedata.category(character) not in ("Cf", "Cc"))
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", seen).upper().casefold())
    return plain.replace("i\u0307", "i").split(":")[0].rstrip(". ")


def to_escape(name: str, directory: str = "") -> frozenset[int]:
    """Return the positions of the characters to escape so that no program obeys the name; none for an ordinary name."""
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
    """Return the positions of a sign, and of characters that NFKC turns into it."""
    return {at for at, character in enumerate(name) if unicodedata.normalize("NFKC", character) == sign}
