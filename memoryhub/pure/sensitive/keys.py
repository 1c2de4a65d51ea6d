"""Keys and tokens of service providers, found by their prefixes and lengths."""

import re
from collections.abc import Iterable, Iterator

from memoryhub.pure.sensitive.text import Place, Text, is_random

_SHAPES = (
    # Models
    r"sk-ant-[a-z0-9]{3,12}-[\w-]{24,200}",
    r"sk-(?:proj|svcacct|admin|None)-[\w-]{24,240}",
    r"sk-or-v1-[0-9a-f]{64}",
    r"sk-[A-Za-z0-9]{32,64}",
    r"hf_[A-Za-z0-9]{30,40}",
    r"gsk_[A-Za-z0-9]{40,60}",
    r"xai-[A-Za-z0-9]{60,100}",
    r"pplx-[A-Za-z0-9]{40,64}",
    r"r8_[A-Za-z0-9]{37,40}",
    r"api_org_[A-Za-z0-9]{30,40}",
    # Clouds
    r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}",
    r"AIza[\w-]{35}",
    r"GOCSPX-[\w-]{24,40}",
    r"ya29\.[\w-]{20,400}",
    r"do[opr]_v1_[0-9a-f]{64}",
    r"AccountKey=[A-Za-z0-9+/]{42,86}={1,2}",
    r"SharedAccessKey=[A-Za-z0-9+/]{42,86}={1,2}",
    r"dapi[0-9a-f]{32}(?:-\d)?",
    r"tskey-[a-z]{3,8}-[A-Za-z0-9-]{16,80}",
    r"HRKU-[\w-]{36,64}",
    r"hv[sb]\.[\w-]{24,300}",
    r"pul-[0-9a-f]{40}",
    r"sb(?:p|_secret)_[\w-]{30,60}",
    r"nfp_[A-Za-z0-9]{36,40}",
    r"pscale_(?:tkn|pw|oauth)_[\w.=-]{32,64}",
    r"bedrock-api-key-[\w+/=-]{20,2000}",
    r"ABSK[A-Za-z0-9+/]{90,300}={0,2}",
    r"LTAI[A-Za-z0-9]{16,24}",
    r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}",
    r"fo1_[\w-]{43}",
    r"fm[12][ar]?_[\w+/=-]{80,2000}",
    r"sha256~[\w-]{43}",
    r"dt0[cs]\d\d\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}",
    r"dp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,60}",
    r"tk-us-[\w-]{48}",
    r"t1\.[\w=-]{1,200}\.[\w=-]{80,100}",
    r"AQVN[\w-]{35,38}",
    r"YC[\w-]{38}",
    r"sm_[ps]?a?at_[A-Za-z0-9]{16}",
    r"4b1d[A-Za-z0-9]{38}",
    # Code and packages
    r"gh[opusr]_[A-Za-z0-9]{36,251}",
    r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}",
    r"gl(?:pat|dt|rt|rtr|oas|cbt|ptt|ft|ffct|soat|agent|imt)-[\w.-]{20,300}",
    r"GR1348941[\w-]{20,27}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-AgE[\w-]{50,400}",
    r"rubygems_[0-9a-f]{48}",
    r"dckr_(?:pat|oat)_[\w-]{27,40}",
    r"ATATT3[\w=-]{60,250}",
    r"oy2[a-z0-9]{43}",
    r"CLOJARS_[A-Za-z0-9]{60}",
    r"sgp_(?:(?:[0-9a-fA-F]{16}|local)_)?[0-9a-fA-F]{40}",
    r"sq[apu]_[0-9a-f]{40}",
    r"pat\.[\w-]{22}\.[0-9a-zA-Z]{24}\.[0-9a-zA-Z]{20}",
    r"ico-[A-Za-z0-9]{32}(?!\.)",
    r"rdme_[a-z0-9]{70}",
    r"pnu_[A-Za-z0-9]{36}",
    r"API-[A-Z0-9]{26}",
    r"sntry(?:u_[0-9a-f]{64}|s_[\w+/=-]{40,250})",
    r"gl(?:sa|c)_[\w+/=-]{32,300}",
    # Messages, money and work
    r"xox[abeoprs]-[A-Za-z0-9-]{20,250}",
    r"xapp-\d-[A-Za-z0-9-]{20,250}",
    r"hooks\.slack\.com/(?:services|workflows|triggers)/[\w/]{40,90}",
    r"discord(?:app)?\.com/api/webhooks/\d{16,20}/[\w-]{60,80}",
    r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}",
    r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{12,250}",
    r"shippo_(?:live|test)_[0-9a-fA-F]{40}",
    r"duffel_(?:live|test)_[\w=-]{43}",
    r"(?:live|test)_(?:pub_)?[0-9a-f]{31,35}",
    r"live_[\w=-]{40}",
    r"EZ[AT]K[A-Za-z0-9]{54}",
    r"FLW(?:PUB|SEC)K(?:_TEST)?-[0-9a-hA-H]{12,32}(?:-X)?",
    r"EAA[A-Z][A-Za-z0-9]{90,300}",
    r"whsec_[A-Za-z0-9+/]{24,64}",
    r"SG\.[\w-]{20,24}\.[\w-]{39,50}",
    r"SK[0-9a-f]{32}",
    r"(?:pub)?key-[0-9a-f]{32}",
    r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
    r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,30}",
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    r"sq0(?:atp|csp)-[\w-]{22,43}",
    r"lin_(?:api|oauth)_[A-Za-z0-9]{32,64}",
    r"ntn_[A-Za-z0-9]{40,60}",
    r"fig[dou]_[\w-]{36,60}",
    r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}",
    r"NRAK-[A-Z0-9]{27}",
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
    r"pat-[a-z]{2}\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"ops_eyJ[\w+/=-]{40,2000}",
    r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}",
    r"s-s4t2(?:ud|af)-[0-9a-f]{64}",
    r"p8e-[a-z0-9]{32}",
    r"dnkey-[\w=-]{20,120}",
    r"fio-u-[\w=-]{64}",
    r"tfp_[\w.=-]{40,64}",
    r"(?:pk|sk)\.[A-Za-z0-9]{60}\.[A-Za-z0-9]{22}",
    r"(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][a-z0-9-]{10,32}\.[a-z0-9+/_=-]{30,120}",
)

