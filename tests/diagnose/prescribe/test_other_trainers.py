"""What is advised to trainers beside the large ones: their own evaluation, their own keys, engines alone."""

from __future__ import annotations

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.56 GiB. GPU 1 has a total capacity of 79.10 GiB.\n"


def told(text: str) -> Diagnosis:
    return diagnose(text, {}, current(), ())


def changes(found: Diagnosis) -> dict[str, list[tuple[str, str | None, str]]]:
    return {
        given.lever.slug: [(change.key, change.before, change.after) for change in given.changes]
        for given in found.prescriptions
    }


EVALUATION = """trainer = GRPOTrainer(model="Qwen/Qwen2.5-7B-Instruct", args=GRPOConfig(per_device_train_batch_size=4, {} num_generations=8,
    max_prompt_length=1024, max_completion_length=2048, gradient_checkpointing=True, use_vllm=True, vllm_mode="server"))
8 x H100 80GB, trl 0.21, deepspeed zero3
  File "/x/transformers/trainer.py", line 4348, in evaluation_loop
  File "/x/trl/trainer/grpo_trainer.py", line 1531, in prediction_step
"""


def test_an_evaluation_makes_logits_of_its_own_batch() -> None:
    found = told(EVALUATION.format("per_device_eval_batch_size=32,") + OOM)
    assert changes(found)["eval.micro.down"][0][:2] == ("per_device_eval_batch_size", "32")
    assert found.estimate.gpu
    evaluation = next(one for one in found.estimate.gpu.phases if one.phase == "eval")
    assert any(term.id == "logits" for term in evaluation.terms)


def test_where_nothing_sets_it_an_evaluation_takes_eight_rows() -> None:
    assert told(EVALUATION.format("") + OOM).facts.values["eval_micro_batch"] == 8


def test_a_run_that_fails_elsewhere_has_no_batch_of_an_evaluation() -> None:
    text = EVALUATION.format("").replace("evaluation_loop", "training_step").replace("prediction_step", "compute_loss")
    assert "eval_micro_batch" not in told(text + OOM).facts.values


IMAGES = """torchrun --nproc_per_node=8 --nnodes=1 src/open-r1-multimodal/src/open_r1/grpo_jsonl.py \
 --model_name_or_path Qwen/Qwen2.5-VL-3B-Instruct \
 --per_device_train_batch_size 8 --gradient_checkpointing true --max_completion_length 2048 --max_pixels 3211264
  File "/w/open-r1-multimodal/src/open_r1/trainer/grpo_trainer.py", line 742, in compute_loss
"""


def test_a_key_of_the_base_that_its_own_trainer_ignores_is_not_advised() -> None:
    found = told(IMAGES + OOM)
    assert "logits.chunked" not in changes(found)
    assert found.facts.values["max_pixels"] == 3211264


def test_a_loss_that_its_own_trainer_ignores_is_not_in_force() -> None:
    on = told(IMAGES.replace("--max_pixels", "--use_liger_loss true --max_pixels") + OOM)
    assert on.facts.values.get("logits_chunked") is not True


def test_a_switch_of_one_fork_is_not_written_for_another() -> None:
    assert not any(
        key == "use_gradient_checkpointing" for made in changes(told(IMAGES + OOM)).values() for key, _, _ in made
    )


def test_the_fork_that_has_the_switch_is_told_its_word() -> None:
    text = (
        "from unsloth import FastLanguageModel\n"
        'model, tok = FastLanguageModel.from_pretrained(model_name="unsloth/Qwen3-8B", max_seq_length=16384)\n'
        "model = FastLanguageModel.get_peft_model(model, r=32, use_gradient_checkpointing=True)\n"
        "trainer = SFTTrainer(model=model, args=SFTConfig(per_device_train_batch_size=1))\nRTX 4090 24GB\n"
    )
    small = OOM.replace("79.10", "23.55").replace("18.56", "2.00")
    assert ("use_gradient_checkpointing", "True", "unsloth") in changes(told(text + small))["offload.activation.on"]


def test_an_engine_that_is_split_already_is_not_told_to_split_its_layers() -> None:
    text = "vllm serve Qwen/Qwen2.5-72B-Instruct --tensor-parallel-size 4 --max-model-len 32768\n4 x A100 40GB\n"
    assert "load.spread" not in changes(told(text + OOM.replace("79.10", "39.39").replace("18.56 GiB", "462.00 MiB")))
