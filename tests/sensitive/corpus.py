"""Sensitive lines by kind; what has to be found in each stands between ⟦ and ⟧.

Whatever looks like the key of a provider is drawn when this module is imported, so that it stands in no repository.
"""

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from random import Random
from string import ascii_letters, ascii_uppercase, digits
from typing import NamedTuple

_RANDOM = Random(4)
_WORD = ascii_letters + digits
_HEX = "0123456789abcdef"
_SAFE = _WORD + "-_"


class Sample(NamedTuple):
    """A line and the places in it that have to be found, each as [start, end)."""

    line: str
    places: tuple[tuple[int, int], ...]


def drawn(prefix: str, length: int, alphabet: str = _WORD) -> str:
    return (
        prefix
        + "".join(_RANDOM.choices(alphabet, k=length - 1))
        + _RANDOM.choice(_WORD if alphabet == _SAFE else alphabet)
    )


def sample(marked: str) -> Sample:
    """The line without its marks."""
    line, places = "", []
    for piece in marked.split("⟦"):
        value, end, rest = piece.rpartition("⟧")
        if end:
            places.append((len(line), len(line) + len(value)))
        line += value + rest
    return Sample(line, tuple(places))


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def web_token(header: str, payload: str) -> str:
    parts = (urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in (header, payload))
    return ".".join([*parts, drawn("", 43, _SAFE)])


def private_key(label: str, lines: int) -> str:
    body = "\n".join(drawn("", 64, _WORD + "+/") for _ in range(lines))
    return f"-----BEGIN {label}-----\n{body}\n-----END {label}-----"


def _provider_keys() -> Iterator[str]:
    yield f"export ANTHROPIC_API_KEY=⟦{drawn('sk-ant-' + 'api03-', 95, _SAFE)}⟧"
    yield f"the admin one is ⟦{drawn('sk-ant-' + 'admin01-', 90, _SAFE)}⟧, ask Dana"
    yield f'client = OpenAI(api_key="⟦{drawn("sk-" + "proj-", 120, _SAFE)}⟧")'
    yield f"old key ⟦{drawn('sk-', 48)}⟧ still works"
    yield f"Routing over ⟦{drawn('sk-or' + '-v1-', 64, _HEX)}⟧."
    yield f"aws_access_key_id = ⟦{drawn('AK' + 'IA', 16, ascii_uppercase + '234567')}⟧"
    yield f"temporary: ⟦{drawn('AS' + 'IA', 16, ascii_uppercase + '234567')}⟧ until noon"
    yield f"aws_secret_access_key = ⟦{drawn('', 40, _WORD + '/+')}⟧"
    yield f"git remote with ⟦{drawn('gh' + 'p_', 36)}⟧ until we have an app"
    yield f"GITHUB_TOKEN: ⟦{drawn('github' + '_pat_', 22)}_{drawn('', 59)}⟧"
    yield f"server token ⟦{drawn('gh' + 's_', 36)}⟧ expired"
    yield f'PRIVATE-TOKEN: "⟦{drawn("gl" + "pat-", 20, _SAFE)}⟧"'
    yield f"bot: ⟦{drawn('xo' + 'xb-', 12, digits)}-{drawn('', 13, digits)}-{drawn('', 24)}⟧"
    yield f"curl -X POST https://⟦{'hooks.sl' + 'ack.com'}/services/{drawn('T', 9)}/{drawn('B', 9)}/{drawn('', 24)}⟧"
    yield f"STRIPE_KEY=⟦{drawn('sk' + '_live_', 24)}⟧"
    yield f"restricted ⟦{drawn('rk' + '_live_', 99)}⟧ for the report"
    yield f"maps key ⟦{drawn('AI' + 'za', 35, _SAFE)}⟧"
    yield f"//registry.npmjs.org/:_authToken=⟦{drawn('np' + 'm_', 36)}⟧"
    yield f"password = ⟦{drawn('pypi-' + 'AgEIcHlwaS5vcmc', 150, _SAFE)}⟧"
    yield f"SENDGRID=⟦{drawn('SG' + '.', 22, _SAFE)}.{drawn('', 43, _SAFE)}⟧"
    yield f"twilio sid ⟦{drawn('S' + 'K', 32, _HEX)}⟧"
    yield f"login(token='⟦{drawn('h' + 'f_', 34, ascii_letters)}⟧')"
    yield f"doctl auth init -t ⟦{drawn('dop' + '_v1_', 64, _HEX)}⟧"
    yield f"AccountName=shop;⟦{drawn('Account' + 'Key=', 86, _WORD + '+/')}==⟧;EndpointSuffix=x"
    yield f"Endpoint=sb://shop/;⟦{drawn('Shared' + 'AccessKey=', 43, _WORD + '+/')}=⟧"
    yield f"groq: ⟦{drawn('gs' + 'k_', 52)}⟧"
    yield f"vault login ⟦{drawn('hv' + 's.', 90)}⟧"
    yield f"shop app ⟦{drawn('shp' + 'at_', 32, _HEX)}⟧"
    yield f"telegram ⟦{drawn('', 10, '123456789')}:{drawn('A' + 'A', 33, _SAFE)}⟧"
    yield f"linear ⟦{drawn('lin' + '_api_', 40)}⟧ in the importer"


