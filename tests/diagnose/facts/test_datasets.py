"""Data sets by the names in a command, and the lengths that follow from their records."""

import datetime

import pytest

from diagnose.estimate import plan_of
from diagnose.estimate.rows import image_patches
from diagnose.facts.trainer.datasets import used
from diagnose.knowledge import current
from diagnose.knowledge.dataset import Dataset, Tokens
from diagnose.pipeline import diagnose

REVIEWED = datetime.date(2026, 1, 1)
SFT = "swift sft --model Qwen/Qwen2.5-7B-Instruct --per_device_train_batch_size 1 --max_length 4096 --dataset "
GRPO = "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --max_completion_length 1024 --dataset "
SETS = {
    slug: Dataset(slug=slug, body="", title=f"org/{slug}", reviewed=REVIEWED, sources=("x",), tokenizer="T", **told)
    for slug, told in {
        "short": {"rows": 1000, "row_tokens": Tokens(mean=100, sd=50, max=900), "folders": ("short-rows",)},
        "long": {"rows": 3000, "row_tokens": Tokens(mean=500, sd=200, max=4000), "aliases": ("elsewhere/long",)},
    }.items()
}


def names(written):
    return [one.name for one in used(written, SETS)]


@pytest.mark.parametrize(
    "written", ["", "train.jsonl", "data/train.parquet", "org/shorter", "short", "my/long", "long-rows/train.json"]
)
def test_a_file_of_ones_own_is_no_data_set_of_the_catalogue(written):
    assert names(written) == []


def test_a_prompt_with_an_image_is_no_longer_than_the_text_and_the_pixels_that_are_let_through(facts):
    shown = GRPO.replace("2.5-7B", "2.5-VL-3B") + "AI-ModelScope/clevr_cogen_a_train#10000"
    assert facts(f"MAX_PIXELS=602112 {shown}").values["longest_prompt_length"] == 67 + 602112 // 784
    assert facts(f"IMAGE_MAX_TOKEN_NUM=588 {shown}").values["longest_prompt_length"] == 67 + 588
    assert "longest_prompt_length" not in facts(shown).values


def test_nothing_follows_where_one_of_several_is_unknown(facts):
    assert names("org/short org/unheard") == []
    found = facts(f"{SFT} AI-ModelScope/alpaca-gpt4-data-en data/own.jsonl")
    assert "dataset" in found.values
    assert "real_response_length" not in found.values


def test_nothing_follows_of_rows_with_sound_or_video(facts):
    found = facts(f"{SFT} swift/VideoChatGPT#2000 AI-ModelScope/alpaca-gpt4-data-en")
    assert found.datasets == ("swift/VideoChatGPT#2000", "AI-ModelScope/alpaca-gpt4-data-en")
    assert not {"real_response_length", "image_pixels"} & set(found.values)


def test_of_rows_with_images_the_text_is_counted_and_a_photograph_stands_beside_it(facts):
    found = facts(f"{SFT} swift/A-OKVQA#2000")
    assert found.datasets == ("swift/A-OKVQA#2000",)
    assert found.values["real_response_length"] == 44
    assert found.values["image_pixels"] == 307_200
    assert found.stated["image_pixels"].origin == "derived"


def test_images_measure_what_the_record_tells_and_of_several_sets_the_largest_count(facts):
    formulas = f"{SFT} AI-ModelScope/LaTeX_OCR:human_handwrite#2000"
    assert facts(formulas).values["image_pixels"] == 64_000
    assert facts(f"{formulas} swift/A-OKVQA#10").values["image_pixels"] == 307_200


def test_the_largest_image_is_known_where_every_set_with_images_tells_it(facts):
    photographs = f"{SFT} swift/A-OKVQA swift/refcoco AI-ModelScope/alpaca-gpt4-data-en"
    assert facts(photographs).values["largest_image_pixels"] == 640 * 640
    assert "largest_image_pixels" not in facts(f"{photographs} AI-ModelScope/LaTeX_OCR").values


