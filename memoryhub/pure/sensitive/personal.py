"""Personal data: e-mail and IP addresses, telephone numbers, payment cards and bank accounts."""

import re
from collections.abc import Iterator
from ipaddress import ip_address

from memoryhub.pure.sensitive.checks import luhn
from memoryhub.pure.sensitive.text import NUMBER_PART, OPAQUE, Number, Place, Text, apart

_LETTERS = "A-Za-zÀ-ÖØ-öø-ɏͰ-ӿ"
_MAIL_NAME = re.compile(rf"[0-9{_LETTERS}_.+'%&-]*$")
_MAIL_HOST = re.compile(
    rf"(?:[0-9{_LETTERS}](?:[0-9{_LETTERS}-]{{0,61}}[0-9{_LETTERS}])?\.){{1,8}}[{_LETTERS}]{{2,24}}(?![0-9{_LETTERS}_-])"
)
LONGEST_MAIL_NAME = 64
LONGEST_LOGIN = 80
_SERVICE_NAMES = frozenset({"git", "hg", "svn"})

_GAP = r"[ \-\u00a0\u202f\u2011]"
_CARD = re.compile(
    rf"(?<![\d.,])(?:\d{{12,19}}|\d{{4}}({_GAP})\d{{4}}\1\d{{4}}(?:\1\d{{4}}(?:\1\d{{3}})?)?"
    rf"|\d{{4}}(?:\.\d{{4}}){{3}}(?:\.\d{{3}})?|[1-3]\d{{3}}({_GAP}|\.)\d{{6}}\2\d{{4,5}})(?!\d|[.,]\d)"
)
_BROKEN = r"[ .\-]?\r?\n[ \t]*"
_IN_GROUPS = (
    rf"\d{{4}}(?:({_GAP}|\.)\d{{4}})?(?:\1\d{{4}})?{_BROKEN}\d{{4}}(?:({_GAP}|\.)\d{{4}})?(?:\2\d{{4}})?(?:\2\d{{3}})?"
    rf"|[1-3]\d{{3}}{_BROKEN}\d{{6}}(?:{_GAP}|\.)\d{{4,5}}|[1-3]\d{{3}}(?:{_GAP}|\.)\d{{6}}{_BROKEN}\d{{4,5}}"
)
_SOLID = rf"(?P<solid>\d{{4,14}}{_BROKEN}\d{{4,14}})"
_GROUPS_BROKEN, _ANY_BROKEN = (
    re.compile(rf"(?<![\d.,])(?:{forms})(?!\d|[.,]\d)") for forms in (_IN_GROUPS, f"{_IN_GROUPS}|{_SOLID}")
)
"""Patterns of card numbers that continue on the next line: of numbers in groups, broken after a group; and of numbers
without groups, after a word for a card."""

_AFTER_DIGIT = r"\n(?:(?<=[0-9]\n)|(?<=[0-9][ .\r-]\n)|(?<=[0-9][ .-]\r\n))[ \t]*"
_LINE_END_IN_GROUPS, _ANY_LINE_END = (re.compile(rf"{_AFTER_DIGIT}(?=[0-9]{{4,{most}}}(?![0-9]))") for most in (6, 14))
"""The end of a line after which a card number may continue: the next line begins with as many digits as the number's
next group has."""

_CARD_WORDS = re.compile("card|visa|maestro|amex|american express|karte|carte|tarjeta|cart[aã]o|carta|カード|卡")
_CARD_WORD = re.compile(rf"(?:{_CARD_WORDS.pattern})\D{{0,24}}$")

