"""Framework, keys, defaults, algorithm and training mode, on a framework made for these tests."""

import pytest

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.knowledge import Knowledge
from diagnose.knowledge.loader import parse

HEAD = 'title = "{title}"\nreviewed = 2026-11-20\nsources = ["https://example.org/{title}"]\nphases = ["rollout", "actor_update"]\n'
BASE = """
[detect]
commands = ["quill.train"]
names = ["Quill"]
rank = 5
{extra}
[[key]]
key = "batch.rows"
aliases = ["batch.sequences"]
fact = "micro_batch"
unit = "global_sequences"

[[key]]
key = "batch.old_rows"
fact = "micro_batch"
unit = "sequences_per_gpu"
until = "2.0"

[[key]]
key = "batch.dynamic"
fact = "dynamic_batch"

[[key]]
key = "batch.tokens"
fact = "micro_tokens"
when = {{ dynamic_batch = true }}

[[key]]
key = "batch.tokens"
dead = "packing is off"
when = {{ dynamic_batch = false }}

[[key]]
key = "engine.graphs"
fact = "enforce_eager"
negated = true

[[key]]
key = "host.cards"
fact = "gpus_per_node"
hidden = true

[[key]]
key = "sharding"
[key.values]
stage3 = {{ strategy = "deepspeed", zero_stage = 3 }}
stage3_offload = {{ strategy = "deepspeed", zero_stage = 3, param_on_cpu = true }}

[[default]]
facts = {{ rollout_n = 4, micro_batch = 16 }}

[[default]]
when = {{ rollout_n = {{ above = 1 }} }}
facts = {{ has_critic = false }}

[[default]]
script = "run_small.sh"
facts = {{ rollout_n = 8 }}
"""


def knowledge_of(**records):
    frameworks = {}
    for slug, (title, text) in records.items():
        record, problems = parse("frameworks", slug, f"+++\n{HEAD.format(title=title)}{text}\n+++\n")
        assert problems == []
        frameworks[slug] = record
    return Knowledge(frameworks=frameworks)


QUILL = knowledge_of(quill=("Quill", BASE.format(extra="")))
PLAIN = ("Plain", '[detect]\nnames = ["nothing of this name"]\n')


def facts(text, knowledge=QUILL, **answers):
    return read_facts(read(text), answers, knowledge)


def command(*arguments):
    return " ".join(("python -m quill.train", *arguments))


def test_a_tie_is_a_question():
    two = knowledge_of(quill=("Quill", BASE.format(extra="")), quillet=("Quillet", BASE.format(extra="")))
    found = facts(command("batch.dynamic=true"), two)
    assert found.candidates == ("quill", "quillet")
    assert found.framework is None
    assert found.values["dynamic_batch"] is True


def test_a_lower_rank_wins_over_the_base():
    fork = BASE.format(extra="").replace("rank = 5", "rank = 2").replace('"Quill"', '"Nib"')
    assert (
        facts(command(), knowledge_of(quill=("Quill", BASE.format(extra="")), nib=("Nib", fork))).values["framework"]
        == "nib"
    )


def test_a_literal_of_unless_rules_a_framework_out():
    strict = BASE.format(extra="").replace("rank = 5", 'rank = 5\nunless = ["nib_reward"]')
    assert "framework" not in facts(command("reward=nib_reward"), knowledge_of(quill=("Quill", strict))).values


def test_a_name_inside_another_word_is_no_evidence():
    assert "framework" not in facts("we use Quillwort 3").values


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("verl first step ok, second step OOM", "verl"),
        ("verl 0.5 第一个step正常，第二个step报OOM", "verl"),
        ("verl dapo 7b: step 1-37 fine, step 38 torch.OutOfMemoryError", "verl"),
        ("EasyR1: RuntimeError: CUDA Error: out of memory", "easyr1"),
        ("Search-R1: torch.OutOfMemoryError: CUDA out of memory", "search-r1"),
        ("verl works fine but TRL goes OOM", "trl"),
    ],
)
def test_a_run_whose_first_steps_went_well_is_no_other_trainers(values, text, framework):
    assert values(text)["framework"] == framework


def test_an_answered_framework_outranks_the_paste_and_may_be_unknown():
    record, _ = parse("frameworks", "plain", f"+++\nfallback = true\n{HEAD.format(title='Plain')}{PLAIN[1]}\n+++\n")
    found = facts(command(), Knowledge(frameworks={**QUILL.frameworks, "plain": record}), framework="penknife")
    assert found.values["framework"] == "penknife"
    assert found.framework is record


