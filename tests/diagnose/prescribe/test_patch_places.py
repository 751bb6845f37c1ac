"""Where a new key stands in commands inside of others, in dictionaries, classes and nested files."""

from __future__ import annotations

import pytest

from diagnose.ingest import read
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.prescribe.patch import patch
from diagnose.types import Change

RUN = "python3 -m verl.trainer.main_ppo data.train_batch_size=8 actor_rollout_ref.rollout.n=4"
NEW = Change("x", "data.seed", None, "1")


def added(text: str, change: Change) -> list[str]:
    return [line.text for line in patch(read(text), [change]) if line.mark == "+"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('docker run --gpus all image:1 bash -c "', '"'),
        ("srun --nodes=1 bash -c '", "' 2>&1 | tee run.log"),
        ('CMD="', '"'),
    ],
)
def test_a_new_override_stands_inside_of_the_quotes_of_its_command(before: str, after: str) -> None:
    assert added(before + RUN + after, NEW) == [f"{before}{RUN} data.seed=1{after}"]


def test_a_command_that_is_handed_to_a_scheduler_takes_new_overrides_itself() -> None:
    text = f'COMMAND="{RUN}" \\\nCONTAINER=image:1 \\\nsbatch \\\n    --nodes=1 \\\n    ray.sub'
    assert added(text, NEW) == [f'COMMAND="{RUN} data.seed=1" \\']


def test_a_new_flag_stands_in_the_command_of_a_notebooks_cell() -> None:
    text = "!accelerate launch --num_processes 8 train.py --num_generations 8 --beta 0.1"
    assert added(text, Change("x", "seed", None, "1")) == [f"{text} --seed 1"]


def test_a_quoted_last_value_is_no_command_in_quotes() -> None:
    run = "python3 train.py --epochs 3 --name 'my run'"
    assert added(run, Change("x", "seed", None, "1")) == [f"{run} --seed 1"]


def test_a_new_override_stands_before_the_next_command_of_the_same_lines() -> None:
    text = "python3 -m verl.trainer.main_ppo \\\n  data.train_batch_size=8 \\\n  actor_rollout_ref.rollout.n=4"
    follows = " && python3 -m verl.trainer.main_generation \\\n  data.path=test.parquet"
    assert added(text + follows, NEW) == [
        "  actor_rollout_ref.rollout.n=4 data.seed=1 && python3 -m verl.trainer.main_generation \\"
    ]


def test_a_new_switch_of_a_dictionary_in_python_is_spelled_as_python_does() -> None:
    text = 'kwargs = {\n    "max_completion_length": 512,\n    "num_generations": 8,\n}'
    assert added(text, Change("x", "use_liger_kernel", None, "true")) == ['    "use_liger_kernel": True,']


def test_a_new_switch_of_a_json_file_is_spelled_as_json_does() -> None:
    text = '{\n    "max_completion_length": 512,\n    "num_generations": 8\n}'
    assert added(text, Change("x", "use_liger_kernel", None, "true"))[-1] == '    "use_liger_kernel": true'


@pytest.mark.parametrize("last", ["    num_generations = 8,\n)", "    num_generations = 8\n)"])
def test_an_argument_with_blanks_around_its_sign_is_one_of_its_call(last: str) -> None:
    text = f'args = GRPOConfig(\n    output_dir = "out",\n    max_completion_length = 512,\n{last}'
    lines = added(text, Change("x", "beta", None, "0"))
    assert lines[-1].rstrip(",") == "    beta = 0"
    assert all(line.endswith(",") for line in lines[:-1])


def test_a_new_field_of_a_dataclass_has_a_type() -> None:
    text = "@dataclass\nclass Config(Base):\n    zero_stage: int = 3\n    adam_offload: bool = False"
    assert added(text, Change("x", "zpg", None, "1")) == ["    zpg: int = 1"]


NESTED = """\
actor_rollout_ref:
    actor:
        optim:
            betas:
            - 0.9
            - 0.95
    rollout:
        name: vllm
        engine_kwargs:
            vllm: {swap_space: 16}
algorithm:
    adv_estimator: grpo
"""


@pytest.mark.parametrize(
    ("key", "lines"),
    [
        ("actor_rollout_ref.actor.fsdp_config.param_offload", ["        fsdp_config:", "            param_offload: 1"]),
        ("actor_rollout_ref.ref.log_prob_size", ["    ref:", "        log_prob_size: 1"]),
        ("actor_rollout_ref.rollout.engine_kwargs.vllm.seed", ["            vllm: {swap_space: 16, seed: 1}"]),
    ],
)
def test_a_new_key_stands_at_the_depth_of_its_file_beside_lists_and_braces(key: str, lines: list[str]) -> None:
    assert added(NESTED, Change("x", key, None, "1")) == lines


def test_the_name_of_another_part_of_the_file_stays_a_reference() -> None:
    text = """\
pretrain: Qwen/Qwen2.5-7B-Instruct
num_return_sequences_in_group: 8
actor_train:
  strategy_args:
    strategy_name: deepspeed_train
    strategy_config: ${deepspeed_zero2}
actor_infer:
  strategy_args:
    strategy_name: vllm
torch.OutOfMemoryError: CUDA out of memory. 8 x H100 80GB
"""
    knowledge = current()
    found = diagnose(text, {"phase": "load", "framework": "roll"}, knowledge, tuple(knowledge.cases.values()))
    (change,) = [one for p in found.prescriptions if p.lever.slug == "shard.zero_stage.up" for one in p.changes]
    assert change.after == "${deepspeed_zero3}"


