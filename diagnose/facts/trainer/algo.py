"""The algorithm, by keys, commands and words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from diagnose.facts.failing.said import FAILURE
from diagnose.facts.models.narrow_head import of_head
from diagnose.facts.sentences.prose import clause_of, is_entry, moved_from, place_of, span_of
from diagnose.facts.settings import written
from diagnose.knowledge.records import Framework
from diagnose.types import Fact, Line, Paste
from diagnose.vocabulary import ONLINE_ALGOS

_WORDS = {
    "dapo": r"DAPO(?!-Math)", "gigpo": r"GiGPO", "gspo": r"GSPO", "dr_grpo": r"Dr[._]?\s?GRPO", "rloo": r"RLOO", "remax": r"ReMax",
    "reinforce++": r"REINFORCE(?:\+\+|[_ ]plus[_ ]plus"
    r"|pp)(?:[-_ ]baseline)?", "grpo": r"GRPO", "ppo": r"PPO", "orpo": r"ORPO", "kto": r"KTO",
    "gkd": r"GKD", "online_dpo": r"(?:online[-_ ]?DPO|在线\s?DPO)",
    "dpo": r"DPO", "sft": r"SFT(?:_trainer)?", "pretrain": r"(?:(?:continued\s+)?pre-?training"
    r"|(?:继续|增量|持续|二次)预训练)",
    "rm": r"(?:reward model(?:l?ing)?\s+train\w*|train\w*\s+(?:an?\s+|the\s+)?(?:reward model|RM)"
    r"|训练?\s*(?:一个\s*)?(?:RM|奖励模型)|奖励模型的?训练)",
    "embedding": r"(?:sentence[-_ ]?transformers?\w*|\w*NegativesRanking(?:Loss)?)",
}  # fmt: skip
# “DAPO-style PPO” is PPO
_STYLE = r"[- ](?:style|like|inspired)\b[^.,;:\n]{0,40}\b(?:GRPO|PPO|RLOO|REINFORCE|DPO)\b"
_SPOKEN = {
    algo: re.compile(
        rf"(?<![A-Za-z0-9_/.\-]){words}(?![A-Za-z0-9_])(?!-\d)(?!['\"]\s{{0,4}}:|:\s{{0,4}}$)(?!{_STYLE})", re.I | re.A
    )
    for algo, words in _WORDS.items()
}
_LOSSES = ("orpo", "kto", "simpo", "cpo", "ipo")
_DENIED = re.compile(r"(?:\bnot|\binstead of|\brather than|\bunlike|不是|没用|不用)\s*(?:the\s+|a\s+)?$", re.I | re.A)
ANY_SPOKEN = re.compile("|".join(_WORDS.values()), re.I | re.A)
# a script that is named in a sentence: its name ends with what it does
_IN_SCRIPT = re.compile(
    r"(?<![A-Za-z0-9.])(online_dpo|dpo_online|dapo|gspo|rloo|grpo|kto|orpo|dpo|gkd)(?:[_\-]\w{1,40}|_trainer/[\w.\-]{1,80})?\.(?:sh|py|ya?ml)\b"
    r"|(?<![A-Za-z0-9.])(ppo)_trainer/[\w.\-]{1,80}\.sh\b",
    re.I | re.A,
)
# the same of a trainer without answers of its own, at the start of a line, behind a name and its version at most, or named as what runs:
# “train_dpo mixtral-8x7b, zero3, bs 1”
_STARTED = re.compile(
    r"(?:^[\s>*\-$]*(?:(?!not\b|no\b)[A-Za-z][\w\-]{1,30}\s+(?:v?\d[\w.]{0,12}\s+)?)?|\b(?:run(?:ning)?|using|with|script)\s+|[跑用]\s*)train_(dpo|kto|sft|rm)(?:\.py|\.sh)?(?![\w./])",
    re.I | re.A,
)
# the module or script that a command starts, and classes of a trainer in a traceback
_IN_COMMAND = re.compile(
    r"(?:^|[/_.\-])(online_dpo|dpo_online|dapo|gspo|rloo|grpo|kto|orpo|cpo|dpo|sft|rm|reward_modeling|gkd)(?=$|[_/.\-\s])|(?<=train_)(ppo|reward_model)(?=$|[_/.\-\s])|(?:(?<=/)|^)(ppo)(?=\.py)",
    re.I | re.A,
)
# the script or the module of a launcher's summary (torch/distributed/elastic/multiprocessing/errors: ChildFailedError.format_msg)
_FAILED = re.compile(r"(?:^|\s)([\w./‹›-]{4,200}) FAILED\s*$", re.A)
_CONTINUED = re.compile(r"(?:^|/)pt(?:\.py)?$", re.A)
_TRAINER = re.compile(
    r"\b(?:[A-Z][a-z]+)??(GRPO|OnlineDPO|DPO|PPO|SFT|KTO|ORPO|CPO|GKD|RLOO|Reward)(?:v2)?(?:Trainer|Config)\b"
    r"|\b(grpo|online_dpo|dpo|rloo|kto|orpo|cpo|sft)_trainer\.py",
    re.A,
)

# a preference loss on answers that the model samples itself (huggingface/trl v0.18.0 trl/trainer/online_dpo_trainer.py)
_SPELLED = {
    "onlinedpo": "online_dpo",
    "dpo_online": "online_dpo",
    "reward": "rm",
    "reward_modeling": "rm",
    "reward_model": "rm",
}

# transformers' own trainer, its examples, or what people call it
_SUPERVISED = re.compile(
    r"transformers/trainer(?:_seq2seq)?\.py|\b(?:Seq2Seq)?Train(?:ingArguments|er)\(|\brun_clm\.py|\bfine-?\s?tun(?:e|es|ed|ing)\b|微调"
    r"|\b(?:HF|Hugging ?Face|transformers)(?:['’]s)? Trainer\b|\bSeq2SeqTrainer\b",
    re.I | re.A,
)
_ONLINE = re.compile(
    r"\bRL(?:HF|VR|AIF)?\b|\breinforce|reward|rollout|vllm|sglang|\bpolicy\b|\bcritic\b|\bactor\b|advantage|preference|chosen"
    r"|distill|teacher|num_generations|强化|奖励|偏好|蒸馏",
    re.I | re.A,
)
_SAMPLES = (
    "rollout_n",
    "rollout_engine",
    "gpu_memory_utilization",
    "has_ref",
    "has_critic",
    "response_length",
    "trains",
)

_WELL = re.compile(
    r"\b(?:fine|works?|worked|fits?|runs?|ok|okay|no (?:cuda )?OOMs?)\b|可以|能跑|没问题|没事|正常|不会?(?:爆|炸|OOM)|没爆",
    re.I | re.A,
)


_RECIPES = ("dapo", "gigpo", "gspo")


def read_algo(
    paste: Paste, speech: Sequence[Line], stated: Mapping[str, Fact], framework: Framework | None = None
) -> Fact | None:
    """A recipe by name outranks the estimator's key; then keys, the command, a trainer's class, words."""
    keyed = stated.get("algo")
    if keyed is not None and keyed.origin == "answered":
        return None
    if keyed is not None and keyed.value == "dpo" and (loss := _of_loss(paste)):
        return loss
    command = _of_command(paste)
    words = _of_started(speech) or _of_words(speech)
    samples = stated.get("rollout_n")
    if words and words.value not in ONLINE_ALGOS and samples is not None and samples.origin == "read":
        words = None  # a run that samples answers is not what a heading beside it names
    if words and words.value not in _RECIPES and _has_critics_keys(paste, stated, framework):
        words = None
    if keyed is not None:
        recipe = next((fact for fact in (command, words) if fact and fact.value in _RECIPES), None)
        return recipe if keyed.value in ONLINE_ALGOS else None
    return (
        _of_loss(paste)
        or command
        or _of_failed(paste)
        or _of_trainer(paste)
        or of_head(paste)
        or words
        or _of_script(speech)
    )


def _has_critics_keys(paste: Paste, stated: Mapping[str, Fact], framework: Framework | None) -> bool:
    """Whether the only command, which is whole, sets a critic's own keys and leaves the estimator to a trainer that then has a critic."""
    if framework is None or len(paste.commands) != 1 or paste.commands[0].cut or "rollout_n" in stated:
        return False
    usual = next((one.facts["algo"] for one in framework.defaults if "algo" in one.facts and not one.when), None)
    of_command = {setting.key for setting in paste.settings if setting.command == 0}
    return usual == "ppo" and any(id.startswith("critic_") and fact.key in of_command for id, fact in stated.items())