def test_a_value_that_is_null_is_not_set():
    found = facts(command("batch.rows=null"))
    assert found.stated["micro_batch"].origin == "default"


def test_a_key_without_effect_is_noted_and_gives_no_fact():
    found = facts(command("batch.dynamic=false", "batch.tokens=9000"))
    assert "micro_tokens" not in found.values
    assert found.dead_keys == {"batch.tokens"}
    assert found.notes == ("batch.tokens has no effect: packing is off",)


def test_a_condition_sees_the_facts_of_the_other_keys():
    assert facts(command("batch.tokens=9000", "batch.dynamic=true")).values["micro_tokens"] == 9000


def test_a_written_number_is_counted_in_the_unit_of_its_key():
    found = facts(command("batch.rows=32", "host.cards=8"), n_nodes=1)
    assert (found.stated["micro_batch"].value, found.stated["micro_batch"].unit) == (32, "global_sequences")
    assert found.values["micro_batch"] == 4


def test_the_later_setting_of_a_key_wins():
    assert facts(command("batch.rows=32", "batch.rows=8"), trainer_gpus=1).values["micro_batch"] == 8


def test_a_lever_writes_the_spelling_of_the_person():
    assert facts(command()).keys["micro_batch"] == "batch.rows"
    assert facts(command("batch.sequences=8")).keys["micro_batch"] == "batch.sequences"


def test_a_lever_never_writes_a_hidden_key():
    assert "gpus_per_node" not in facts(command("host.cards=8")).keys


def test_an_old_spelling_counts_in_its_version_and_where_none_is_named():
    assert facts(command("batch.old_rows=4"), framework_version="1.5").values["micro_batch"] == 4
    assert facts(command("batch.old_rows=4")).values["micro_batch"] == 4
    assert facts(command("batch.old_rows=4"), framework_version="2.1").stated["micro_batch"].origin == "default"


def test_a_negated_key_turns_the_fact_around():
    assert facts(command("engine.graphs=true")).values["enforce_eager"] is False


@pytest.mark.parametrize(("written", "on_cpu"), [("stage3", None), ("conf/my_stage3_offload.json", True)])
def test_a_word_or_a_file_named_after_it_gives_several_facts(written, on_cpu):
    found = facts(command(f"sharding={written}")).values
    assert (found["zero_stage"], found.get("param_on_cpu")) == (3, on_cpu)


def test_a_default_is_marked_and_says_where_it_comes_from():
    fact = facts(command()).stated["rollout_n"]
    assert (fact.value, fact.origin, fact.why) == (4, "default", "default of Quill")


def test_a_default_takes_the_unit_of_the_active_key():
    assert facts(command()).stated["micro_batch"].unit == "global_sequences"


def test_the_defaults_of_a_shipped_script_need_its_name():
    fact = facts(f"run_small.sh unchanged\n\n{command()}").stated["rollout_n"]
    assert (fact.value, fact.why) == (8, "run_small.sh")


def test_a_default_sees_the_conditions_that_earlier_ones_made():
    assert facts(command()).values["has_critic"] is False


def test_config_keeps_key_and_value_as_written():
    assert facts(command("batch.rows=0032", "run.name=x")).config == {"batch.rows": "0032"}


def test_a_framework_without_another_way_trains_all_parameters():
    fact = facts(command()).stated["full_or_lora"]
    assert (fact.value, fact.origin) == ("full", "derived")


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("全参 GRPO", "full"),
        ("full fine-tuning of a 7B", "full"),
        ("GRPO + LoRA", "lora"),
        ("4bit LoRA", "qlora"),
        ("QLoRA run", "qlora"),
    ],
)
def test_the_words_say_what_is_trained(text, mode):
    assert facts(text).values["full_or_lora"] == mode


def test_where_lora_is_denied_all_is_trained():
    assert facts("we do not use LoRA here").values["full_or_lora"] == "full"


@pytest.mark.parametrize(
    ("text", "algo"),
    [
        ("GRPO after SFT", "grpo"),
        ("DAPO recipe, adv_estimator is GRPO", "dapo"),
        ("只做 DPO", "dpo"),
        ("REINFORCE++ run", "reinforce++"),
        ("训练 reinforce++_baseline", "reinforce++"),
    ],
)
def test_the_words_name_the_algorithm(text, algo):
    assert facts(text).values["algo"] == algo


