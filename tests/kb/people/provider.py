"""An OpenID provider of the smallest kind: real HTTP, real signatures, the authorization code flow with PKCE.

Whoever comes is signed in at once as ``claims``; a client that does not know the secret or the verifier gets nothing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "headroom", "a-secret-between-the-two"


@dataclass
class Provider:
    """``claims``: what it says of whoever comes; ``asked``: the queries of the authorization page as they came."""

    issuer: str = ""
    claims: dict[str, Any] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    granted: set[str] = field(default_factory=set)
    key: rsa.RSAPrivateKey = field(
        default_factory=lambda: rsa.generate_private_key(public_exponent=65537, key_size=2048)
    )

    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/jwks",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def jwks(self) -> dict[str, Any]:
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig", "alg": "RS256"}]}

    def authorize(self, query: dict[str, str]) -> str:
        """The address to send the browser back to, with a code that is good once."""
        self.asked.append(query)
        code = secrets.token_urlsafe(16)
        self.codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """An access token and who it is for; None when secret, code, address or verifier is wrong."""
        began = self.codes.pop(form.get("code", ""), None)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if (
            began is None
            or (form.get("client_id"), form.get("client_secret")) != (CLIENT, SECRET)
            or began["redirect_uri"] != form.get("redirect_uri")
            or began.get("code_challenge") != challenge.rstrip(b"=").decode()
        ):
            return None
        now, access = int(time.time()), secrets.token_urlsafe(16)
        self.granted.add(access)
        about = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, **self.claims}
        signed = jwt.encode(about, self.key, algorithm="RS256", headers={"kid": "one"})
        return {"access_token": access, "token_type": "Bearer", "expires_in": 300, "id_token": signed}


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the name that http.server looks for
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            if url.path == "/.well-known/openid-configuration":
                self.tell(200, provider.configuration())
            elif url.path == "/jwks":
                self.tell(200, provider.jwks())
            elif url.path == "/authorize":
                self.send_response(302)
                self.send_header("Location", provider.authorize(query))
                self.end_headers()
            elif url.path == "/userinfo":
                known = self.headers.get("Authorization", "").removeprefix("Bearer ") in provider.granted
                self.tell(*((200, provider.claims) if known else (401, {})))
            else:
                self.tell(404, {})

        def do_POST(self) -> None:  # the name that http.server looks for
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            answer = provider.token({name: values[0] for name, values in parse_qs(body).items()})
            self.tell(*((200, answer) if answer else (400, {"error": "invalid_grant"})))

        def tell(self, status: int, answer: dict[str, Any]) -> None:
            words = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(words)))
            self.end_headers()
            self.wfile.write(words)

        def log_message(self, *_: Any) -> None:
            return

    return Handler


@contextmanager
def running() -> Iterator[Provider]:
    """A provider on a free port."""
    provider = Provider()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(provider))
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
