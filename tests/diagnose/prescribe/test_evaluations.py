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


SWIFT = """swift sft --model Qwen/Qwen3-8B --deepspeed zero3 --per_device_train_batch_size 1 --per_device_eval_batch_size 8 \\
    --max_length 16384
  File "transformers/trainer.py", line 4451, in evaluation_loop
    losses, logits, labels = self.prediction_step(model, inputs, prediction_loss_only, ignore_keys=ignore_keys)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 69.55 GiB. GPU 0 has a total capacity of 79.11 GiB of which 22.30 GiB is free.
8xH100
"""


def test_the_batch_of_an_evaluation_is_that_of_the_command():
    found = diagnose(SWIFT, {}, current(), ()).prescriptions[:3]
    changed = [(change.key, change.before) for one in found for change in one.changes]
    assert ("per_device_eval_batch_size", "8") in changed


def test_prompts_that_are_validated_at_once_come_first_where_the_host_runs_out():
    text = (
        "verl GRPO, Qwen2.5-VL-7B, 8xH100, 1 TB RAM. trainer.val_before_train=True data.val_batch_size=5000. 先跑一遍验证，跑到一半 "
        "ray worker 被杀了，node running low on memory"
    )
    found = diagnose(text, {}, current(), ())
    assert (found.phase, found.prescriptions[0].lever.slug) == ("eval", "batch.val.down")
