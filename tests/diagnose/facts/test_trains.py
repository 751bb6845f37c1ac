"""Commands that train nothing: engines that serve anybody, alone and beside a training."""

from __future__ import annotations

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.types import Diagnosis
from diagnose.words import lead, next_step

OOM = "2 x A100 80GB\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB.\n"
MODEL = "Qwen/Qwen2.5-32B-Instruct"
TRAINS = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct "
    "actor_rollout_ref.rollout.name=vllm trainer.n_gpus_per_node=8 trainer.nnodes=1\n"
)
SERVERS = {
    f"vllm serve {MODEL} -tp 2 --gpu-memory-utilization 0.95 --max-model-len 32768": "vllm",
    f"python -m vllm.entrypoints.openai.api_server --model {MODEL} -tp 2 --gpu-memory-utilization 0.95 --max-model-len 32768": "vllm",
    f"python -m sglang.launch_server --model-path {MODEL} --tp 2 --mem-fraction-static 0.95 --context-length 32768": "sglang",
    f"trl vllm-serve --model {MODEL} --tensor_parallel_size 2 --gpu_memory_utilization 0.95 --max_model_len 32768": "vllm",
    f"swift rollout --model {MODEL} --vllm_tensor_parallel_size 2 --vllm_gpu_memory_utilization 0.95 --vllm_max_model_len 32768": "vllm",
}


def told(text: str) -> Diagnosis:
    return diagnose(text, {}, current(), ())


@pytest.mark.parametrize(("command", "engine"), SERVERS.items())
def test_an_engine_alone_is_no_training(command: str, engine: str) -> None:
    found = told(f"{command}\n{OOM}")
    values = found.facts.values
    assert (values["trains"], values["rollout_engine"], values["rollout_mode"]) == (False, engine, "server")
    assert (values["rollout_tp"], values["gpu_memory_utilization"], values["max_model_len"]) == (2, 0.95, 32768)
    assert [phase.phase for phase in found.estimate.gpu.phases] == ["load", "init", "rollout"]
    levers = {given.lever.slug for given in found.prescriptions}
    assert "rollout.gpu_memory_utilization.down" in levers
    assert not any(slug.startswith(("offload.", "shard.", "checkpointing.", "length.", "batch.")) for slug in levers)


def test_a_new_key_of_an_engines_command_is_the_one_that_it_takes() -> None:
    found = told(f"trl vllm-serve --model {MODEL} --tensor_parallel_size 2\n{OOM}")
    keys = {change.key for given in found.prescriptions for change in given.changes}
    assert "gpu_memory_utilization" in keys
    assert not any(key.startswith("vllm_") for key in keys)


def test_a_judges_engine_says_nothing_of_the_training_beside_it() -> None:
    judge = "vllm serve openai/gpt-oss-20b --gpu-memory-utilization 0.3 --max-model-len 9000 --max-num-seqs 7\n"
    alone, both = told(TRAINS + OOM).facts.values, told(judge + TRAINS + OOM).facts.values
    assert {id: both.get(id) for id in ("gpu_memory_utilization", "max_model_len", "max_num_seqs", "model")} == {
        id: alone.get(id) for id in ("gpu_memory_utilization", "max_model_len", "max_num_seqs", "model")
    }
    assert "trains" not in both


def test_an_engine_of_the_trained_model_tells_how_it_is_sampled() -> None:
    serves = "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.3 --max-num-seqs 7\n"
    assert told(serves + TRAINS + OOM).facts.values["max_num_seqs"] == 7


IDLE = {
    "CUDA_VISIBLE_DEVICES=0 swift export --adapters out/checkpoint-800 --merge_lora true": "merge",
    "swift export --model Qwen/Qwen2.5-72B-Instruct --quant_method awq --quant_bits 4": "quantize",
    "swift eval --model Qwen/Qwen2.5-14B-Instruct --eval_backend Native": "evaluate",
    "swift infer --model Qwen/Qwen2.5-VL-7B-Instruct --infer_backend pt": "infer",
    "llamafactory-cli export --model_name_or_path Qwen/Qwen2.5-32B-Instruct --export_quantization_bit 4": "quantize",
    "axolotl merge-lora config.yaml --lora-model-dir=out": "merge",
    "litgpt chat checkpoints/meta-llama/Llama-3.1-8B": "infer",
    "tune run quantize --config quantization": "quantize",
    "lm_eval --model hf --model_args pretrained=meta-llama/Llama-3.1-8B-Instruct --batch_size 32": "evaluate",
    "python -m verl.model_merger merge --backend fsdp --local_dir ckpt": "merge",
    "python merge_peft.py --base_model meta-llama/Llama-2-13b-hf": "merge",
    "python src/cli_demo.py --model_path Qwen/Qwen2.5-7B-Instruct": "infer",
}


@pytest.mark.parametrize(("command", "task"), IDLE.items())
def test_what_trains_nothing_is_told_by_its_command(command: str, task: str) -> None:
    values = told(f"{command}\n{OOM}").facts.values
    assert (values["trains"], values["task"]) == (False, task)
    assert not {"algo", "full_or_lora", "quantization", "train_batch_size"} & values.keys()


