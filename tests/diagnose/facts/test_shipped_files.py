"""What a file says that a command names and nobody pastes: its settings, its model, and when it is another file."""

from __future__ import annotations

import pytest

AREAL = "python3 -m areal.launcher.local examples/math/gsm8k_rl.py --config "
OWN = """CKPT_ARGS=(
   --hf-checkpoint /root/Qwen3-8B
)
ROLLOUT_ARGS=(
   --rollout-batch-size 16
   --n-samples-per-prompt 8
   --rollout-max-response-len 16384
   --global-batch-size 128
)
PERF_ARGS=(
   --tensor-model-parallel-size 2
   --sequence-parallel
   --use-dynamic-batch-size
   --max-tokens-per-gpu 20480
   --advantage-estimator grpo
)
ray job submit -- python3 train.py --actor-num-nodes 1 --actor-num-gpus-per-node 8 --colocate ${CKPT_ARGS[@]} ${PERF_ARGS[@]}
"""


def test_a_module_behind_python_is_no_host(values):
    assert values(AREAL + "mine.yaml")["framework"] == "areal"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("examples/math/gsm8k_grpo.yaml", "Qwen2.5-1.5B-Instruct"),
        ("gsm8k_grpo.yaml.", "Qwen2.5-1.5B-Instruct"),
        ("my_gsm8k_grpo.yaml", None),
        ("gsm8k_grpo.yaml.mine", None),
        ("gsm8k_grpo.yaml actor.path=Qwen/Qwen3-8B", "Qwen3-8B"),
        ("gsm8k_grpo.yaml actor.path=/data/ours", None),
    ],
)
def test_the_model_is_that_of_the_file_where_nothing_names_another(values, name, model):
    assert values(AREAL + name).get("model") in ((model, "ours") if model is None else (model,))


def test_a_file_outranks_what_the_trainer_does_by_default_and_gives_way_to_overrides(values):
    found = values(AREAL + "gsm8k_grpo_megatron.yaml actor.mb_spec.max_tokens_per_mb=4096")
    assert (found["strategy"], found["zero_stage"], found["micro_tokens"]) == ("megatron", 1, 4096)


def test_the_model_stays_once_another_fact_is_answered(values):
    assert values(AREAL + "gsm8k_grpo.yaml", n_gpus=16)["model"] == "Qwen2.5-1.5B-Instruct"


def test_a_copy_that_is_pasted_says_itself_what_it_sets(values):
    found = values("I changed scripts/run-qwen3-4B.sh of slime:\n" + OWN)
    assert (found["model"], found["has_ref"], found["micro_tokens"]) == ("Qwen3-8B", False, 20480)
    assert values("slime: bash scripts/run-qwen3-4B.sh")["has_ref"] is True


@pytest.mark.parametrize("between", [" --config_name ", " \\\n  --config-name=", "/"])
def test_a_folder_and_a_name_are_a_file(values, between):
    found = values(f"python examples/start_rlvr_pipeline.py --config_path qwen3-8B-rlvr_fsdp2{between}rlvr_config")
    assert (found["model"], found["strategy"]) == ("Qwen3-8B", "fsdp2")


def test_cards_that_are_told_are_none_of_the_file(values):
    told = values("examples/qwen3-8B-rlvr_fsdp2/run_rlvr_pipeline.sh of roll/pipeline on 2 A100")
    assert (told["n_gpus"], told["trainer_gpus"], told.get("n_nodes", 1)) == (2, 2, 1)


def test_a_script_of_a_folder_that_no_other_has_names_the_trainer(values):
    found = values("bash examples/qwen2.5-7B-rlvr_megatron/run_rlvr_pipeline.sh\n8 x A100")
    assert (found["framework"], found["n_gpus"], found["response_length"]) == ("roll", 8, 4096)


@pytest.mark.parametrize(("said", "twice"), [("double_quantization: false\n", False), ("", True)])
def test_constants_are_quantized_again_unless_the_file_says_no(values, said, twice):
    text = "llamafactory-cli train x.yaml\nmodel_name_or_path: Qwen/Qwen3-4B\nstage: sft\nfinetuning_type: lora\nquantization_bit: 4\n"
    assert values(text + said)["double_quant"] is twice


def test_a_file_of_which_a_person_changed_all_is_the_one_that_ran(facts):
    found = facts("EasyR1 qwen2_5_7b_math_grpo.sh with Qwen2.5-14B-Instruct on 8 A100: CUDA out of memory")
    assert (found.values["model"], found.values["n_gpus"]) == ("Qwen2.5-14B-Instruct", 8)
    assert found.shipped == "qwen2_5_7b_math_grpo.sh"


@pytest.mark.parametrize(
    ("said", "id", "value"),
    [
        ("rollout.n 改成了 8", "rollout_n", 8),
        ("rollout.n调到了16", "rollout_n", 16),
        ("rollout.n 改为8", "rollout_n", 8),
        ("ppo_micro_batch_size_per_gpu 从 32 降到了 8，还是爆", "micro_batch", 8),
        ("gpu_memory_utilization 设成了 0.4", "gpu_memory_utilization", 0.4),
        ("max response length 设成了 4096", "response_length", 4096),
        ("ppo_micro_batch_size_per_gpu lowered to 8, it still dies", "micro_batch", 8),
        ("max_response_length was raised from 1024 to 8192", "response_length", 8192),
        ("with gpu_memory_utilization lowered to 0.4 I got it through", "gpu_memory_utilization", 0.6),
    ],
)
def test_what_is_told_to_be_changed_outranks_the_file(values, said, id, value):
    assert values(f"verl 的 run_qwen3-8b.sh，{said}，其他没动，爆显存了")[id] == value


def test_the_file_that_others_go_on_from_has_a_model_and_a_card(facts):
    found = facts("NeMo-RL 0.5.0: grpo_math_1B.yaml as it is, CUDA out of memory")
    assert (found.shipped, found.values["model"], found.values["n_gpus"]) == ("grpo_math_1B.yaml", "Qwen2.5-1.5B", 1)
    assert found.values["micro_tokens"] == 2048
