"""An evaluation that runs out: what it keeps comes first, and steps that went through tell nothing of its rows."""

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

TEXT = """HF Trainer SFT of Qwen2.5-1.5B on one RTX 4090. Training is fine, but at the first evaluation (step 500) it dies:
  File "/x/transformers/trainer.py", line 4371, in evaluation_loop
    all_preds.add(logits)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4.64 GiB. GPU 0 has a total capacity of 23.64 GiB of which 3.71 GiB is free.
TrainingArguments(per_device_train_batch_size=2, per_device_eval_batch_size=8, bf16=True, gradient_checkpointing=True)
"""


def test_what_an_evaluation_keeps_comes_before_rows_of_the_training():
    slugs = [one.lever.slug for one in diagnose(TEXT, {}, current(), ()).prescriptions]
    assert slugs[0] == "eval.keep_less"
    assert "length.filter_long" not in slugs[:3]