def supervised(paste: Paste, stated: Mapping[str, Fact], framework: Framework | None) -> Fact | None:
    """Fine-tuning on a data set, where the text speaks of that or of the plain trainer and nowhere of samples, rewards or pairs.

    Not of a trainer with an algorithm by default: people call that fine-tuning as well.
    """
    takes = framework is None or not any(
        "algo" in one.facts and not one.when and not one.script for one in framework.defaults
    )
    if "algo" in stated or not takes or any(id in stated for id in _SAMPLES):
        return None
    if any(_ONLINE.search(line.words) for line in paste.lines):
        return None
    for line in paste.lines:
        if found := _SUPERVISED.search(line.words):
            why = "fine-tuning, without a word of samples, rewards or pairs"
            return Fact("algo", "sft", "assumed", written=found[0], span=span_of(line, found), why=why)
    return None


def _of_loss(paste: Paste) -> Fact | None:
    """A preference loss that has a name of its own outranks the stage that it belongs to."""
    for setting in paste.settings:
        value = written.bare(setting.value).lower()
        if setting.key.lower().rsplit(".", 1)[-1] == "pref_loss" and value in _LOSSES:
            return Fact("algo", value, "read", "", setting.key, setting.value, setting.span)
    return None


def _of_script(speech: Sequence[Line]) -> Fact | None:
    """The algorithm by the only one that the names of scripts in the text, or of their folder, tell."""
    found = [(line, match) for line in speech for match in _IN_SCRIPT.finditer(line.words)]
    if len({_named(match[1] or match[2]) for _, match in found}) != 1:
        return None
    line, match = found[0]
    group = 1 if match[1] else 2
    return Fact("algo", _named(match[group]), "read", written=match[0], span=span_of(line, match, group))


