"""Whether a change of a value helped, so that the run that failed had the value before it: “0.9 → 0.6 solved it”."""

from __future__ import annotations

import re

_HELPED = re.compile(
    r"(?<!not )(?<!n['’]t )(?<!nothing )(?<!never )\b(?:works?|worked|solved|fixed|helped|fine|no longer|went through)\b"
    r"|\bgot (?:it|me) through\b"
    r"|(?<![没未])(?<!没有)(?<!无法)解决|就好|(?<!不)好了|就不|不再|才能|才行|(?<!不)正常|跑通|可以了",
    re.I | re.A,
)
# as far as the sentence goes, or so many characters
_CLAUSE = re.compile(r"[^.;。；\n]{0,70}", re.A)


def helped(words: str, end: int = 0) -> bool:
    """Whether the sentence goes on to say so behind a value that ends there."""
    clause = _CLAUSE.match(words, end)
    return clause is not None and _HELPED.search(words, end, clause.end()) is not None
