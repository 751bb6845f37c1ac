"""What lines of a traceback prove of the run that failed, whatever is set or told of it: that run went through the code they name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from diagnose.facts.failing.signature import is_mark
from diagnose.types import Fact, Hit
from diagnose.vocabulary import Value

# A model beside the policy may be sharded in another way. The reference mostly is not: it yields where a setting says how the policy is
# (alibaba/ROLL examples/qwen3-8B-rlvr_fsdp2/rlvr_config.yaml trains with FSDP2 beside a reference under Megatron).
_OF_OTHERS = ("critic", "values", "reward")
_OF_REFERENCE = "ref_logprob"


@dataclass(frozen=True, slots=True)
class Proof:
    """The values of a fact that a line leaves open, likeliest first, and the line; whether it ``yields`` to what is set."""

    values: tuple[Value, ...]
    hit: Hit
    yields: bool = False

    def denies(self, value: Value) -> bool:
        return not self.yields and value not in self.values


Proofs = Mapping[str, Proof]


def proofs(hits: Sequence[Hit], failed: Mapping[str, Fact], answered: Collection[str]) -> dict[str, Proof]:
    """Fact → what is proven of it: nothing where lines of two runs exclude each other, or where a person answers."""
    found: dict[str, list[Proof]] = {}
    phase = failed["phase"].value if "phase" in failed else None
    for hit in hits:
        if not is_mark(hit.signature) or hit.signature.strength < 2:
            continue
        left = {id: (value,) for id, value in hit.signature.gives.items()} | dict(hit.signature.leaves)
        for id, values in left.items():
            found.setdefault(id, []).append(Proof(values, hit, phase == _OF_REFERENCE))
    if phase in _OF_OTHERS:
        return {}
    return {
        id: several[0]
        for id, several in found.items()
        if id not in answered and len({one.values for one in several}) == 1
    }


def known(proven: Proofs) -> dict[str, Fact]:
    """What is proven down to one value."""
    return {
        id: Fact(id, proof.values[0], "read", span=proof.hit.span)
        for id, proof in proven.items()
        if len(proof.values) == 1 and not proof.yields
    }


def left_open(proven: Proofs, stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """The likeliest of several values that a line leaves open, where what is told is none of them or nothing is told."""
    return {
        id: Fact(id, proof.values[0], "assumed", why=proof.hit.signature.title)
        for id, proof in proven.items()
        if id not in stated or proof.denies(stated[id].value)
    }
