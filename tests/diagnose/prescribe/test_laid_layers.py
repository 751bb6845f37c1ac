"""One process that lays the layers of a model over all the cards it sees: device_map="auto"."""

from __future__ import annotations

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

_RUN = (
    'model = AutoModelForCausalLM.from_pretrained("meta-llama/Llama-2-13b-hf", device_map="auto", torch_dtype=torch.bfloat16)\n'
    "trainer = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=2, gradient_checkpointing=True, bf16=True))\n"
    "2 x RTX 3090, python train.py\n"
    '  File "/x/torch/optim/adamw.py", line 600, in _init_group\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 270.00 MiB.\n"
)


def test_more_cards_hold_fewer_layers_each() -> None:
    found = diagnose(_RUN, {}, current(), ())
    (more,) = (one for one in found.prescriptions if one.lever.slug == "hardware.more_gpus")
    assert {change.fact: change.after for change in more.changes}["cards_per_process"] == "8"


def test_one_process_holds_one_copy_on_the_host() -> None:
    """13 billion parameters in 16 bits, once: 24 GiB."""
    found = diagnose(_RUN, {}, current(), ())
    assert found.estimate.host is not None
    load = found.estimate.host.phase("load")
    assert load is not None
    (loading,) = (term for term in load.terms if term.id == "loading")
    assert 23 < loading.bytes / 2**30 < 26
