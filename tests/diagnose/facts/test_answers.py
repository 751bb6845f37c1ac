import pytest

from diagnose.facts import parse_answer
from diagnose.facts.settings.answers import read_answers
from diagnose.knowledge import current
from diagnose.vocabulary import FACTS


@pytest.mark.parametrize(
    ("id", "text", "cure"),
    [
        ("host_ram_gb", "760 cores", "“760 cores” is no size. Write a number with GB or GiB, as 760 GB."),
        ("n_gpus", "many", "“many” is no whole number. Write digits only, as 8."),
        ("gpu_memory_utilization", "0", "“0” is no share. Write a number above 0, at most 1, as 0.6."),
        ("n_gpus", "1000000000", "“1000000000” is more than any run has. Write a smaller number."),
        ("response_length", "1e9", "“1e9” is more than any run has. Write a smaller number."),
        ("n_gpus", "0", "0 is no answer here. Write 1 or more, or leave the question open."),
        ("micro_batch", "0", "0 is no answer here. Write 1 or more, or leave the question open."),
        ("zero_stage", "4", "“4” is no such level. Write a number from 0 to 3."),
        ("n_gpus", "-2", "“-2” is below zero. Write a number that is not."),
        ("gpu_memory_utilization", "half", "“half” is no number. Write digits, as 0.6."),
        ("remove_padding", "perhaps", "“perhaps” is neither yes nor no. Write true or false."),
        ("gpu_memory_utilization", "1e308", "“1e308” is no share. Write a number above 0, at most 1, as 0.6."),
        ("n_gpus", "9" * 20, f"“{'9' * 20}” is more than any run has. Write a smaller number."),
        ("gpu_mem_gib", "9" * 400, f"“{'9' * 40}” is no size. Write a number with GB or GiB, as 80 GB."),
        ("full_or_lora", "both", "“both” is none of the options. Write one of full, part, lora, qlora."),
        ("params_b", "0", "0 is no answer here. Write 1 or more, or leave the question open."),
        ("engine_version", "main", "“main” is no version. Write its number, as 0.8.5, or leave the question open."),
    ],
)
def test_it_refuses_an_answer_of_a_wrong_type_and_says_the_cure(id, text, cure):
    with pytest.raises(ValueError, match="Write") as refusal:
        parse_answer(id, text)
    assert str(refusal.value) == cure


def test_it_reads_sizes_with_and_without_a_unit():
    assert parse_answer("host_ram_gb", "760 GB") == 760
    assert parse_answer("host_ram_gb", "1.5 TiB") == 1536
    assert parse_answer("gpu_mem_gib", "80") == 80


def test_none_is_an_answer_where_there_may_be_none():
    assert parse_answer("others_gib", "0") == 0
    assert parse_answer("max_pixels", "0") == 0
    with pytest.raises(ValueError, match="is no size"):
        parse_answer("gpu_mem_gib", "0 GB")


def test_a_refused_answer_is_told_and_not_taken(facts):
    found = facts("", n_gpus="many")
    assert "n_gpus" not in found.values
    assert found.notes == ("GPUs of the whole run: “many” is no whole number. Write digits only, as 8.",)


@pytest.mark.parametrize("value", [[], [8], {"n": 8}])
@pytest.mark.parametrize("id", ["gpu_memory_utilization", "params_b", "n_gpus", "gpu_model", "remove_padding"])
def test_what_is_neither_a_word_nor_a_number_is_refused(facts, id, value):
    found = facts("", **{id: value})
    assert id not in found.values
    assert "Write one word or one number" in found.notes[0]


