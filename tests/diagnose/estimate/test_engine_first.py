"""An engine that a script makes in its own process before it loads the model that it trains."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

ENGINE = 'llm = LLM(model="Qwen/Qwen2.5-3B-Instruct", dtype="bfloat16", max_model_len=4096{more})\n'
MODEL = 'model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B-Instruct", torch_dtype=torch.bfloat16).cuda()\n'
OPTIMIZER = "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)\n"
FAILED = (
    '  File "/w/grpo.py", line 31, in <module>\n    model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B-Instruct").cuda()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 44.00 MiB. GPU 0 has a total capacity of 23.52 GiB of which "
    "27.81 MiB is free. Including non-PyTorch memory, this process has 23.46 GiB memory in use.\n"
)


def run(code: str):
    return diagnose(f"home-made GRPO loop, one RTX 4090\n\n{code}\n{FAILED}", {}, current(), ())


def test_its_share_stands_on_the_card_when_the_model_is_loaded():
    found = run(ENGINE.format(more="") + MODEL + OPTIMIZER)
    assert found.phase == "load"
    assert found.verdict == "out"
    assert {"engine_weights", "kv_pool"} <= {term.id for term in found.estimate.gpu.phase("load").terms}
    assert found.prescriptions[0].lever.slug == "rollout.sleep_mode.on"
    assert "hardware.more_gpus" not in [one.lever.slug for one in found.prescriptions if one.after_verdict == "fits"]


def test_the_share_that_it_is_given_counts():
    facts = run(ENGINE.format(more=", gpu_memory_utilization=0.3") + MODEL + OPTIMIZER).facts
    assert facts.values["gpu_memory_utilization"] == 0.3


@pytest.mark.parametrize(
    "code",
    [
        MODEL + OPTIMIZER + ENGINE.format(more=""),
        ENGINE.format(more=', device="cuda:1"') + MODEL + OPTIMIZER,
        ENGINE.format(more="") + "llm.sleep(level=1)\n" + MODEL + OPTIMIZER,
        "# " + ENGINE.format(more="") + MODEL + OPTIMIZER,
    ],
)
def test_an_engine_that_comes_later_sleeps_or_stands_elsewhere_does_not(code):
    assert "engine_first" not in run(code).facts.values
