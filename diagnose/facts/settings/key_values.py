"""One written value of one key → the facts that it says."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from diagnose.facts.settings import written
from diagnose.knowledge.records import Key
from diagnose.vocabulary import Value

_ANY_OTHER = "*"
_MEMBER = re.compile(r"[a-z]\w*(?:\.[a-z]\w*)+", re.A)
_MEMBER_OF_SELF = re.compile(r"self(?:\.\w{1,60}){1,4}", re.A)  # a variable of the program, in a line of its code
_NAMES = ("dataset", "model", "reward_model", "critic_model", "teacher")
_ROLES = ("reward_model", "critic_model", "teacher")
_WORD = re.compile(r"[A-Za-z_]+", re.A)  # of a role's model: a variable, since a name has its size or its owner
# a loop of code that makes a list is no name
_BUILT = re.compile(r"[\[({][^\n]{1,300}?\sfor\s+[\w, ()]{1,40}\sin\s", re.A)
_ONLY = re.compile(r"\[\s{0,9}(?P<quote>['\"]?)(?P<item>[^\[\](){},'\"\s]{1,200})(?P=quote)\s{0,9}\]", re.A)


def facts_of(key: Key, value: str) -> dict[str, Value]:
    """What one key says with one written value; nothing when it is not set or not understood. A list of one word says what that does."""
    if key.values:
        only = _ONLY.fullmatch(value.strip())
        return dict(_row(key.values, only["item"] if only else value))
    if not key.fact or written.not_set(value) or _MEMBER_OF_SELF.fullmatch(value.strip()):
        return {}
    # a flag whose words were not pasted, or code
    if key.fact in _NAMES and (written.truth(value) is not None or _BUILT.match(value.strip())):
        return {}
    if key.fact in _ROLES and _WORD.fullmatch(value.strip()):
        return {}
    if key.product:
        return _product(key, value)
    if key.above is not None:
        number = written.number(value)
        return {} if number is None else {key.fact: number > key.above}
    read = written.of(key.fact, value)
    if key.negated and isinstance(read, bool):
        read = not read
    # a row of no tokens: nothing is packed, or cut; a step of no prompts: they come one by one
    stands_for_none = read == 0 and key.fact in ("max_length", "train_batch_size")
    return {} if read is None or stands_for_none else {key.fact: read}


def _product(key: Key, value: str) -> dict[str, Value]:
    """The product of the sizes in one word; of a word in several parts those of the first part that has any, and is meant."""
    parts = re.split(r"[+|]", value) if key.part else value.partition(":")[2].split("|")
    for part in (part for part in parts if key.part is None or key.part.search(written.bare(part))):
        if key.product and (sizes := [int(size) for size in key.product.findall(part)]):
            return {key.fact: math.prod(sizes)}
    return {}


def _row(table: Mapping[str, Mapping[str, Value]], value: str) -> Mapping[str, Value]:
    """The row of a written word: as it stands, as the name of a file, as yes or no, or as the longest word inside a file's name.

    A row of ``*`` is that of any other word, and not of a variable, which may stand for any of them.
    """
    rows = {word.lower().removeprefix("torch."): facts for word, facts in table.items()}
    word = written.bare(value).lower().removeprefix("torch.")
    member = word.rpartition(".")[2] if _MEMBER.fullmatch(word) else word  # of an enumeration, or of a module
    stem = PurePosixPath(word).name.rsplit(".", 1)[0] if re.search(r"[/.]", word) else word
    shipped = next((row for row in rows if "/" in row and word.endswith(f"/{row}")), word)  # a file in somebody's copy
    for candidate in (word, shipped, written.dtype(word), stem, member):
        if candidate in rows:
            return rows[candidate]
    yes = written.truth(word)
    if yes is not None and str(yes).lower() in rows:
        return rows[str(yes).lower()]
    inside = [row for row in rows if len(row) >= 4 and (row in stem or (member != word and row in member))]
    if inside:
        return rows[max(inside, key=len)]
    if written.not_set(value) or _ANY_OTHER not in rows:
        return {}
    other = rows[_ANY_OTHER]
    if "$" not in word:
        return other
    # of a variable what every row says that says anything
    return {id: value for id, value in other.items() if all(row.get(id) == value for row in rows.values() if row)}