def prescribed(text: str, **answers: object) -> dict[str, list[Change]]:
    knowledge = current()
    found = diagnose(text, answers, knowledge, tuple(knowledge.cases.values()))
    return {one.lever.slug: list(one.changes) for one in found.prescriptions}


OUT = "\ntorch.OutOfMemoryError: CUDA out of memory.\n8 x H100 80GB, 1 node, 512 GB RAM"


def test_a_new_key_has_the_older_path_that_the_keys_beside_it_have() -> None:
    text = """\
uv run --isolated -m skyrl_train.entrypoints.main_base \\
  trainer.policy.model.path=Qwen/Qwen2.5-7B-Instruct \\
  trainer.placement.colocate_all=true \\
  generator.num_inference_engines=8 \\
  generator.gpu_memory_utilization=0.8
"""
    (change,) = prescribed(text + OUT, phase="weight_sync")["rollout.enforce_eager.on"]
    assert change.key == "generator.enforce_eager"


def test_a_key_of_the_launchers_file_is_no_flag_of_the_trainer() -> None:
    text = "trl dpo --model_name_or_path Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 8 --max_length 4096"
    keys = {change.key for changes in prescribed(text + OUT, phase="init").values() for change in changes}
    assert keys
    assert "fsdp_cpu_ram_efficient_loading" not in keys


def test_what_is_promised_counts_the_defaults_that_hang_on_the_change() -> None:
    text = """\
python examples/run_grpo_math.py --config examples/configs/grpo_math_8B.yaml \\
  policy.model_name=Qwen/Qwen2.5-7B-Instruct \\
  policy.max_total_sequence_length=8192 \\
  policy.generation.vllm_cfg.gpu_memory_utilization=0.8 \\
  cluster.gpus_per_node=8"""
    knowledge = current()
    cases = tuple(knowledge.cases.values())
    answers = {"phase": "init", "framework": "nemo-rl"}
    found = diagnose(text + OUT, answers, knowledge, cases)
    (one,) = [p for p in found.prescriptions if p.lever.slug == "rollout.disaggregate"]
    changed = f"{text} \\\n  {one.changes[0].key}={one.changes[0].after}"
    estimate = diagnose(changed + OUT, answers, knowledge, cases).estimate
    assert estimate is not None
    assert estimate.gpu is not None
    assert one.after is not None
    (phase,) = [phase for phase in estimate.gpu.phases if phase.phase == one.phase]
    assert phase.bytes == pytest.approx(one.after.bytes, rel=0.01)


@pytest.mark.parametrize(
    ("server", "trainer", "flag"),
    [
        (
            "swift rollout --model Qwen/Qwen2.5-7B-Instruct --vllm_max_model_len 16384",
            "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode server"
            " --max_completion_length 4096 --per_device_train_batch_size 8",
            "--vllm_tensor_parallel_size 2",
        ),
        (
            "trl vllm-serve --model Qwen/Qwen2.5-7B-Instruct --max_model_len 8192",
            "accelerate launch train_grpo.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --use_vllm True"
            " --vllm_mode server --max_completion_length 4096 --per_device_train_batch_size 8",
            "--tensor_parallel_size 2",
        ),
    ],
)
def test_a_new_key_of_the_engine_stands_in_the_command_of_its_server(server: str, trainer: str, flag: str) -> None:
    knowledge = current()
    text = f"{server} &\n\n{trainer}\n{OUT}"
    found = diagnose(text, {"phase": "load"}, knowledge, tuple(knowledge.cases.values()))
    (one,) = [p for p in found.prescriptions if p.lever.slug == "rollout.tensor_parallel.up"]
    assert [line.text for line in one.patch if line.mark == "+"] == [f"{server} {flag} &"]


def test_a_new_key_of_a_server_that_is_not_pasted_stands_nowhere() -> None:
    trainer = (
        "accelerate launch train_grpo.py --model_name_or_path Qwen/Qwen2.5-7B-Instruct --use_vllm True"
        " --vllm_mode server --max_completion_length 4096 --per_device_train_batch_size 8"
    )
    knowledge = current()
    found = diagnose(trainer + OUT, {"phase": "load"}, knowledge, tuple(knowledge.cases.values()))
    patches = [p.patch for p in found.prescriptions if p.lever.slug == "rollout.tensor_parallel.up"]
    assert not any(patches)


def test_an_engine_that_shares_the_trainers_weights_is_not_spread() -> None:
    text = """\
model, tokenizer = FastLanguageModel.from_pretrained(
    model_name = "Qwen/Qwen2.5-7B-Instruct",
    max_seq_length = 4096,
    fast_inference = True,
    gpu_memory_utilization = 0.8,
)
args = GRPOConfig(
    per_device_train_batch_size = 8,
    max_completion_length = 2048,
)
ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
8 x H100 80GB"""
    found = prescribed("from unsloth import FastLanguageModel\nfrom trl import GRPOConfig\n" + text)
    assert found
    assert "rollout.tensor_parallel.up" not in found