def _private_keys() -> Iterator[str]:
    for label in ("RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"):
        yield f"the key is\n⟦{private_key(label, 6)}⟧\nkeep it"
    yield f"⟦{private_key('DSA PRIVATE KEY', 3)}⟧"
    yield f"gpg:\n⟦{private_key('PGP PRIVATE KEY BLOCK', 5)}⟧"
    yield f'"private_key": "⟦{private_key("PRIVATE KEY", 4).replace(chr(10), chr(92) + "n")}⟧"'
    yield f"cut off: ⟦{private_key('RSA PRIVATE KEY', 5).rpartition(chr(10) + '-----END')[0]}⟧"
    yield f"age: ⟦{'AGE-SECRET' + '-KEY-1'}{drawn('', 58, ascii_uppercase + digits)}⟧"
    yield f"⟦{'PuTTY-User' + '-Key-File-3'}: ssh-rsa\nEncryption: none\nPrivate-MAC: {drawn('', 64, _HEX)}⟧\nend"
    yield f"[Interface] ⟦{'Private' + 'Key'} = {drawn('', 43, _WORD + '+/')}=⟧"


def _hub_keys() -> Iterator[str]:
    for before, after in (
        ("Authorization: Bearer ", ""), ("x-api-key: ", ""), ("MEMORYHUB_KEY=", ""), ("the agent's key is ", "."),
        ('"key": "', '",'), ("key `", "`"), ("(", ")"), ("Schlüssel: ", " (nur lesen)"), ("キーは", "です"), ("", ""),
    ):  # fmt: skip
        yield f"{before}⟦{drawn('mh' + '_', 43, _SAFE)}⟧{after}"


def _jwts() -> Iterator[str]:
    headers = ('{"alg":"HS256","typ":"JWT"}', '{"alg":"RS256","kid":"a1"}', '{"typ":"JWT","alg":"ES256"}')
    payloads = ('{"sub":"1234567890","name":"Dana","iat":1516239022}', '{"iss":"hub","exp":1763740000}')
    for around in (
        "Authorization: Bearer {}", "cookie session={}; Path=/", "token {} from the browser", '{{"jwt":"{}"}}',
                   "`{}`", "?access_token={}&x=1"):  # fmt: skip
        for payload in payloads:
            yield around.format(f"⟦{web_token(_RANDOM.choice(headers), payload)}⟧")


_URLS = """
postgres://app:⟦s3cr3t⟧@db.internal:5432/shop
DATABASE_URL=mysql://root:⟦hunter2⟧@10.0.0.5/shop
redis://:⟦Zx8kQ2mLp0⟧@cache:6379/1
clone https://dana:⟦tulip-Window-9⟧@git.company.com/hub.git
amqp://guest:⟦gu3st!⟧@broker:5672/
mongodb+srv://app:⟦Kp9vR7xW⟧@cluster0.abcde.mongodb.net/?retryWrites=true
ftp://backup:⟦Winter2026⟧@nas.local/volume1
smtp://mailer:⟦qwertz123⟧@smtp.company.com:587
SENTRY=https://public:⟦4f1a9c8b7d6e5f4a⟧@sentry.company.com/3
proxy http://dk:⟦p@ss-w0rd⟧@proxy.company.com:3128 for builds
<https://admin:⟦letmein99⟧@printer.local/status>
git clone https://⟦a8f5k2l9d7s6h3j4g1q0⟧@git.company.com/x.git
""".strip().splitlines()