def test_a_row_that_is_sorted_into_classes_is_its_prompt(facts):
    sorts = facts(f"{SFT} tany0699/garbage265", algo="seq_cls")
    assert sorts.values["real_response_length"] == 39
    assert "real_response_length" not in facts(f"{SFT} tany0699/garbage265").values


def test_a_set_of_pairs_tells_the_length_of_one_text(facts):
    found = facts(f"{SFT} sentence-transformers/stsb:positive", algo="embedding")
    assert (found.values["real_response_length"], found.values["longest_response_length"]) == (40, 77)


def test_a_text_set_has_no_images(facts):
    assert "image_pixels" not in facts(f"{SFT} AI-ModelScope/alpaca-gpt4-data-en").values


def test_a_row_that_is_known_by_its_prompt_alone_has_no_length(facts):
    assert "real_response_length" not in facts(f"{SFT} open-thoughts/OpenThoughts-114k").values


VERL = (
    "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_files=~/data/gsm8k/train.parquet "
    "actor_rollout_ref.model.path="
)


def test_the_usual_answer_is_told_of_models_that_public_runs_tell_of(facts):
    assert facts(f"{VERL}Qwen/Qwen2.5-7B-Instruct").values["usual_response_length"] == 278


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "Qwen/Qwen3-8B", "my/own"])
def test_of_a_model_that_may_think_first_no_usual_answer_is_told(facts, model):
    assert "usual_response_length" not in facts(VERL + model).values


def test_training_on_the_answers_of_the_set_has_no_usual_answer(facts):
    assert "usual_response_length" not in facts(f"{SFT} modelscope/gsm8k").values


@pytest.mark.parametrize(
    "written",
    ["org/short", "ORG/Short", "HF::org/short", "org/short:default", "org/short@train", "org/short[:]"]
    + ["/data/short-rows/train.parquet", "~/sets/short-rows.jsonl", "/hub/org/short", "['x/short-rows/train.parquet']"],
)
def test_a_data_set_is_known_by_name_and_by_folder(written):
    assert names(written) == ["org/short"]


def test_how_many_rows_are_taken_is_kept():
    assert names("'org/short#50 elsewhere/long:part#20'") == ["org/short#50", "org/long#20"]


def test_a_number_behind_a_name_takes_rows_and_one_with_a_point_a_share():
    """allenai/open-instruct@e6c3044 open_instruct/dataset_transformation.py: “1” is one sample, “1.0” all of them."""
    assert names("org/short 1.0") == ["org/short"]
    assert names("org/short 0.05 elsewhere/long 20") == ["org/short#50", "org/long#20"]
    assert names("0.05 org/short") == []


@pytest.mark.parametrize(
    ("slice", "rows"),
    [("[:5%]", 50), ("[:200]", 200), ("[100:250]", 150), ("[10%:30%]", 200), ("[90%:]", 100), ("[:5000]", 5000)],
)
def test_a_slice_takes_rows_or_a_share_of_them(slice, rows):
    assert names(f"org/short{slice}") == names(f"org/short:train{slice}") == [f"org/short#{rows}"]


@pytest.mark.parametrize("slice", ["[100:]", "[10%:500]", "[-5:]"])
def test_a_slice_with_an_open_or_mixed_end_says_no_number(slice):
    assert names(f"org/short:train{slice}") in (["org/short"], [])


def test_a_part_is_told_by_a_key_of_its_own_of_one_set_alone(facts):
    one = "base_model: Qwen/Qwen2.5-7B\ndatasets:\n  - path: yahma/alpaca-cleaned\n    type: alpaca\n    split: train[:1%]\n"
    sets = [facts(f"axolotl train x.yml\n{more}").datasets for more in (one, f"{one}  - path: vicgalle/alpaca-gpt4\n")]
    assert sets[0] == ("AI-ModelScope/alpaca-cleaned#517",)
    assert not any("#517" in name for name in sets[1])


