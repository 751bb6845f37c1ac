"""What an authenticator app shows."""

from __future__ import annotations

import base64
import hmac
import struct
import time


def code_now(secret: str, at: float | None = None) -> str:
    """The six digits of RFC 6238."""
    counter = struct.pack(">Q", int((time.time() if at is None else at) // 30))
    digest = hmac.new(base64.b32decode(secret), counter, "sha1").digest()
    start = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[start : start + 4])[0] & 0x7FFFFFFF) % 10**6:06d}"