_PASSWORDS = """
The password is ⟦hunter2⟧.
password is ⟦Tr0ub4dor&3⟧ for all test machines
Password: ⟦S0mmer!2026⟧
password=⟦qwertz123⟧
"password": "⟦correct-horse-42⟧",
DB_PASSWORD=⟦x9$kLm2p⟧
db_passwd: ⟦Zk81-mmQ⟧
The admin password was changed to ⟦Autumn#77⟧ yesterday
The password for the staging server is ⟦blue42whale⟧
his pwd is ⟦dana1987⟧
passphrase: "⟦correct horse battery staple⟧"
Das Passwort ist ⟦Sonne123⟧
Das WLAN-Passwort lautet ⟦Kaffee&Kuchen7⟧.
Passwort: ⟦geheim2026!⟧
Kennwort für den Drucker: ⟦0815drucker⟧
Le mot de passe est ⟦Soleil2026⟧
mot de passe : ⟦Azerty!42⟧
Le mot de passe du wifi est ⟦cafe-noir-88⟧
La contraseña es ⟦Verano2026⟧
contraseña: ⟦gato_negro1⟧
La contraseña del servidor es ⟦Sol$99luna⟧
A senha é ⟦Praia2026⟧
senha: ⟦futebol10⟧
La password è ⟦Roma1960⟧
パスワードは⟦Sakura2026⟧です
パスワード：⟦neko-1234⟧
密码是⟦Beijing2008⟧
Пароль: ⟦Moskva1980⟧
Het wachtwoord is ⟦Tulp2026⟧
api_key = "⟦8f14e45fceea167a5a36dedd4bea2543⟧"
apiKey: ⟦k9X2mQ7vB4nL8pR1⟧
SECRET_KEY=⟦t7h3q9z1-w2x4c6v8⟧
client_secret: ⟦Qx7Vb2Nm9Kp4Ls6D⟧
access token is ⟦9a8b7c6d5e4f3a2b1c0d⟧
token: ⟦a1b2c3d4e5f6g7h8⟧
Authorization: Bearer ⟦Zm9vYmFyMTIzNDU2Nzg5MA⟧
Authorization: Basic ⟦ZGFuYTpodW50ZXIy⟧
mysqldump --password=⟦Gr33nTea⟧ shop
curl -u dana:⟦tulip9window⟧ https://git.company.com/api
PIN: ⟦4821⟧
ALTER USER app IDENTIFIED BY '⟦kL9-Qw2e⟧';
| password | ⟦Herbst_2026⟧ |
**Password:** ⟦Fr0stbite⟧
The wifi password is ⟦swordfish⟧.
password: ⟦letmein⟧
'password' => '⟦dragon77⟧',
""".strip().splitlines()

_EMAILS = """
Write to ⟦dana.lee@acme.co.uk⟧ about the renewal
contact: ⟦d.lee+hub@gmail.com⟧
From: Dana Lee <⟦dana@lee.org⟧>
⟦max.mustermann@firma.de⟧ bevorzugt Rechnungen als PDF
Courriel : ⟦jean-pierre.dupont@orange.fr⟧
Correo: ⟦maria_garcia99@correo.es⟧.
メールは⟦tanaka@example.co.jp⟧です
cc ⟦a@b.io⟧, ⟦c@d.dev⟧
mailto:⟦support@shop.store⟧?subject=hi
"email": "⟦o'brien@irish.ie⟧"
owner=⟦admin@sub.domain.company.museum⟧;
(⟦info@müller.de⟧)
""".strip().splitlines()

_PHONES = """
Call ⟦+1 415-555-2671⟧ after 16:00
mobile ⟦+44 7911 123456⟧
Tel. ⟦+49 30 901820⟧
⟦+49 (0)171 2345678⟧ (Handy)
Téléphone : ⟦01 42 68 53 00⟧
mobile ⟦06.12.34.56.78⟧ de Claire
Teléfono: ⟦+34 612 34 56 78⟧
móvil ⟦612 345 678⟧
電話は⟦03-1234-5678⟧です
携帯 ⟦090-1234-5678⟧
office ⟦(415) 555-2671⟧, ask for Dana
⟦415-555-2671⟧ is her desk
fax ⟦030/1234567⟧
Telefon: ⟦0171 2345678⟧
whatsapp ⟦+5511912345678⟧
⟦(11) 91234-5678⟧ em São Paulo
⟦+81-90-1234-5678⟧
phone: ⟦020 7946 0958⟧
""".strip().splitlines()