@pytest.mark.parametrize("words", ["main", "latest", "b178a3c", "8 GPUs", "7B", "-1", "2025-13-40"])
def test_what_is_no_version_does_not_make_it_the_oldest(facts, words):
    found = facts("", framework="verl", framework_version=words)
    assert "framework_version" not in found.values
    assert "is no version" in found.notes[0]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("verl 0.4.1", "0.4.1"),
        ("v0.4", "0.4"),
        ("trl==0.19.1", "0.19.1"),
        ("0.7.x", "0.7"),
        ("0.8.5.post1", "0.8.5.post1"),
    ],
)
def test_a_version_may_have_a_name_before_it(words, number):
    assert parse_answer("framework_version", words) == number


@pytest.mark.parametrize("day", ["2025-04-02", "Wed Apr 2 12:14:36 2025 +0800", "2025-04-02 09:00"])
def test_the_day_of_a_checkout_is_the_release_before_it(facts, day):
    assert facts("", framework="verl", framework_version=day).values["framework_version"] == "0.3.0"


def test_unknown_ids_are_passed_over(values):
    assert values("", no_such_fact=3) == {}


def test_an_answer_outranks_what_the_paste_says(facts):
    found = facts("GRPO on 8 x A100 80GB", n_gpus=4, gpu_model="H100")
    assert (found.values["n_gpus"], found.values["gpu_model"]) == (4, "H100")
    assert found.stated["n_gpus"].origin == "answered"


def test_an_answer_counts_in_the_unit_of_its_fact(values):
    command = "python3 -m verl.trainer.main_ppo data.train_files=data/kk/a.parquet actor_rollout_ref.actor.ppo_micro_batch_size=64"
    assert values(command, micro_batch=2)["micro_batch"] == 2


def test_none_is_an_answer_where_it_is_a_level():
    assert parse_answer("zero_stage", "0") == parse_answer("sleep_level", "0") == 0


@pytest.mark.parametrize("kind", ["vllm_no_kv_blocks", "vllm_free_memory_too_low"])
def test_an_engine_that_does_not_start_is_there_and_fails_at_its_start(facts, kind):
    found = facts("", oom_kind=kind, framework="trl", model="Qwen2.5-7B", n_gpus=4)
    assert found.values["phase"] == "init"
    assert found.values["rollout_engine"] == "vllm"


def test_a_share_of_the_card_that_was_answered_tells_an_engine(facts):
    told = {"framework": "ms-swift", "algo": "grpo", "model": "Qwen2.5-7B", "n_gpus": 4}
    assert facts("", **told).values["rollout_engine"] == "hf"
    assert facts("", **told, gpu_memory_utilization=0.4).values["rollout_engine"] == "vllm"
    assert facts("", **told, phase="weight_sync").values["rollout_engine"] == "vllm"


@pytest.mark.parametrize("id", [id for id, spec in FACTS.items() if spec.type == "choice"])
def test_every_option_is_an_answer(id):
    yes_or_no = {"true": True, "false": False}
    assert all(parse_answer(id, option) == yes_or_no.get(option, option) for option, _ in FACTS[id].options)


def test_none_is_a_no_where_the_options_hold_one():
    assert parse_answer("gradient_checkpointing", "none") is False


@pytest.mark.parametrize(
    ("id", "value"),
    [
        ("gpu_mem_gib", -3),
        ("params_b", -1.5),
        ("params_b", float("nan")),
        ("host_ram_gb", 1e30),
        ("gpu_memory_utilization", 7.5),
    ],
)
def test_a_number_of_a_program_is_held_to_the_same_bounds_as_a_person_s(facts, id, value):
    found = facts("", **{id: value})
    assert id not in found.values
    assert "Write" in found.notes[0]


@pytest.mark.parametrize(
    ("written", "algo"),
    [
        ("Reward modeling", "rm"),
        ("Dr. GRPO", "dr_grpo"),
        ("continued pre-training", "pretrain"),
        ("REINFORCE++", "reinforce++"),
        ("GRPO", "grpo"),
    ],
)
def test_an_algorithm_may_be_written_out(written: str, algo: str) -> None:
    facts, notes = read_answers({"algo": written}, current())
    assert (facts["algo"].value, notes) == (algo, [])
