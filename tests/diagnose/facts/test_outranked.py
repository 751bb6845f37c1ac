"""An answer against a setting that says several things: the answer holds, and no half of what the setting says beside it."""

import pytest

VERL = "python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B trainer.n_gpus_per_node=8 algorithm.adv_estimator={}"
SWIFT = "NPROC_PER_NODE=8 swift rlhf --rlhf_type {} --model Qwen/Qwen2.5-7B --train_type full"
ZERO = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-7B --train_type full --deepspeed {}"
NEMO = "uv run examples/run_grpo_math.py policy.model_name=Qwen/Qwen2.5-7B cluster.gpus_per_node=8 {}"
SLIME = "ray job submit -- python3 train.py --hf-checkpoint Qwen/Qwen2.5-7B --actor-num-gpus-per-node 8 --offload-train false"


@pytest.mark.parametrize(("written", "answer", "critic"), [("grpo", "ppo", True), ("gae", "grpo", False)])
def test_an_algorithm_that_is_answered_has_the_roles_that_its_own_word_has(facts, written, answer, critic):
    found = facts(VERL.format(written), algo=answer)
    assert found.values["has_critic"] is critic
    assert found.notes[0].startswith(f"algorithm.adv_estimator={written} is told and Algorithm {answer} answered")


def test_it_is_the_same_run_as_the_one_whose_setting_says_it(values):
    said, answered = values(SWIFT.format("ppo")), values(SWIFT.format("grpo"), algo="ppo")
    assert all(said[id] == answered[id] for id in ("algo", "has_critic", "has_ref"))


def test_answers_alone_have_what_every_word_for_them_says(values):
    run = {"framework": "easyr1", "model": "Qwen2.5-7B", "n_gpus": 8}
    assert values("", **run, algo="ppo")["has_critic"] is True
    assert values("", **run, algo="grpo")["has_critic"] is False


def test_what_is_written_in_a_key_of_its_own_is_kept(values):
    found = values(VERL.format("grpo") + " critic.enable=false", algo="ppo")
    assert (found["algo"], found["has_critic"]) == ("ppo", False)


def test_a_stage_that_is_answered_leaves_nothing_of_another_stage_on_the_host(values):
    found = values(ZERO.format("zero3_offload"), zero_stage=2)
    assert (found["strategy"], found["zero_stage"]) == ("deepspeed", 2)
    assert found["param_on_cpu"] is False
    assert found["optimizer_on_cpu"] is False


def test_the_same_stage_keeps_what_the_file_says_beside_it(values):
    assert values(ZERO.format("zero3_offload"), zero_stage=3)["param_on_cpu"] is True


def test_a_switch_of_two_things_is_turned_for_both(values):
    found = values(NEMO.format("policy.sequence_packing.enabled=true"), remove_padding=False)
    assert (found["remove_padding"], found["dynamic_batch"]) == (False, False)
    found = values(SLIME, param_offload=True)
    assert (found["param_offload"], found["optimizer_offload"]) == (True, True)


def test_the_word_of_another_sharding_takes_its_precision_with_it(values):
    found = values(VERL.format("grpo") + " actor_rollout_ref.actor.strategy=megatron", strategy="fsdp")
    assert (found["strategy"], found["precision"]) == ("fsdp", "mixed")


def test_a_setting_without_a_word_for_the_answer_stays_in_force(values):
    assert values(VERL.format("grpo"), algo="dapo")["has_critic"] is False


def test_a_place_that_an_engine_has_by_default_tells_no_engine(values):
    run = {"framework": "deepspeed-chat", "algo": "ppo", "model": "facebook/opt-1.3b", "n_gpus": 8}
    assert values("", **run, rollout_mode="colocated")["rollout_engine"] == "hf"


@pytest.mark.parametrize("command", ["torchrun --nproc_per_node 8 tune.py --model_name_or_path Qwen/Qwen2.5-7B", ""])
def test_a_rank_that_is_answered_makes_adapters(values, command):
    assert values(command, lora_rank=32, model="Qwen2.5-7B", n_gpus=8)["full_or_lora"] == "lora"


def test_a_rank_that_is_answered_outranks_the_kind_of_training_that_is_pasted(values):
    assert values(ZERO.format("zero3"), lora_rank=16)["full_or_lora"] == "lora"
    assert values(ZERO.format("zero3").replace("full", "lora"), lora_rank=0)["full_or_lora"] == "full"


@pytest.mark.parametrize("framework", ["trl", "ms-swift", "llamafactory", "axolotl", "own script"])
def test_adapters_on_a_base_of_few_bits_are_one_run_however_it_is_told(values, framework):
    run = {"framework": framework, "algo": "sft", "model": "Qwen2.5-7B", "n_gpus": 8}
    ways = [values("", **run, quantization="nf4", full_or_lora=kind) for kind in ("lora", "qlora")]
    assert ways[0] == ways[1] == values("", **run, quantization="nf4")


def test_a_sharding_that_is_answered_has_the_precision_of_the_default_that_it_is(values):
    run = {"framework": "open-instruct", "algo": "sft", "model": "Qwen2.5-7B", "n_gpus": 8}
    assert values("", **run, strategy="ddp")["precision"] == values("", **run, zero_stage=0)["precision"] == "bf16"
