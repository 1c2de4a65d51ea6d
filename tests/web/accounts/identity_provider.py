"""An OpenID provider in a process of its own: the whole code flow with PKCE, refresh tokens that rotate, and keys.

`POST /control` with JSON changes what it says and how it misbehaves. It prints its address when it serves.
"""

import base64
import hashlib
import json
import secrets
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT, SECRET = "the-hub", "a secret/of: the hub"


class State:
    """What the provider says, and what it remembers."""

    person: dict[str, Any] = {}
    wrong: dict[str, Any] = {}
    codes: dict[str, dict[str, str]] = {}
    refreshes: dict[str, str] = {}
    asked = 0
    in_userinfo = False
    is_down = False
    is_ended = False
    is_mute = False


def new_key(kind: str) -> tuple[str, str, Any]:
    """A key with its name and its algorithm."""
    key = ec.generate_private_key(ec.SECP256R1()) if kind == "ES256" else rsa.generate_private_key(65537, 2048)
    return secrets.token_hex(4), kind, key


def public(name: str, kind: str, key: Any) -> dict[str, Any]:
    algorithm = jwt.get_algorithm_by_name(kind)
    return {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": name, "use": "sig", "alg": kind}


class Provider(BaseHTTPRequestHandler):
    """The endpoints."""

    keys = [new_key("ES256")]
    hidden: Any = None

    def log_message(self, *_: Any) -> None:
        pass

    @property
    def issuer(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def answer(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        path, query = urlsplit(self.path).path, dict(parse_qs(urlsplit(self.path).query))
        if State.is_down:
            self.answer({}, 503)
        elif path == "/.well-known/openid-configuration":
            self.answer({
                "issuer": State.wrong.get("configured", self.issuer), "jwks_uri": f"{self.issuer}/keys",
                "authorization_endpoint": f"{self.issuer}/authorize", "token_endpoint": f"{self.issuer}/token",
                **({} if State.is_mute else {"userinfo_endpoint": f"{self.issuer}/userinfo"}),
                **State.wrong.get("configuration", {}),
            })  # fmt: skip
        elif path == "/keys":
            self.answer({"keys": [public(*key) for key in self.keys]})
        elif path == "/userinfo":
            State.asked += 1
            self.answer(State.person | State.wrong.get("userinfo", {}))
        elif path == "/authorize":
            self.authorize({name: values[0] for name, values in query.items()})

    def authorize(self, asked: dict[str, str]) -> None:
        assert asked["response_type"] == "code" and asked["client_id"] == CLIENT, asked
        assert asked["code_challenge_method"] == "S256" and asked["nonce"] and "openid" in asked["scope"].split()
        code = secrets.token_hex(8)
        State.codes[code] = asked
        self.send_response(302)
        back = {"code": code, "state": asked["state"], "iss": State.wrong.get("iss", self.issuer)}
        self.send_header("Location", f"{asked['redirect_uri']}?{urlencode(back)}")
        self.end_headers()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/control":
            self.control(json.loads(body))
        elif State.is_down:
            self.answer({}, 503)
        elif self.path == "/token":
            self.token({name: values[0] for name, values in parse_qs(body.decode()).items()})

    def control(self, told: dict[str, Any]) -> None:
        if kind := told.pop("rotate", None):
            Provider.keys = [new_key(kind)]
        if told.pop("hide", None):
            Provider.hidden = new_key("ES256")
        for name, value in told.items():
            setattr(State, name, value)
        self.answer({"asked": State.asked})

    def token(self, form: dict[str, str]) -> None:
        client = base64.b64encode(f"{CLIENT}:a%20secret%2Fof%3A%20the%20hub".encode()).decode()
        if self.headers["Authorization"] != f"Basic {client}":
            self.answer({"error": "invalid_client"}, 401)
            return
        if form["grant_type"] == "refresh_token":
            State.asked += 1
            used = State.refreshes.pop(form["refresh_token"], None)
            nonce = None
            if used is None or State.is_ended:
                self.answer({"error": "invalid_grant"}, 400)
                return
        else:
            asked = State.codes.pop(form["code"], None)
            verifier = hashlib.sha256(form["code_verifier"].encode()).digest()
            challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
            if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
                self.answer({"error": "invalid_grant"}, 400)
                return
            nonce = asked["nonce"]
        refresh = secrets.token_hex(8)
        State.refreshes[refresh] = "used once"
        given = {"access_token": "a", "token_type": "Bearer", "id_token": self.signed(nonce)}
        self.answer(given if State.is_mute else given | {"refresh_token": refresh})

    def signed(self, nonce: str | None) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "auth_time": now} | State.person
        claims |= {"nonce": nonce} if nonce else {}
        if State.in_userinfo:
            claims = {name: value for name, value in claims.items() if name not in ("groups", "email")}
        claims |= State.wrong.get("claims", {})
        name, kind, key = Provider.hidden or self.keys[0]
        if "algorithm" in State.wrong:
            key = None if State.wrong["algorithm"] == "none" else SECRET * 3
            return jwt.encode(claims, key, State.wrong["algorithm"], headers={"kid": name})
        return jwt.encode(claims, key, kind, headers={"kid": name})


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}\n")
    sys.stdout.flush()
    server.serve_forever()
