"""A card's size behind what is used of it, as people write both: “76G/80G”, “22.1 / 24GB”."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.failing.kind import spoken_pool
from diagnose.facts.sentences.prose import span_of
from diagnose.knowledge.hardware import Gpu
from diagnose.types import Fact, Line

_USED_OF = re.compile(
    r"(?<![\w./-])(?P<used>\d{1,3}(?:\.\d{1,2})?)\s*(?:G(?:i?B)?)?\s*/\s*(?P<size>\d{2,3})\s*G(?:i?B)?(?![\w/.])",
    re.I | re.A,
)
_OF_ANOTHER = re.compile(r"/dev/shm|\b(?:shm|disk|swap|quota|pod|container)\b|磁盘|硬盘|容器", re.I | re.A)


def used_of_card(speech: Sequence[Line], gpus: Mapping[str, Gpu]) -> dict[str, Fact]:
    """The size of the card, where what it is called to have is one that cards are sold with."""
    sold = {float(size) for gpu in gpus.values() for size in gpu.sizes}
    for line in speech:
        found = _USED_OF.search(line.words)
        if found is None or _OF_ANOTHER.search(line.words) or spoken_pool(line.words) == "host":
            continue
        size = float(found["size"])
        if size in sold and float(found["used"]) <= size:
            return {"gpu_mem_gib": Fact("gpu_mem_gib", int(size), "read", written=found[0], span=span_of(line, found))}
    return {}