_CARDS = """
Visa ⟦4111 1111 1111 1111⟧ exp 12/28
card ⟦4012888888881881⟧
Mastercard ⟦5555-5555-5555-4444⟧
⟦5105105105105100⟧ is the company card
Amex ⟦3782 822463 10005⟧
amex: ⟦371449635398431⟧
Discover ⟦6011 1111 1111 1117⟧
JCB ⟦3530111333300000⟧
Kreditkarte ⟦4242 4242 4242 4242⟧, gültig bis 08/28
carte ⟦2223003122003222⟧
tarjeta ⟦5200 8282 8282 8210⟧ cvv 123
カード番号は⟦4000056655665556⟧です
diners ⟦30569309025904⟧
"number": "⟦6200000000000005⟧"
""".strip().splitlines()

_IBANS = """
IBAN ⟦DE89 3704 0044 0532 0130 00⟧
⟦DE89370400440532013000⟧ bei der Bank
pay to ⟦GB29 NWBK 6016 1331 9268 19⟧ please
compte ⟦FR14 2004 1010 0505 0001 3M02 606⟧
cuenta ⟦ES91 2100 0418 4502 0005 1332⟧
conto ⟦IT60 X054 2811 1010 0000 0123 456⟧
rekening ⟦NL91ABNA0417164300⟧
Konto: ⟦AT61 1904 3002 3457 3201⟧
⟦CH93 0076 2011 6238 5295 7⟧ in Zürich
iban=⟦BE68539007547034⟧;
konto ⟦PL61 1090 1014 0000 0712 1981 2874⟧
NIB ⟦PT50 0002 0123 1234 5678 9015 4⟧.
""".strip().splitlines()

_NATIONAL_IDS = """
SSN ⟦123-45-6789⟧
his social security number is ⟦219 09 9998⟧
NINO ⟦AB123456C⟧
national insurance ⟦JG 10 37 59 A⟧
NIR ⟦1 85 05 78 006 084 91⟧
sécurité sociale : ⟦255081416802538⟧
DNI ⟦12345678Z⟧
NIE ⟦X1234567L⟧ de la clienta
Steuer-ID ⟦65929970489⟧
IdNr. ⟦57 549 285 017⟧
codice fiscale ⟦RSSMRA85T10A562S⟧
CPF ⟦529.982.247-25⟧
cpf: ⟦11144477735⟧
BSN ⟦111222333⟧
PESEL ⟦44051401359⟧
AHV ⟦756.9217.0769.85⟧
personnummer ⟦811228-9874⟧
hetu ⟦131052-308T⟧
rijksregister ⟦85.07.30-033.28⟧
身份证 ⟦11010519491231002X⟧
主民 ⟦900101-1234567⟧
マイナンバー ⟦1234 5678 9018⟧
Aadhaar ⟦2341 2341 2346⟧
SIN ⟦046 454 286⟧
""".strip().splitlines()

_IPS = """
server at ⟦10.0.12.7⟧
ssh root@⟦192.168.1.20⟧
⟦203.0.113.45⟧ tried to sign in
A record ⟦93.184.216.34⟧.
listen ⟦172.16.4.9⟧:8080
allow ⟦198.51.100.0⟧/24
client=⟦8.8.4.4⟧ status=200
gateway ⟦fe80::1ff:fe23:4567:890a⟧
⟦2001:db8:85a3::8a2e:370:7334⟧ is the new one
AAAA ⟦2606:2800:220:1:248:1893:25c8:1946⟧
[⟦2001:db8::1⟧]:443
Der Server hat ⟦141.20.5.188⟧
""".strip().splitlines()

KEYS: dict[str, tuple[Sample, ...]] = {
    "provider_key": tuple(map(sample, _provider_keys())),
    "private_key": tuple(map(sample, _private_keys())),
    "hub_key": tuple(map(sample, _hub_keys())),
    "jwt": tuple(map(sample, _jwts())),
    "url_credentials": tuple(map(sample, _URLS)),
    "password": tuple(map(sample, _PASSWORDS)),
    "email": tuple(map(sample, _EMAILS)),
    "phone": tuple(map(sample, _PHONES)),
    "card": tuple(map(sample, _CARDS)),
    "iban": tuple(map(sample, _IBANS)),
    "national_id": tuple(map(sample, _NATIONAL_IDS)),
    "ip": tuple(map(sample, _IPS)),
}
