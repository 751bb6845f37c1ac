"""How the reading changes when a text is damaged as people's pastes are: `damage/`, over a folder or a file of JSON lines.

``python benchmarks/damaged.py [PASTES] [--only NAME] [--show]``: a folder of ``*.txt`` (the tests' pastes by default) or a file with
one object with ``id`` and ``paste`` a line. A row of the table is one kind of damage: how many texts are read otherwise, how many
answers are other ones, new ones or lost, and which.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.damage import ADDS, BYTES, HARMLESS, LABELLED, LOSSY  # noqa: E402
from diagnose.facts import read_facts  # noqa: E402
from diagnose.facts.settings.keys import normal  # noqa: E402
from diagnose.ingest import read, read_stream  # noqa: E402
from diagnose.knowledge import current  # noqa: E402
from diagnose.types import Paste  # noqa: E402

Answer = dict[str, object]


def answer(paste: Paste) -> Answer:
    """Everything that a text says for certain, by name; keys as the program compares them."""
    facts = read_facts(paste, {}, current())
    said: Answer = {id: facts.values[id] for id, fact in facts.stated.items() if fact.certain and id in facts.values}
    said["framework"] = facts.fork.id if facts.fork else facts.values.get("framework")
    said |= {f"config {normal(key)}": value.strip("\"'").lower() for key, value in facts.config.items()}
    return {name: value for name, value in said.items() if value is not None}


def damaged(text: str, name: str) -> Paste:
    if name in BYTES:
        return read_stream([BYTES[name](text)])
    return read({**HARMLESS, **LABELLED, **LOSSY}[name](text))


def changes(before: Answer, after: Answer, added: Iterable[str] = ()) -> Iterable[tuple[str, str, object, object]]:
    """What became other, new or lost: kind of change, name, before, after."""
    for name in sorted({*before, *after} - {*added}):
        old, new = before.get(name), after.get(name)
        if old != new:
            yield (
                ("lost" if new is None or (name, new) == ("oom_kind", "other") else "new" if old is None else "other"),
                name,
                old,
                new,
            )


def compare(one: tuple[str, str, tuple[str, ...]]) -> list[tuple[str, str, str, str, object, object]]:
    """All changes of one text under the named damages."""
    id, text, names = one
    before = answer(read(text))
    return [
        (damage, id, *change)
        for damage in names
        for change in changes(before, answer(damaged(text, damage)), ADDS.get(damage, ()))
    ]


def texts(path: Path) -> Mapping[str, str]:
    if path.is_dir():
        return {str(file.relative_to(path)): file.read_text(encoding="utf-8") for file in sorted(path.rglob("*.txt"))}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row["paste"] for row in rows}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("pastes", nargs="?", type=Path, default=ROOT / "tests" / "pastes")
    options.add_argument("--only", action="append", help="one kind of damage; may be given again")
    options.add_argument("--show", action="store_true", help="also print every change")
    given = options.parse_args()
    pastes = texts(given.pastes)
    names = tuple(name for name in (*HARMLESS, *LABELLED, *BYTES, *LOSSY) if not given.only or name in given.only)
    with ProcessPoolExecutor(2) as pool:
        found = [
            row for rows in pool.map(compare, [(*one, names) for one in pastes.items()], chunksize=4) for row in rows
        ]
    print(f"{len(pastes)} texts\n{'':32}{'texts':>6}{'other':>7}{'new':>6}{'lost':>6}")
    total: Counter[str] = Counter()
    for name in names:
        rows = [row for row in found if row[0] == name]
        kinds = Counter(row[2] for row in rows)
        total.update(kinds)
        which = Counter(row[3].split()[0] for row in rows if name in HARMLESS or name in BYTES or row[2] != "lost")
        most = ", ".join(f"{what} {count}" for what, count in which.most_common(6))
        print(f"{name:32}{len({row[1] for row in rows}):6}{kinds['other']:7}{kinds['new']:6}{kinds['lost']:6}   {most}")
    print(f"{'all':38}{total['other']:7}{total['new']:6}{total['lost']:6}")
    if given.show:
        for damage, id, kind, name, old, new in sorted(found):
            print(f"{damage}: {id}: {kind}: {name}: {old!r} -> {new!r}")


if __name__ == "__main__":
    main()