_FROM_MARK = (
    (r"[A-Za-z0-9_~.-]{3}", r"8Q~[A-Za-z0-9_~.-]{31,34}"),
    (r"[A-Za-z0-9]{14}", r"\.atlasv1\.[\w=-]{60,70}"),
    (r"(?<![\w-])[\w-]{1,63}", r"\.webhook\.office\.com/webhookb2/[\w@/-]{60,200}"),
    (r"\d{5,16}", r":A[\w-]{34}(?![\w-])"),
    (r"\d{14,17}", r"\|[\w-]{26,40}"),
    (r"[0-9a-f]{32}", r"-us\d{1,2}"),
    (r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}", "_mmk"),
)
"""Pairs of patterns for keys whose mark is in the middle: what comes before the mark, and the mark with what follows
it."""

_END = r"(?![A-Za-z0-9#]|\.\.\.)"
LONGEST_BEFORE_MARK = 63


def _by_first_letter(shapes: Iterable[str]) -> str:
    """Return one pattern of all shapes, grouped by their first letter. With it, a search is quick, because most letters
    begin no key."""
    groups: dict[str, list[str]] = {}
    for shape in shapes:
        groups.setdefault(shape[0] if shape[0].isalnum() else "", []).append(shape)
    others = groups.pop("", [])
    return "|".join([*(f"{first}(?:{'|'.join(one[1:] for one in of)})" for first, of in groups.items()), *others])


_SHAPED = re.compile(rf"[^A-Za-z0-9](?=[A-Za-z4])(?:{_by_first_letter(_SHAPES)}){_END}", re.ASCII)
"""A key with the character before it. That character is no letter or digit, and such characters are found fast in a
long text."""

_MARKED = [
    (
        mark.replace("\\", "").partition("[")[0].partition("d{")[0],
        re.compile(mark + _END, re.ASCII),
        re.compile(f"(?<![A-Za-z0-9])(?:{before})$", re.ASCII),
    )
    for before, mark in _FROM_MARK
]
_AWS_SECRET = re.compile(
    r"secret[ _-]?(?:access[ _-]?)?key[\"'` ]{0,3}(?:is|[:=])[\"'` ]{0,3}([a-z0-9/+]{40})(?![a-z0-9/+=])"
)


def provider_keys(text: Text) -> Iterator[Place]:
    """Yield the places of keys. Most have a shape of their own; AWS's secret keys have none, and are found by the words
    before them."""
    if text.long_words:
        places = [*_shaped(text), *_marked(text), *_aws_secrets(text)]
        yield from sorted(place for place in places if is_random(text.text[slice(*place)]))


def _shaped(text: Text) -> Iterator[Place]:
    searched = "\n" + text.text
    for first, last in text.long_words:
        text.spend(1 + (last - first) // 32)
        for match in text.each(_SHAPED.finditer(searched, first, last + 1), 10):
            yield match.start(), match.end() - 1


def _marked(text: Text) -> Iterator[Place]:
    for mark, pattern, before in _MARKED:
        for match in text.each(pattern.finditer(text.text), 5) if mark in text.text else ():
            low = max(0, match.start() - LONGEST_BEFORE_MARK - 1)
            if start := before.search(text.text[low : match.start()]):
                yield low + start.start(), match.end()


def _aws_secrets(text: Text) -> Iterator[Place]:
    if "secret" in text.low:
        yield from (match.span(1) for match in text.each(_AWS_SECRET.finditer(text.low), 10))