_NO_DIGITS = str.maketrans("", "", " .-\t\r\n\u00a0\u202f\u2011")
LONGEST_PART = 20
SHORTEST_CARD = 12
_MAY_BE_CARD = re.compile(f"[0-9]{NUMBER_PART}{{{SHORTEST_CARD - 2},}}[0-9]")
_ISSUER = re.compile(
    r"4\d{15}(?:\d{3})?|(?:5[1-5]|22[2-9]|2[3-6]|27[01]|2720)\d+|3[47]\d{13}|3(?:0[0-5]\d|[689]\d\d)\d{10}"
    r"|6(?:011|4[4-9]|5)\d+|35(?:2[89]|[3-8])\d+|62\d{14,17}|(?:5018|5019|5020|5038|5612|5893|6304|6390|6759|676[1-3])\d+|220[0-4]\d+"
    r"|(?:122\d|1800|2131)\d{11}"
)
_MAESTRO = re.compile("5018|5020|5038|5612|5893|6304|6390|6759|676[1-3]")
_IBAN_SEPARATORS = str.maketrans("", "", " -\u00a0")
FEWEST_IBAN_DIGITS = 10
_IBAN_COUNTRIES = """
AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29
ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28
LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25
QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20
"""
_IBAN_LENGTHS = {country[:2]: int(country[2:]) for country in _IBAN_COUNTRIES.split()}
_IBAN_STARTS = "|".join(
    f"{first}[{''.join(country[1] for country in _IBAN_LENGTHS if country[0] == first)}]"
    for first in sorted({country[0] for country in _IBAN_LENGTHS})
).lower()
_IBAN = re.compile(
    r"[0-9][0-9](?<=[a-z]{2}[0-9]{2})"
    rf"(?<![0-9a-z_{OPAQUE}].{{4}})(?<=(?:{_IBAN_STARTS})[0-9]{{2}})(?:[ \-\u00a0]?[a-z0-9]){{11,30}}"
)
_IBAN_NUMBERS = str.maketrans({chr(ord("A") + at): str(10 + at) for at in range(26)})

_IPV4 = re.compile(r"[0-9][0-9]{0,2}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}(?![0-9]|\.[0-9])")
_IPV6_MIDDLE = re.compile(":(?::|[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}:)")
_IPV6_BEFORE = re.compile("[0-9A-Fa-f:]{0,39}$")
_IPV6_AFTER = re.compile("[0-9A-Fa-f:.]{0,39}")
_NUMBERED = re.compile(
    r"(?:\bv|version|ver\.|release|build|driver|firmware|section|chapter|clause|kapitel|abschnitt|§|sección|chapitre"
    r"|version(?:e|ão)|versión|versão|bản|バージョン|第|tag|rev\.?|upgrade|\w/|==|--version)[\s:=v\"'(]{0,3}$",
)
_MASK = re.compile(r"255\.|0\.")

_NATIONAL = re.compile(
    r"(?<![\d.,/+-])(?:"
    r"(?:1[ .-])?\(?[2-9]\d\d(?:\)[ .-]?|[.-])[2-9]\d\d[ .-]\d{4}"
    r"|\(?0[1-9]\d{0,4}\)?(?: ?[/-] ?| )\d{2,8}(?:[ -]\d{2,6}){0,3}"
    r"|0[1-9](?:[ .-]\d\d){4}"
    r"|\([1-9]\d\) ?9?\d{4}[ -]\d{4}"
    r")(?!\d|[.,/-]\d)"
)
_PHONE_WORD = re.compile(
    r"(?:\b(?:phone|telephone|tel|telefon|téléphone|teléfono|telefone|telefono|mobile|mobil|móvil|movil|cell|celular|"
    r"cellulare|handy|handynummer|telefonnummer|fax|whatsapp|signal|sms|call|ruf|anruf|appel(?:er|ez)?|llamar?|ligar|"
    r"phone number|mobile number|rufnummer|portable|gsm|nummer|numéro)|電話番号|電話|携帯|手机|电话|телефон)"
    r"[\s.:=\w°#|*-]{0,14}[:.°\s(は：|*]\s?\(?$"
)
_PHONE_MARKS = (
    "phone", "tel", "téléphone", "mobil", "móvil", "movil", "cell", "celular", "handy", "fax", "whatsapp", "signal",
    "sms", "call", "ruf", "appel", "llama", "ligar", "portable", "gsm", "nummer", "numéro", "電話", "携帯", "手机",
    "电话", "телефон",
)  # fmt: skip
_NO_PHONE = re.compile(
    r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}|\d+\.\d{1,3}$|\d+ ?[%€$]"
)


