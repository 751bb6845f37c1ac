"""Runs that train nothing, where no command of a catalogue says so: scripts by their names, calls in code and traceback, words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from diagnose.facts.sentences.prose import place_of, span_of
from diagnose.types import Fact, Frame, Line, Paste, Span

_TRAINING_NAMES = frozenset(
    (
        "train",
        "training",
        "trainer",
        "finetune",
        "finetuning",
        "tune",
        "sft",
        "dpo",
        "ppo",
        "grpo",
        "rlhf",
        "rl",
        "reward",
        "reranker",
    )
)
_TASKS = {
    "merge": ("merge", "merging", "export", "convert", "combiner", "merger"),
    "quantize": ("quant", "quantize", "quantization", "quantizer", "gptq", "awq"),
    "evaluate": ("eval", "evaluate", "evaluation", "mmlu", "ceval", "cmmlu", "bench"),
    "infer": ("infer", "inference", "predict", "generate", "chat", "demo", "webui", "gradio", "api", "serve", "app"),
}
_SCRIPT = re.compile(r"(?:^|[\s/\\\\])(?P<name>[\w-]{1,80})\.py(?=\s|$)", re.A)
# calls of peft, of what writes merged weights, AutoAWQ, GPTQModel and llm-compressor that only change or write weights
_CALLED = {
    "merge_and_unload": "merge",
    "_unload_and_optionally_merge": "merge",
    "save_pretrained_merged": "merge",
    "save_pretrained_gguf": "merge",
    "oneshot": "quantize",
}
_CODE = (
    (
        "merge",
        re.compile(
            r"\.(?:merge_and_unload|save_pretrained_merged|save_pretrained_gguf)\(|^\w{1,20}: Merging .{0,20}LoRA weights",
            re.A,
        ),
    ),
    ("quantize", re.compile(r"^\s*oneshot\(", re.A)),
    ("infer", re.compile(r"^\s*(?:\w{1,40}\s*=\s*)?LLM\(\s*(?:model\s*=|['\"]|$)", re.A)),
    (
        "quantize",
        re.compile(
            r"\bAutoAWQForCausalLM\b|\bGPTQModel\.load\(|\bAutoGPTQForCausalLM\b|\bstart quantizing layer \d",
            re.A | re.I,
        ),
    ),
)
# an engine is put to sleep for a training beside it alone
_SLEEPS = re.compile(r"\benable_sleep_mode\s*=\s*True\b|\w\.sleep\(\s*level\s*=|\w\.wake_up\(", re.A)
_ALONE = {"rollout_mode": Fact("rollout_mode", "server", "derived", why="the script starts an engine alone")}
# what a script that trains holds, whatever else it does
TRAINS = re.compile(
    r"\.backward\(|\.train\(\s*\)|\btrainer\.train\(|Trainer\(|TrainingArguments\(|\boptimizer\.step\(|\bis_trainable\s*=\s*True"
    r"|\b(?:torch\.)?optim\.\w{2,20}\(|\(\s*[\w.]{1,60}\.parameters\(\)\s*,\s*lr\b",
    re.A,
)
_TRAINING_FRAMES = frozenset(("train", "training_step", "_inner_training_loop", "backward", "compute_loss", "fit"))
_WORDS = re.compile(
    r"推理(?:的?时候?|过程|阶段|代码|脚本|报错|会|就)|(?:做|跑|进行|用来)推理|推理.{0,12}(?:OOM|爆显存|显存不[足够]|报错)"
    r"|\b(?:during|doing|run(?:ning)?|at|for|my|only|just) inference\b|\binference (?:script|code|time|only)\b",
    re.I | re.A,
)
OF_TRAINING = re.compile(
    r"训练|微调|\b(?:pre)?train(?:ed|ing|er|s)?\b|fine-?tun|\b(?:lora|sft|dpo|ppo|grpo|rlhf|rollout|reward)\b",
    re.I | re.A,
)


def task_of(words: str, keys: Sequence[str] = ()) -> str:
    """What a command that trains nothing does, by its words and the keys that stand in it; empty where they do not tell."""
    parts = frozenset(re.split(r"[^a-z]+", words.lower()))
    told = [task for task, names in _TASKS.items() if not parts.isdisjoint(names)]
    if "merge" in told and any("quant" in key.lower() for key in keys):
        return "quantize"
    return told[0] if len(told) == 1 else ""


def names_idle_script(words: str) -> bool:
    """Whether the file that a command starts is named for something else than a training."""
    found = _SCRIPT.search(words)
    return found is not None and _idle_name(found["name"])


def idle_code(paste: Paste, speech: Sequence[Line], stated: Mapping[str, Fact]) -> dict[str, Fact]:
    """That a script without a command trains nothing: its last traceback, its file, its calls, or the person's words say so."""
    frames = _last_traceback(paste)
    if any(frame.function in _TRAINING_FRAMES for frame in frames):
        return {}
    for frame in frames:
        if frame.function in _CALLED:
            return told(_CALLED[frame.function], frame.function, place_of(paste, frame.line))
    if "algo" in stated or any(TRAINS.search(line.words) for line in paste.lines if len(line.words) < 2000):
        return {}
    named = [frame for frame in frames if frame.function == "<module>" and _idle_name(_file(frame.path))]
    if named:
        return told(task_of(_file(named[0].path)), _file(named[0].path) + ".py", place_of(paste, named[0].line))
    for task, line, match in _calls(paste):
        engine = "LLM(" in match[0]
        if engine and _SLEEPS.search(paste.text):
            return {}
        return told(task, match[0].strip(), span_of(line, match)) | (_ALONE if engine else {})
    return _by_words(speech)


def told(task: str, written: str, span: Span | None) -> dict[str, Fact]:
    """The facts of a run that trains nothing."""
    found = {"trains": Fact("trains", False, "read", written=written, span=span)}
    if task:
        found["task"] = Fact("task", task, "read", written=written, span=span)
    return found


def _by_words(speech: Sequence[Line]) -> dict[str, Fact]:
    """A sentence on inference, where none speaks of training."""
    if any(OF_TRAINING.search(line.words) for line in speech if len(line.words) < 2000):
        return {}
    for line in speech:
        if len(line.words) < 2000 and (found := _WORDS.search(line.words)):
            return told("infer", found[0], span_of(line, found))
    return {}


def _calls(paste: Paste) -> Iterator[tuple[str, Line, re.Match[str]]]:
    for line in paste.lines:
        for task, form in _CODE if len(line.words) < 2000 else ():
            if match := form.search(line.words):
                yield task, line, match


def _idle_name(name: str) -> bool:
    parts = [part for part in re.split(r"[^a-z]+", name.lower()) if part]
    if any(part in _TRAINING_NAMES for part in parts):
        return False
    return any(part in names for names in _TASKS.values() for part in (*parts[:1], *parts[-1:]))


def _last_traceback(paste: Paste) -> list[Frame]:
    last = max((frame.traceback for frame in paste.frames), default=None)
    return [frame for frame in paste.frames if frame.traceback == last]


def _file(path: str) -> str:
    return re.split(r"[/\\\\]", path)[-1].removesuffix(".py")
