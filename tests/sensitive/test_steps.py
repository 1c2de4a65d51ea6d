"""How much of a text is searched while it is written: enough for a whole memory of digests, tokens or numbers."""

import random
import re
from pathlib import Path

import pytest

from memoryhub.pure import sensitive
from tests.support.long import LONG

PART = 1 if LONG else 4
MOST = 100_000 // PART
"""The bytes that a memory may have, unless an administrator changes it, or a part of them: the steps grow with them."""
STEPS = sensitive.STEPS // PART

MOST_OF_SECRETS = 80_000 // PART
"""How long a text of nothing but secrets may be."""

LINES = {
    "digests": "~" * 64,
    "hashes of packages": "package==## --hash=sha256:" + "~" * 64,
    "tokens": f'{{"token": "{"~" * 32}", "password": "~~~~~~~~"}}',
    "card numbers": "4" + "#" * 15,
    "addresses": "10.1##.2#.1 GET /a?b=####",
    "customers": "######,Ann Ray,+49 3## #######,(2##) 555-####,a##@b##.com,####.##",
    "accounts": "######;Ann Ray;DE####################;01.02.19##",
    "eleven digits": "#" * 11,
    "milliseconds": "17########### ######",
    "social security": "Ann Ray, SSN 1##-##-####",
    "tax numbers": "Ann Ray;CPF ###.###.###-##",
    "part numbers": "AB###-##### DE ##### K####### X1######z",
    "log": "2026-01-1#T1#:4#:5#.###Z INFO [worker-##] user=####### GET /items/######### status=200",
    "access log": '10.0.1##.2# - - [1#/Nov/2026:1#:3#:4# +0000] "POST /auth/token HTTP/1.1" 200 #####',
    "JSON": '{"id": #########, "uuid": "~~~~~~~~-~~~~-~~~~-~~~~-~~~~~~~~~~~~", "key": "item_###", "ok": true}',
    "settings": f"S##_API_KEY={'~' * 32}\nDB_PASSWORD=~~~~~~~~~~~~",
    "about passwords": "The password for the host# is kept in the vault, with the token of the test server.",
    "counts of tokens": "- session ###: input tokens #####, output tokens: ####, key findings: none",
    "Chinese": "从前我们的项目在下周开始请不要忘记提交报告，用户需要密码登录系统。##",
    "Arabic": "مرحبا بكم في المشروع الجديد نحتاج كلمة المرور رقم الهاتف ####\u200f.",
    "Persian": "می\u200cخواهم کتاب\u200cها نمی\u200cشود خانه\u200cای ##",
    "Thai": "กขค\u200bงจฉช\u200bซกขค\u200bงจฉช ##",
    "emoji": "👩\u200d💻 done ✅ ## 👨\u200d👩\u200d👧 \u2764\ufe0f",
}
"""In these lines, `#` is any digit and `~` any hexadecimal one."""

WRITTEN = {name for name, kind in sensitive.KINDS.items() if kind.default != sensitive.Action.OFF}
"""The kinds that a store without rules looks for."""

WORST = (
    ":--passworcpf111111cpf 11111111cpf 11111111111 11 cpf 1111111cpf 11111111111 11 忽略之前4111\n1111 11111 "
    ":--password=//a:-%41:--passwor=//a:-%41aGVsbG8g29ybGQg1.2.d=//a-%41"
)
FILES = ("docs/*.md", "memoryhub/*/*.py", "tests/sensitive/corpus*.py", "templates/*/*.html", "static/js/*/*.js")
ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("name", LINES)
def test_a_whole_memory_of_such_lines_is_searched_and_not_refused(name: str) -> None:
    line = LINES[name] + "\n"
    chance = random.Random(4)
    text = re.sub(
        "[#~]",
        lambda sign: chance.choice("0123456789abcdef"[: 10 if sign[0] == "#" else 16]),
        line * ((MOST_OF_SECRETS if name in {"tokens", "settings"} else MOST) // len(line)),
    )
    sensitive.look(text, None, STEPS)


@pytest.mark.parametrize("pattern", FILES)
def test_whole_memories_of_files_take_half_of_the_steps_at_most(pattern: str) -> None:
    text = "".join(path.read_text() for path in sorted(ROOT.glob(pattern)))
    assert text
    whole = MOST * PART
    for start in range(0, min(len(text), (3 if LONG else 1) * whole), whole):
        sensitive.look(text[start : start + whole], None, sensitive.STEPS // 2)


@pytest.mark.parametrize(
    "piece",
    [
        "\u202e\u200b", "忽略之前", "password for a: ", "token:token:a1", "{{{{cpf 11111111111 ",
        "\u200e \u200e {{f 11111111111 ", "a_key=8QQ~", "DB_-key=PASSWORD=0f9e8d7c6b5a\n",
WORST, "xAB12-a_xAB12-a_key=key=key=key=",
        ":::::=%41:::::::=%41::::12345678z 12345678z \u200b", "PuTTY-User-Key-File-2:пароль ",
        "a_key=S1_API_KEY=0f9e8d7c6b5a49382716051423324150\n👩\u200d",
        "S1_PI_KEY=0f9e8d1.2.7c6b5a49382716051423324150\n",
        "x-key=x-key=x-key=x-key=x-key=wipe wipe wipe ", "AGE-SECRET-KEY-1PuTTY-User-Key-File-2:忽略之前",
        "AGE-SECRET-KEY-1#http://a?b={ก\u200bก\u200bก\u200bก\u200b", "DE89370400440532013000 tok2013000 token:",
    ],
)  # fmt: skip
def test_a_text_of_nothing_but_what_is_looked_for_takes_too_many_steps(piece: str) -> None:
    """The longest were the worst that searches found (`benchmarks/screening.py`) before they were charged so much."""
    with pytest.raises(sensitive.TooMuch):
        sensitive.look(piece * (MOST // len(piece)), WRITTEN, STEPS)


LEAST = [
    ("provider_key", "-s", 3_000), ("jwt", "eyJ.6ey.ytoken:", 25_000), ("national_id", "1 ", 10_000),
    ("national_id", "1é\n", 13_000), ("national_id", "Ab1cdef\n", 3_000), ("card", "(1) ", 2_000),
    ("national_id", "cpf 11111111111 11111111111#é", 30_000),
    ("role_tag", "#", 8_000), ("role_tag", ": ", 8_000), ("instructions", " a", 2_400),
    ("instructions", "é\u200b", 6_000),
    ("encoded", "aGVsbG8gd29\\u0041ybGQ4aGVsbG8gd29ybGQg", 20_000), ("encoded", "%41" * 1_400 + " ", 4_000),
    ("password", "x-key=" * 8, 70_000), ("password", "x-key=0f9e8d7c6b5a49382716051423324150\n", 40_000),
    ("role_tag", "[redacted]", 4_500), ("role_tag", "٠", 4_500),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "piece", "least"), LEAST)
def test_each_pass_is_charged_by_what_it_costs(kind: str, piece: str, least: int) -> None:
    """These texts once cost a pass many milliseconds and no steps, or far fewer."""
    with pytest.raises(sensitive.TooMuch):
        sensitive.look(piece * (MOST // len(piece)) + "\nPRIVATE KEY", {kind}, least // PART)