def _of_started(speech: Sequence[Line]) -> Fact | None:
    """The algorithm of a trainer on a data set by its script's name in words; None where several are named so, or one that samples."""
    if any("train_ppo" in line.words for line in speech):
        return None
    found = [(line, match) for line in speech for match in _STARTED.finditer(line.words)]
    if len({match[1].lower() for _, match in found}) != 1:
        return None
    line, match = found[0]
    return Fact("algo", match[1].lower(), "read", written=match[0].strip(), span=span_of(line, match, 1))


def _of_command(paste: Paste) -> Fact | None:
    modules = {setting.command: setting.value for setting in paste.settings if setting.key == "module"}
    for number, command in enumerate(paste.commands):
        for word in (*((modules[number],) if number in modules else ()), *reversed(command.words)):
            if _CONTINUED.search(word):
                return Fact("algo", "pretrain", "read", written=word, span=place_of(paste, command.first_line))
            if found := _IN_COMMAND.search(word):
                algo = _named(next(group for group in found.groups() if group))
                return Fact("algo", algo, "read", written=word, span=place_of(paste, command.first_line))
    return None


def _of_failed(paste: Paste) -> Fact | None:
    for line in paste.lines:
        script = _FAILED.search(line.words) if "FAILED" in line.words else None
        if script and (found := _IN_COMMAND.search(script[1])):
            algo = _named(next(group for group in found.groups() if group))
            return Fact("algo", algo, "read", written=script[1], span=span_of(line, script, 1))
    return None


def _named(word: str) -> str:
    """The algorithm by a class's or a script's spelling of it."""
    return _SPELLED.get(word.lower(), word.lower())


def _of_trainer(paste: Paste) -> Fact | None:
    for line in paste.lines:
        named = ("rainer" in line.words or "Config" in line.words) and not is_entry(line.words)
        if named and (found := _TRAINER.search(line.words)):
            return Fact("algo", _named(found[1] or found[2]), "read", written=found[0], span=span_of(line, found))
    return None


def _of_words(speech: Sequence[Line]) -> Fact | None:
    """The algorithm that the words name; of several the online one that stands first, then the first."""
    found: dict[str, Fact] = {}
    for line in speech:
        if not ANY_SPOKEN.search(line.words):
            continue
        places = [(match.start(), algo, match) for algo, form in _SPOKEN.items() for match in form.finditer(line.words)]
        places = [
            place
            for place in places
            if not (other_failed(line.words, place[2], ANY_SPOKEN) or _left(line.words, place[2]))
        ]
        for _, algo, match in sorted(places, key=lambda place: place[0]):
            found.setdefault(algo, Fact("algo", algo, "read", written=match[0], span=span_of(line, match)))
    if "dapo" in found:
        return found["dapo"]
    online = [fact for algo, fact in found.items() if algo in ONLINE_ALGOS]
    return next(iter(online or found.values()), None)


def _left(words: str, found: re.Match[str]) -> bool:
    """Whether the words deny this one, or moved from it: “from PPO to GRPO”, “not PPO but GRPO”."""
    return bool(_DENIED.search(words[: found.start()][-24:])) or moved_from(words, found)


def other_failed(words: str, found: re.Match[str], names: re.Pattern[str]) -> bool:
    """Whether all went well with this one, and another failed behind it: “QLoRA 可以跑，LoRA 就爆显存”."""
    _, clause = clause_of(words, found)
    rest = words[found.end() :]
    failed = FAILURE.search(_WELL.sub("", clause))
    return bool(_WELL.search(clause) and not failed and FAILURE.search(_WELL.sub("", rest)) and names.search(rest))