@pytest.mark.parametrize(
    ("command", "framework"),
    [
        ("swift sft --dataset modelscope/gsm8k", "ms-swift"),
        ("trl grpo --dataset_name openai/gsm8k --num_generations 8", "trl"),
        ("python -m openrlhf.cli.train_ppo_ray --prompt_data openai/gsm8k", "openrlhf"),
        ("python3 -m openrlhf.cli.train_sft --data.dataset openai/gsm8k", "openrlhf"),
        ("python3 -m verl.trainer.main_ppo data.train_files=$HOME/data/gsm8k/train.parquet", "verl"),
        ("python3 -m verl.trainer.main config=x data.train_files=openai/gsm8k worker.actor.global_batch_size=8", "easyr1"),
    ],
)  # fmt: skip
def test_every_trainers_own_key_names_it(command, framework, facts):
    found = facts(command, framework=framework)
    assert found.datasets == ("modelscope/gsm8k",)
    assert found.stated["dataset"].span.line == 1


def test_in_training_on_answers_the_row_has_the_length_of_the_record(facts):
    found = facts(f"{SFT} AI-ModelScope/alpaca-gpt4-data-en")
    mean, longest = found.stated["real_response_length"], found.stated["longest_response_length"]
    assert (mean.value, longest.value) == (168, 607)
    assert mean.origin == longest.origin == "derived"
    assert "AI-ModelScope/alpaca-gpt4-data-en" in mean.why


def test_where_the_model_answers_only_the_prompt_follows(facts):
    values = facts(f"{GRPO} AI-MO/NuminaMath-TIR").values
    assert (values["real_prompt_length"], values["longest_prompt_length"]) == (101, 1683)
    assert "real_response_length" not in values


def test_where_only_whole_rows_are_counted_no_prompt_is_longer_than_the_longest(facts):
    values = facts(f"{GRPO} AI-ModelScope/alpaca-gpt4-data-en").values
    assert values["longest_prompt_length"] == 607
    assert "real_prompt_length" not in values


def test_a_student_that_answers_by_itself_has_answers_of_its_own(facts):
    gkd = SFT.replace("swift sft", "swift rlhf --rlhf_type gkd")
    assert "real_response_length" not in facts(f"{gkd} AI-ModelScope/alpaca-gpt4-data-en").values


def test_a_students_row_is_no_longer_than_a_row_of_the_data_and_its_longest_answer(facts):
    gkd = SFT.replace("swift sft", "swift rlhf --rlhf_type gkd --max_completion_length 512")
    assert facts(f"{gkd} AI-ModelScope/alpaca-gpt4-data-en").values["longest_response_length"] == 607 + 512
    assert "longest_response_length" not in facts(f"{gkd} AI-ModelScope/alpaca-gpt4-data-en own.jsonl").values


def test_a_student_that_never_answers_trains_on_the_rows_alone(facts):
    gkd = SFT.replace("swift sft", "swift rlhf --rlhf_type gkd --max_completion_length 512 --lmbda 0")
    assert facts(f"{gkd} AI-ModelScope/alpaca-gpt4-data-en").values["longest_response_length"] == 607


def test_several_mix_by_the_rows_that_are_taken(facts):
    few = facts(f"{SFT} AI-ModelScope/alpaca-gpt4-data-en#100 ZhipuAI/LongWriter-6k#300").values
    assert few["real_response_length"] == round((100 * 167.6 + 300 * 5009.0) / 400)


def test_the_longest_of_a_few_rows_is_below_the_longest_of_all():
    tokens = SETS["long"].row_tokens
    lengths = [tokens.longest_of(rows) for rows in (10, 100, 1000)]
    assert tokens.mean < lengths[0] < lengths[1] < lengths[2] < tokens.max
    assert tokens.longest_of(10**9) == tokens.max