def test_a_launchers_own_configuration_tells_the_stage_and_a_flag_named_after_one_does_not(values):
    text = (
        "deepspeed_config:\n  offload_optimizer_device: cpu\n  zero3_init_flag: false\n  zero_stage: 2\n"
        "distributed_type: DEEPSPEED\nnum_machines: 1\nnum_processes: 8\n"
    )
    found = values(text)
    assert (found["zero_stage"], found["n_gpus"], found["optimizer_on_cpu"]) == (2, 8, True)


def test_a_stage_names_what_is_trained_and_a_loss_of_its_own_outranks_it(values):
    run = "model_name_or_path: Qwen/Qwen3-4B\nfinetuning_type: lora\nper_device_train_batch_size: 1\n"
    assert values(run + "stage: rm\n")["algo"] == "rm"
    assert values(run + "stage: dpo\npref_loss: orpo\n")["algo"] == "orpo"


@pytest.mark.parametrize("role", ["actor_train", "sft_train", "student"])
def test_a_trainer_whose_words_another_shares_is_told_by_its_roles(values, role):
    shared = "  data_args:\n    preprocessing_num_workers: 16\n  training_args:\n    per_device_train_batch_size: 2\n"
    found = values(f"pretrain: Qwen/Qwen2.5-7B\nadv_estimator: gigpo\n{role}:\n{shared}")
    assert (found["framework"], found["micro_batch"]) == ("roll", 2)


def test_a_list_of_further_arguments_is_no_value_of_the_flag_before_it(values):
    assert (
        values("ray job submit -- python3 train.py --colocate ${PERF_ARGS[@]} --hf-checkpoint /root/Qwen3-4B")[
            "rollout_mode"
        ]
        == "colocated"
    )


def test_the_sizes_of_one_word_are_told_apart(values):
    actor = 'actor:\n  backend: "megatron:(attn:d1p4t2c2|ffn:d1p4t1e4)"\n  path: Qwen/Qwen3-30B-A3B\n'
    found = values(f"{actor}  mb_spec:\n    max_tokens_per_mb: 32768\n")
    assert [found[id] for id in ("trainer_gpus", "pp", "tp", "sp", "ep")] == [16, 4, 2, 2, 4]
    assert found["strategy"] == "megatron"


def test_a_key_that_begins_like_another_s_tells_no_framework(values):
    assert values("SkyRL on 8xH100 OOMs. micro_forward_batch_size_per_gpu=8")["framework"] == "skyrl"


def test_a_base_of_four_bits_is_trained_by_adapters_alone(values):
    assert values("TRL GRPO of a 3B model, 4bit, one 24GB card")["full_or_lora"] == "qlora"
    assert values("unsloth GRPO of Qwen2.5-3B, Colab")["full_or_lora"] == "qlora"
    assert values("axolotl, Llama-3.1-70B, QLoRA r=16, 4x RTX 3090")["full_or_lora"] == "qlora"
    assert values("TRL SFT, LoRA r=16, should I use QLoRA?")["full_or_lora"] == "lora"


@pytest.mark.parametrize(
    ("text", "id", "value"),
    [
        ("vllm server 模式", "rollout_mode", "server"),
        ("OpenRLHF w/o vLLM", "rollout_engine", "hf"),
        ("verl qwen3-30b-a3b megatron", "strategy", "megatron"),
        ("verl, fsdp 没事，megatron 爆", "strategy", "megatron"),
        ("verl 不用 megatron", "strategy", "fsdp"),
        ("8k 序列", "max_length", 8192),
        ("verl sft_trainer", "algo", "sft"),
    ],
)
def test_words_without_a_key_tell_the_engine_and_the_trainer(values, text, id, value):
    assert values(f"{text}，CUDA OOM").get(id) == value


def test_a_heading_beside_a_run_that_samples_answers_is_not_its_algorithm(values):
    assert "algo" not in values("--num_generations 8\n\n### SFT\nWe also provide SFT code")


def test_the_rank_of_a_process_is_not_that_of_an_adapter(values):
    found = values("rank=3 torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nrank=3 NCCL closes")
    assert {"lora_rank", "full_or_lora"}.isdisjoint(found)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("verl 0.3 was fine, after upgrading to 0.5 the update OOMs", "0.5"),
        ("前一个版本 verl 0.3 没问题，升级到 0.5 之后爆显存", "0.5"),
        ("verl 0.3 OOM, should I upgrade to 0.5?", "0.3"),
        ("verl 0.4.1 and vllm 0.8.5, CUDA OOM", "0.4.1"),
    ],
)
def test_the_version_to_which_a_trainer_was_moved_is_that_of_the_run(values, text, version):
    found = values(text)
    assert (found["framework"], found["framework_version"]) == ("verl", version)