@pytest.mark.parametrize("command", IDLE)
def test_what_trains_nothing_is_given_no_lever_of_a_training(command: str) -> None:
    found = told(f"{command}\n{OOM}")
    levers = {given.lever.slug for given in found.prescriptions}
    assert levers
    assert not any(
        slug.startswith(("offload.", "shard.", "checkpointing.", "length.", "batch.", "ray.")) for slug in levers
    )
    if "vllm" not in command:
        assert not any(slug.startswith("rollout.") for slug in levers)
    assert not any(asked.question.fact == "phase" for asked in found.questions)


@pytest.mark.parametrize(
    "command",
    ["python train_and_eval.py --model_name_or_path Qwen/Qwen2.5-7B", "python reward_api.py", "python rl_infer.py"],
)
def test_a_script_that_may_train_is_not_called_idle(command: str) -> None:
    assert "trains" not in told(f"{command}\n{OOM}").facts.values


GENERATES = """
Traceback (most recent call last):
  File "/home/u/chat/{name}.py", line 17, in <module>
    out = model.generate(**inputs, max_new_tokens=2048)
  File "/opt/lib/python3.10/site-packages/transformers/generation/utils.py", line 2465, in generate
    result = self._sample(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 130.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 0 bytes is free.
"""


def test_a_script_that_generates_is_told_by_its_file_or_by_the_persons_words() -> None:
    assert told(GENERATES.format(name="infer")).facts.values["task"] == "infer"
    assert told(GENERATES.format(name="run") + "Qwen2.5-7B-Instruct 推理的时候报错").facts.values["task"] == "infer"
    assert told(GENERATES.format(name="run") + "during inference").facts.values["task"] == "infer"
    # a loop of one's own generates as well
    assert "trains" not in told(GENERATES.format(name="run")).facts.values
    assert "trains" not in told(GENERATES.format(name="run") + "GRPO 训练，推理的时候报错").facts.values


def test_merging_is_told_by_the_call_unless_the_script_trains() -> None:
    merges = "model = PeftModel.from_pretrained(base, 'lora')\nmodel = model.merge_and_unload()\n"
    assert told(merges + OOM).facts.values["task"] == "merge"
    assert "trains" not in told(merges + "trainer.train()\n" + OOM).facts.values


@pytest.mark.parametrize("beside", ["free -h says total 15Gi", "pip install -U peft transformers", "nvidia-smi -l 1"])
def test_a_command_that_looks_at_the_machine_hides_no_merge(beside: str) -> None:
    merges = "model = PeftModel.from_pretrained(base, 'lora')\nmodel = model.merge_and_unload()\n"
    assert told(f"{merges}{beside}\n{OOM}").facts.values["task"] == "merge"
    # these may start a training
    assert "trains" not in told(f"{merges}bash run.sh --x 1\n{OOM}").facts.values
    assert "trains" not in told(f"{merges}uv run train.py --x 1\n{OOM}").facts.values


def test_the_weights_of_what_trains_nothing_are_summed_up() -> None:
    said = next_step(told(f"swift export --model Qwen/Qwen2.5-32B-Instruct --merge_lora true\n{OOM}"))
    assert (
        "61.0\u00a0GiB in bf16 or fp16 (32.8\u00a0billion × 2 bytes); one card has 79.2\u00a0GiB, all 2 cards 158.3\u00a0GiB."
        in said
    )
    assert "bf16 or fp16" not in next_step(told(f"swift infer --model Qwen/Qwen2.5-32B-Instruct-AWQ\n{OOM}"))


def test_an_engine_for_anybody_takes_its_own_keys_beside_another_trainers_name() -> None:
    found = told(f"vllm serve {MODEL} -tp 2 --gpu-memory-utilization 0.95\nverl grpo 的 judge\n{OOM}")
    keys = {change.key for given in found.prescriptions for change in given.changes if change.key}
    assert keys
    assert not any("." in key for key in keys)


def test_scripts_of_an_engine_and_of_a_quantizer_train_nothing() -> None:
    assert (
        told(f"llm = LLM(model='Qwen/Qwen2.5-14B-Instruct', max_model_len=32768)\n{OOM}").facts.values["task"]
        == "infer"
    )
    assert (
        told(f"oneshot(model=model, recipe=recipe, num_calibration_samples=512)\n{OOM}").facts.values["task"]
        == "quantize"
    )


def test_an_engine_of_a_script_is_not_told_to_take_fewer_rows() -> None:
    found = told(f"llm = LLM('Qwen/Qwen2.5-14B-Instruct', gpu_memory_utilization=0.9)\n{OOM}")
    levers = [given.lever.slug for given in found.prescriptions]
    assert "rollout.gpu_memory_utilization.down" in levers
    assert "eval.batch.down" not in levers


def test_an_engine_that_is_put_to_sleep_stands_beside_a_training() -> None:
    found = told(f"llm = LLM('Qwen/Qwen2.5-14B-Instruct', enable_sleep_mode=True)\nllm.sleep(level=1)\n{OOM}")
    assert "trains" not in found.facts.values


def test_an_evaluation_of_a_training_is_told_to_keep_less() -> None:
    text = '  File "/x/transformers/trainer.py", line 3869, in evaluation_loop\n    all_preds.add(logits)\nSFTTrainer, Qwen2.5-7B\n'
    found = told(text + OOM)
    assert found.prescriptions[0].lever.slug == "eval.keep_less"
    assert "The evaluation itself is not computed here." in lead(found)