def test_without_a_deviation_the_longest_of_all_is_told():
    assert Tokens(mean=100, max=900).longest_of(3) == 900
    assert Tokens(mean=100).longest_of(3) is None


def test_few_steps_meet_no_longer_row_than_so_many_draws(facts):
    run = f"{SFT} AI-ModelScope/alpaca-cleaned --gradient_accumulation_steps 4 --max_steps"
    few, many, unknown = (facts(f"{run} {steps}") for steps in (20, 100_000, -1))
    drawn = current().datasets["alpaca-cleaned"].row_tokens.longest_of(4 * 20 * (few.values.get("n_gpus") or 1))
    assert few.values["longest_met_length"] == round(drawn) < few.values["longest_response_length"]
    assert "longest_met_length" not in many.values
    assert "longest_met_length" not in unknown.values


def test_an_answered_length_outranks_the_record(facts):
    found = facts(f"{SFT} AI-ModelScope/alpaca-gpt4-data-en", real_response_length=2000)
    assert found.stated["real_response_length"].origin == "answered"
    assert "longest_response_length" not in found.values


def test_a_length_that_the_log_measured_outranks_the_record(facts):
    log = "{'loss': 0.1, 'prompts/mean_length': 300.0, 'completions/mean_length': 412.5}"
    found = facts(f"{GRPO} AI-MO/NuminaMath-TIR\n{log}\nresponse_length/mean:412.5 prompt_length/mean:300.0")
    assert found.values["real_prompt_length"] == 300
    assert found.stated["real_prompt_length"].origin == "read"


def test_a_corrected_name_changes_the_lengths(facts):
    found = facts(f"{SFT} data/own.jsonl", dataset="ZhipuAI/LongWriter-6k")
    assert found.values["real_response_length"] == 5009


def peak(command, **answers):
    """What is allocated: what the allocator keeps beside it hangs on whether rows differ as well."""
    return diagnose(command, {"n_gpus": 1, "full_or_lora": "lora", **answers}, current(), ()).estimate.torch_allocated


def test_the_limit_still_caps_what_the_record_tells():
    command = f"{SFT} ZhipuAI/LongWriter-6k"
    assert peak(command.replace("4096", "512")) == peak(command.replace("4096", "512"), real_response_length=9000)
    assert peak(command.replace("4096", "512")) < peak(command)


def test_a_run_without_a_limit_takes_the_longest_row_of_its_data():
    unlimited = SFT.replace("--max_length 4096 ", "").replace("swift sft", "swift sft --tuner_type lora")
    short, long = (
        peak(f"{unlimited} {name}") for name in ("AI-ModelScope/alpaca-gpt4-data-en", "ZhipuAI/LongWriter-6k")
    )
    assert short < long


def test_the_data_set_is_no_setting_that_memory_hangs_on(facts):
    assert "dataset" not in facts(f"{SFT} ZhipuAI/LongWriter-6k").config


def test_a_set_that_tells_its_pictures_tells_them_to_a_run_that_answers_too() -> None:
    """Small diagrams are enlarged to the least pixels of the run, so that the limit of pixels says nothing of them."""
    run = (
        "python3 -m verl.trainer.main config=examples/config.yaml data.train_files=hiyouga/geometry3k@train"
        " data.max_pixels=4194304 worker.actor.model.model_path=Qwen/Qwen2.5-VL-7B-Instruct\nEasyR1 v0.3.2"
    )
    knowledge = current()
    facts = diagnose(run, {"n_gpus": 8, "gpu_mem_gib": 80}, knowledge, ()).facts
    assert facts.number("image_pixels") == 75_000
    assert facts.number("min_pixels") == 262_144
    assert facts.number("usual_response_length") == 340
    plan = plan_of(facts, knowledge.fallback)
    assert plan is not None
    patches = image_patches(plan, 1000.0)
    assert patches.low == pytest.approx(262_144 / 14**2, rel=0.01)
    assert patches.high == pytest.approx(410_000 / 14**2, rel=0.01)