def emails(text: Text) -> Iterator[Place]:
    """Yield the places of e-mail addresses. Logins in URLs and addresses of repositories (`git@host:…`) are left
    out."""
    position = text.text.find("@")
    end = 0
    while position >= 0:
        text.spend(2)
        host = _MAIL_HOST.match(text.text, position + 1)
        name = _MAIL_NAME.search(text.text[max(end, position - LONGEST_MAIL_NAME) : position]) if host else None
        if host and name and (start := _mail_start(text, position - len(name.group()), position)) is not None:
            end = host.end()
            yield start, end
        position = text.text.find("@", position + 1)


def _mail_start(text: Text, start: int, at: int) -> int | None:
    name = text.text[start:at]
    kept = name.lstrip(".+'%&-")
    if not kept or kept.endswith(".") or ".." in kept or kept.lower() in _SERVICE_NAMES or "://" in name:
        return None
    start = at - len(kept)
    before = text.text[max(0, start - LONGEST_LOGIN) : start]
    return None if "://" in before and before[-1] in ":/@" else start


def cards(text: Text) -> Iterator[Place]:
    """Yield the places of payment card numbers.

    Their first digits and length are valid for an issuer, and their check digit is right (Luhn).
    """
    broken = list(_broken_cards(text)) if "\n" in text.text else []
    return iter(apart([*_cards_in_lines(text), *broken]) if broken else _cards_in_lines(text))


def _broken_cards(text: Text) -> Iterator[Place]:
    if not _ANY_LINE_END.search(text.text):
        return
    solid = _CARD_WORDS.search(text.low)
    broken, line_ends = (_ANY_BROKEN, _ANY_LINE_END) if solid else (_GROUPS_BROKEN, _LINE_END_IN_GROUPS)
    for line_end in text.each(line_ends.finditer(text.text), 4):
        position, end = max(0, line_end.start() - LONGEST_PART), line_end.end() + LONGEST_PART
        while match := broken.search(text.text, position, end):
            text.spend(4)
            position = match.start() + 1
            named = match.lastgroup != "solid" or _CARD_WORD.search(
                text.low[max(0, match.start() - 32) : match.start()]
            )
            if match.end() > line_end.end() and named and _is_card(match.group()) and text.stands_alone(*match.span()):
                yield match.span()
                break


def _is_card(written: str) -> bool:
    digits = written if written.isdecimal() else written.translate(_NO_DIGITS)
    return _ISSUER.fullmatch(digits) is not None and _fits_card(digits) and luhn(digits)


