"""Which phases a traceback leaves where it settles none: engines, and the libraries of a pass of the trained model, serve several.

transformers v4.57.1 src/transformers/models/*/modeling_*.py, activations.py, integrations/; Megatron-LM core_v0.14.0 megatron/core;
Liger-Kernel v0.6.2 src/liger_kernel; TransformerEngine v2.8 transformer_engine/pytorch; torch v2.8.0 torch/autograd and
torch/utils/checkpoint.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from diagnose.facts.failing.phase import deepest_first
from diagnose.facts.failing.signature import is_mark
from diagnose.knowledge.records import Framework
from diagnose.types import Facts, Frame, Hit, Line, Paste
from diagnose.vocabulary import POOL_OF_KIND

# the rollout where transformers samples as well
_FORWARD = ("rollout", "logprob", "ref_logprob", "values", "reward", "critic", "actor_update", "eval")
_BACKWARD = ("critic", "actor_update")
_OF_A_PASS = (
    "transformers/models/",
    "transformers/activations.py",
    "transformers/integrations/",
    "liger_kernel/",
    "megatron/core/fusions/",
    "megatron/core/models/",
    "megatron/core/ssm/",
    "megatron/core/tensor_parallel/",
    "megatron/core/transformer/",
    "transformer_engine/pytorch/",
)
# models are built, and steps are made, by files of the same folders
_OF_NO_PASS = (
    "__init__",
    "_init_weights",
    "from_config",
    "from_pretrained",
    "load_state_dict",
    "sharded_state_dict",
    "step",
)
_OF_BACKWARD = ("torch/autograd/", "torch/_tensor.py", "torch/utils/checkpoint.py", "deepspeed/runtime/engine.py")
# an engine has models of its own, or works with those of transformers
_OF_ENGINES = ("vllm/", "sglang/", "lmdeploy/")
_ENGINE = ("init", "weight_sync", "rollout")
_SAMPLING = "transformers/generation/"
# a process that holds an engine alone, as it or Ray names it before its lines: vLLM’s v1/executor/multiproc_executor.py and
# v1/engine/core.py; verl v0.9.0 workers/rollout/vllm_rollout/vllm_async_server.py; slime backends/sglang_utils/sglang_engine.py;
# OpenRLHF trainer/ray/vllm_engine.py; NeMo RL models/generation; Open Instruct vllm_utils.py
_ENGINE_PROCESS = re.compile(
    r"\((?:\w*(?:vllm|sglang)\w*|EngineCore\w*|Worker_[TPDE]P\w*|LLMRayActor|RolloutRayActor|RayWorkerWrapper)[ )]",
    re.A | re.I,
)
_ENGINE_ROLE = "rollout_"
_NAMED = r"(?:EngineCore\b|(?:vllm|sglang)(?:['’]s)? (?:engine|worker|server|process))"
_ENGINE_SAID = re.compile(
    rf"\b(?:OOM|out of memory)(?: errors?)? (?:in|inside|of) (?:the |an? )?{_NAMED}"
    rf"|\b{_NAMED}(?: process(?:es)?)? (?:runs |ran |goes |went |gets |is )?(?:OOMs?\b|out of memory)",
    re.A | re.I,
)
# torch/nn/functional.py: what is taken of logits, in a loss and for log-probs. An evaluation has frames of its own
_OF_LOGITS = ("log_softmax", "cross_entropy")
_LOGITS = ("logprob", "ref_logprob", "actor_update")
# what makes the fp32 weights of an optimizer before any step: deepspeedai/DeepSpeed v0.16.4 runtime/engine.py, runtime/zero/stage3.py,
# runtime/zero/stage_1_and_2.py; Megatron-LM core_v0.14.0 megatron/core/optimizer/distrib_optimizer.py
_BUILDS = (
    "_configure_zero_optimizer",
    "_create_fp32_partitions",
    "_setup_for_real_optimizer",
    "initialize_optimizer_states",
    "_build_model_and_main_param_groups",
)
_BUILDS_SAID = re.compile(rf"\b(?:{'|'.join(_BUILDS)})\b|\binitiali[sz]ing (?:the )?optimi[sz]er\b", re.A | re.I)
# the frame's own line of code, where the frames below it were cut off
_BUILDS_CALLED = re.compile(rf"\.(?:{'|'.join(_BUILDS)})\(", re.A)
_LOGITS_SAID = re.compile(r"\b(?:log[_ ]softmax|cross[_ -]entropy)\b(?!\s*[:=])", re.A | re.I)


def with_traceback(facts: Facts, paste: Paste) -> Facts:
    """With what the traceback of the failure leaves open, and what it shows to be through."""
    hits = facts.hits
    alone, through = among(paste, hits, facts.framework), layers_through(paste, hits)
    return replace(facts, among=alone, layers_through=through, builds_optimizer=builds_optimizer(paste, hits))


def among(paste: Paste, hits: Sequence[Hit], framework: Framework | None = None) -> tuple[str, ...]:
    """The phases in which alone the traceback of the failure can stand; empty where it may be any."""
    frames = _of_failure(deepest_first(paste, hits))
    paths, failures = [frame.path for frame in frames], _of_card(paste, hits)
    pools = any(hit.signature.gives.get("engine_maps_pool") for hit in hits)  # an engine alone maps its pool
    if _meets(paths, _OF_ENGINES) or pools or _in_engine(failures, hits) or _called_as_engine(paste, hits, framework):
        return _ENGINE
    if roles := _of_roles(deepest_first(paste, hits), framework):
        return roles
    if any(frame.function in _OF_NO_PASS for frame in frames):
        return ()
    if _meets(paths, (_SAMPLING,)):
        return ("rollout", "eval")
    if _goes_back(frames):
        return _BACKWARD
    if _takes_logits(frames):
        return _LOGITS
    if not frames and any(_LOGITS_SAID.search(line.words) for line in failures):
        return _LOGITS
    return _FORWARD if _meets(paths, _OF_A_PASS) else ()


def layers_through(paste: Paste, hits: Sequence[Hit]) -> bool:
    """Whether the traceback of the failure stands behind the forward pass of all layers: in its loss, or in the backward pass."""
    frames = _of_failure(deepest_first(paste, hits))
    return _goes_back(frames) or _takes_logits(frames)


def builds_optimizer(paste: Paste, hits: Sequence[Hit]) -> bool:
    """Whether the failure stands where the trainer makes the fp32 weights of the optimizer, before any step."""
    frames = _of_failure(deepest_first(paste, hits))
    if not frames:
        return any(_BUILDS_SAID.search(line.words) for line in _of_card(paste, hits))
    words = {line.number: line.words for line in paste.lines}
    calls = any(_BUILDS_CALLED.search(words.get(frame.line + 1, "")) for frame in frames if frame.path)
    return calls or any(frame.function in _BUILDS for frame in frames)


def _of_roles(frames: Iterable[Frame], framework: Framework | None) -> tuple[str, ...]:
    """The phases of a pass that several roles make alike, where nothing tells whose process it was."""
    for frame in frames:
        entries = [one for one in framework.frames if one.function == frame.function] if framework else []
        if entries:
            here = {one.phase for one in entries if one.process and (not frame.path or one.path in frame.path)}
            return tuple(phase for phase in _FORWARD if phase in here) if len(here) > 1 else ()
    return ()


def _goes_back(frames: Sequence[Frame]) -> bool:
    # not ``apply`` of torch/autograd/function.py: it calls both ways
    backward = [frame.path for frame in frames if frame.function in ("backward", "_engine_run_backward")]
    return _meets(backward, _OF_BACKWARD)


def _takes_logits(frames: Sequence[Frame]) -> bool:
    return any(frame.function in _OF_LOGITS and "torch/" in frame.path for frame in frames)


def _of_card(paste: Paste, hits: Sequence[Hit]) -> list[Line]:
    """The lines that tell that a card ran out, or that something did."""
    kinds = {hit.span.line: hit.signature.kind for hit in hits if not is_mark(hit.signature)}
    return [
        line for line in paste.lines if line.number in kinds and POOL_OF_KIND.get(kinds[line.number], "gpu") == "gpu"
    ]


def _in_engine(failures: Sequence[Line], hits: Sequence[Hit]) -> bool:
    """Whether processes that hold an engine alone print every one of the failures, or a person says that one failed."""
    programs = {hit.span.line for hit in hits if hit.signature.strength > 1}  # what people say of it has no process
    printed = [line for line in failures if line.number in programs] or failures
    by_engines = all(_ENGINE_PROCESS.search(line.text[: line.offset]) for line in printed)
    return bool(failures) and (by_engines or any(_ENGINE_SAID.search(line.words) for line in failures))


def _called_as_engine(paste: Paste, hits: Sequence[Hit], framework: Framework | None) -> bool:
    """Whether Ray called the failure by a name that has the engine's role in front: a group of workers that hold nothing else.

    (volcengine/verl v0.7.0 single_controller/ray/base.py: _bind_workers_method_to_parent; one that trains as well is actor_rollout.)
    """
    known = {one.function for one in framework.frames} if framework else set()
    calls = (frame.function for frame in deepest_first(paste, hits) if not frame.path)
    return any(call.startswith(_ENGINE_ROLE) and call in known for call in calls)


def _of_failure(frames: Iterable[Frame]) -> list[Frame]:
    """The frames of the deepest one's traceback."""
    found = list(frames)
    return [frame for frame in found if frame.path and frame.traceback == found[0].traceback]


def _meets(paths: Iterable[str], parts: Sequence[str]) -> bool:
    return any(part in path for path in paths for part in parts)
