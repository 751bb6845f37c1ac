"""Which phases a traceback leaves where it settles none: engines, and the libraries of a pass of the trained model, serve several.

transformers v4.57.1 src/transformers/models/*/modeling_*.py, activations.py, integrations/; Megatron-LM core_v0.14.0 megatron/core;
Liger-Kernel v0.6.2 src/liger_kernel; TransformerEngine v2.8 transformer_engine/pytorch; torch v2.8.0 torch/autograd and
torch/utils/checkpoint.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from diagnose.facts.phase import deepest_first
from diagnose.types import Frame, Hit, Paste

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


def among(paste: Paste, hits: Sequence[Hit]) -> tuple[str, ...]:
    """The phases in which alone the traceback of the failure can stand; empty where it may be any."""
    frames = _of_failure(deepest_first(paste, hits))
    paths = [frame.path for frame in frames]
    if _meets(paths, _OF_ENGINES):
        return _ENGINE
    if any(frame.function in _OF_NO_PASS for frame in frames):
        return ()
    if _meets(paths, (_SAMPLING,)):
        return ("rollout", "eval")
    # not ``apply`` of torch/autograd/function.py: it calls both ways
    backward = [frame.path for frame in frames if frame.function in ("backward", "_engine_run_backward")]
    if _meets(backward, _OF_BACKWARD):
        return _BACKWARD
    return _FORWARD if _meets(paths, _OF_A_PASS) else ()


def _of_failure(frames: Iterable[Frame]) -> list[Frame]:
    """The frames of the deepest one's traceback."""
    found = list(frames)
    return [frame for frame in found if frame.path and frame.traceback == found[0].traceback]


def _meets(paths: Iterable[str], parts: Sequence[str]) -> bool:
    return any(part in path for path in paths for part in parts)