def _cards_in_lines(text: Text) -> Iterator[Place]:
    text.spend(text.digit_runs // 12)
    for number in _MAY_BE_CARD.finditer(text.text):
        position, last = number.span()
        while last - position >= SHORTEST_CARD and (match := _CARD.search(text.text, position, last)):
            text.spend(3)
            if _is_card(match.group()) and text.stands_alone(*match.span()):
                yield match.span()
                position = match.end()
            else:
                position = match.start() + 1


def _fits_card(digits: str) -> bool:
    """Return whether a card may have these digits, judged by their number and by the first of them."""
    if len(digits) < 14:
        return _MAESTRO.match(digits) is not None
    return (len(digits) in (15, 16) or digits[0] in "3456") and len(set(digits)) > 1


def ibans(text: Text) -> Iterator[Place]:
    """Yield the places of bank account numbers (IBAN). They have the length that the country defines, and right check
    digits."""
    position = 0
    while match := _IBAN.search(text.low, position):
        text.spend(5)
        start = match.start() - 2
        end = _iban_end(text.text, start, match.end()) if text.stands_alone(start, start) else None
        position = end or match.start() + 2
        if end and text.stands_alone(start, end):
            yield start, end


def _iban_end(text: str, start: int, limit: int) -> int | None:
    """Return the position where the account number ends. None if there is no valid number, or if it has lower-case
    letters and too few digits."""
    length = _IBAN_LENGTHS.get(text[start : start + 2].upper(), 0)
    account = text[start:limit].translate(_IBAN_SEPARATORS)[:length]
    if not length or len(account) < length or not account.isascii():
        return None
    if not account.isupper() and sum(map(str.isdigit, account)) < FEWEST_IBAN_DIGITS:
        return None
    if int((account[4:] + account[:4]).upper().translate(_IBAN_NUMBERS)) % 97 != 1:
        return None
    end = start
    while length:
        length -= text[end].isalnum()
        end += 1
    return end


def ips(text: Text) -> Iterator[Place]:
    """Yield the places of IP addresses. Loopback addresses, masks, and four numbers after `version` are left out."""
    places = [*_ipv6s(text)] if ":" in text.text else []
    if text.digits and text.text.count(".") >= 3:
        places = sorted([*places, *(place for place in _ipv4s(text) if not _touches(*place, places))])
    return iter(places)


def _ipv4s(text: Text) -> list[Place]:
    found = []
    for match in text.each(_IPV4.finditer(text.text), 5):
        start, end = match.span()
        if text.before(start) in {".", "-"} or not text.stands_alone(start, end) or text.after(end) in {"-", "+"}:
            continue
        if _is_address(match.group()) and not _NUMBERED.search(text.low[max(0, start - 24) : start]):
            found.append((start, end))
    return found


def _ipv6s(text: Text) -> Iterator[Place]:
    end = 0
    for middle in text.each(_IPV6_MIDDLE.finditer(text.text), 3):
        before = _IPV6_BEFORE.search(text.text[max(end, middle.start() - 39) : middle.start()])
        after = _IPV6_AFTER.match(text.text, middle.end())
        if middle.start() < end or before is None or after is None:
            continue
        end = after.end()  # a string that is not an address as a whole contains none
        start = middle.start() - len(before.group())
        value = text.text[start : after.end()].rstrip(".")
        value = value if value.endswith("::") else value.rstrip(":")
        if text.stands_alone(start, start + len(value)) and _is_address(value):
            yield start, start + len(value)


def _touches(start: int, end: int, taken: list[Place]) -> bool:
    return any(start < last and first < end for first, last in taken)


def _is_address(value: str) -> bool:
    if _MASK.match(value) or (":" in value and (value.count(":") < 3 or not any(map(str.isdigit, value)))):
        return False
    try:
        address = ip_address(value)
    except ValueError:
        return False
    return not (address.is_loopback or address.is_unspecified)


def phones(text: Text) -> Iterator[Place]:
    """Yield the places of telephone numbers: with a country code, in a country's usual form, or after a word such as
    `phone`."""
    named = None
    for number in text.each(text.numbers, 1):
        place = _written_as_phone(text, number)
        if place is None and 6 <= number.digits <= 15:
            named = any(mark in text.low for mark in _PHONE_MARKS) if named is None else named
            if named and not _NO_PHONE.search(text.text, number.start, number.end):
                place = _named_phone(text, number)
        if place and text.stands_alone(*place):
            yield place


def _written_as_phone(text: Text, number: Number) -> Place | None:
    start, end, _ = number
    if text.before(start) == "+" or text.text[max(0, start - 2) : start] == "+(":
        opened = text.before(start) == "("
        return (start - 1 - opened, end) if _is_international(text.text[start:end], number.digits) else None
    if number.digits < 9 or (number.digits == end - start and text.text[start] != "0"):
        return None  # in a country's form, a number has a separator or begins with 0
    match = _NATIONAL.search(text.text, start - (text.before(start) == "("), end)
    return match.span() if match and 9 <= sum(map(str.isdigit, match.group())) <= 12 else None


def _named_phone(text: Text, number: Number) -> Place | None:
    before = text.low[max(0, number.start - 32) : number.start]
    named = any(mark in before for mark in _PHONE_MARKS) and _PHONE_WORD.search(before)
    return (number.start - (text.before(number.start) == "("), number.end) if named else None


def _is_international(written: str, digits: int) -> bool:
    """Return whether a number with a country code has the right number of digits: eight to fifteen if it is written in
    groups, otherwise ten to fifteen."""
    return 8 <= digits <= 15 and written[0] != "0" and (digits >= 10 or not written.isdigit())
