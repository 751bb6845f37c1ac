"""An engine with which the trainer shares its weights: what the log says that it loaded is compared with all of that."""

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

NOTEBOOK = """Unsloth GRPO on a Kaggle T4
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "meta-llama/meta-Llama-3.1-8B-Instruct",
    max_seq_length = 2048,
    load_in_4bit = True,
    fast_inference = True,
    max_lora_rank = 32,
    gpu_memory_utilization = 0.4,
)
INFO 04-01 12:00:10 [worker.py:267] model weights take 5.44GiB; non_torch_memory takes 0.04GiB; PyTorch activation peak memory takes \
0.79GiB; the rest of the memory reserved for KV Cache is -0.37GiB.
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
"""


def test_what_it_loads_holds_the_weights_that_are_trained_on():
    compared = diagnose(NOTEBOOK, {}, current(), ()).estimate.compared
    shown = next(one for one in compared if one.measured.counter == "engine_weights")
    assert abs(shown.estimate - shown.measured.bytes) < 2**29
