"""What a trainer prints before its first step: how many rows a step takes, and how many parameters are trained.

Forms: huggingface/transformers src/transformers/trainer.py (_inner_training_loop), huggingface/peft src/peft/peft_model.py
(print_trainable_parameters), modelscope/ms-swift swift/utils/torch_utils.py (get_model_parameter_info), unslothai/unsloth
unsloth/models/_utils.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.sentences.prose import span_of
from diagnose.types import Fact, Line

_N = r"(?P<n>\d{1,3}(?:,\d{3}){1,4}|\d{1,13})"
_ROWS = {
    "each": re.compile(rf"\bInstantaneous batch size per device\s*=\s*{_N}", re.A),
    "passes": re.compile(rf"\bGradient Accumulation steps\s*=\s*{_N}", re.A | re.I),
    "all": re.compile(rf"\bTotal train batch size \(w\. parallel, distributed & accumulation\)\s*=\s*{_N}", re.A),
}
_TRAINED = (
    re.compile(rf"\bNumber of trainable parameters\s*=\s*{_N}", re.A),
    re.compile(
        rf"\btrainable params:\s*{_N}\s*\|\|\s*all params:\s*(?P<all>\d{{1,3}}(?:,\d{{3}}){{1,4}}|\d{{4,13}})", re.A
    ),
    re.compile(
        rf"\bTrainable parameters\s*=\s*{_N}(?:\s*/\s*|\s+of\s+)(?P<all>\d{{1,3}}(?:,\d{{3}}){{1,4}}|\d{{4,13}})", re.A
    ),
    re.compile(r"\b(?P<allm>\d{1,7}\.\d{1,4})M Params \((?P<m>\d{1,7}\.\d{1,4})M Trainable", re.A),
)
# modelscope/ms-swift v2.6.1 to v3.12 (llm/argument/base_args/base_args.py) and hiyouga/LLaMA-Factory v0.9.2 (hparams/parser.py); alone, a
# process may have several cards
_RANKS = (
    re.compile(
        r"\brank: \d{1,5}, local_rank: \d{1,3}, world_size: (?P<n>\d{1,5}), local_world_size: (?P<each>\d{1,3})\b", re.A
    ),
    re.compile(
        r"\bProcess rank: \d{1,5}, world size: (?P<n>\d{1,5}), device: cuda:\d{1,3}, distributed training: True\b", re.A
    ),
)
_OF_A_BANNER = ("batch size", "ccumulation", "rainable")
# Of a model's parameters adapters are at most this share; one layer of thirty is more.
_ADAPTERS = 0.03
_ALL = 0.97


def ranks(lines: Sequence[Line]) -> dict[str, Fact]:
    """The cards by the processes of which each says which one of how many it is."""
    for line in lines:
        if "orld" not in line.words or not (
            match := next((m for form in _RANKS if (m := form.search(line.words))), None)
        ):
            continue
        counts = {"n_gpus": int(match["n"]), "gpus_per_node": int(match.groupdict().get("each") or 0)}
        if counts["gpus_per_node"] and counts["n_gpus"] % counts["gpus_per_node"] == 0:
            counts["n_nodes"] = counts["n_gpus"] // counts["gpus_per_node"]
        why, span = "as many processes, each with a card of its own", span_of(line, match)
        return {
            id: Fact(id, count, "derived", written=match[0], span=span, why=why)
            for id, count in counts.items()
            if count
        }
    return {}


def processes(lines: Sequence[Line]) -> dict[str, Fact]:
    """The processes that train on rows of their own, which the rows of a step tell."""
    found: dict[str, tuple[int, Line, re.Match[str]]] = {}
    for line in _printed(lines):
        for id, form in _ROWS.items():
            if match := form.search(line.words):
                found[id] = _count(match["n"]), line, match
    if found.keys() != _ROWS.keys():
        return {}
    (each, _, _), (passes, _, _), (all, line, match) = found["each"], found["passes"], found["all"]
    if not each or not passes or all % (each * passes) or all < each * passes:
        return {}
    number = all // (each * passes)
    why = f"{all:,} rows a step = {each:,} × {passes:,} × {number:,}"
    return {"n_gpus": Fact("n_gpus", number, "derived", written=match[0], span=span_of(line, match), why=why)}


def trained(lines: Sequence[Line], stated: Mapping[str, Fact]) -> Fact | None:
    """Adapters or all parameters, by the share that is trained; None where it is neither or the whole is not known."""
    billions = stated["params_b"].value if "params_b" in stated else None
    known = float(billions) * 1e9 if isinstance(billions, int | float) else None
    for line in _printed(lines):
        for form in _TRAINED:
            if match := form.search(line.words):
                return _by_share(line, match, known, "quantization" in stated)
    return None


def _by_share(line: Line, match: re.Match[str], known: float | None, quantized: bool) -> Fact | None:
    groups = match.groupdict()
    part = float(groups["m"]) * 1e6 if groups.get("m") else float(_count(match["n"]))
    whole = (
        float(groups["allm"]) * 1e6
        if groups.get("allm")
        else float(_count(groups["all"]))
        if groups.get("all")
        else known
    )
    if not whole or not part:
        return None
    kind = ("qlora" if quantized else "lora") if part <= whole * _ADAPTERS else "full" if part >= whole * _ALL else ""
    why = f"{part / 1e6:,.1f} million parameters are trained"
    span = span_of(line, match)
    return Fact("full_or_lora", kind, "derived", written=match[0], span=span, why=why) if kind else None


def _printed(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if len(line.words) < 2000 and any(part in line.words for part in _OF_A_BANNER)]


def _count(text: str) -> int:
    return int(text.replace(",", ""))
