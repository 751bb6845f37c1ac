"""The whole way: a paste in, a diagnosis out. The pastes are our own, after the public threads that the cases name."""

import datetime
import time
from dataclasses import replace

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose, estimate_case
from diagnose.words import lead

GROUPED = """We run Logic-RL on 4 * A100 80G, one machine, main_grpo.sh as it is but for the batch:
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_files=data/kk/instruct/5ppl/train.parquet \\
    data.train_batch_size=8 \\
    actor_rollout_ref.model.path=/home/someone/models/Qwen2.5-7B-Instruct-1M \\
    actor_rollout_ref.rollout.n=32 \\
    trainer.n_gpus_per_node=4 trainer.nnodes=1
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 13.92 GiB. GPU 0 has a total capacity of 79.15 GiB of which 6.31 GiB is free.
"""
NODE = """EasyR1, GRPO, Qwen2.5-VL-7B, 8 x A100-40GB, 760GB RAM on the one node.
ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.
Memory on the node (IP: 10.1.2.3, ID: 11aa) where the task (task ID: 22bb, name=main_task, pid=7, memory used=0.90GB) was running was \
725.00GB / 760.00GB (0.953947), which exceeds the memory usage threshold of 0.95.
"""


@pytest.fixture(scope="module")
def ask():
    knowledge = current()
    cases = tuple(knowledge.cases.values())

    def run(text, answers=None, exclude=()):
        return diagnose(text, answers or {}, knowledge, cases, exclude)

    return run


def test_an_empty_paste_claims_nothing(ask):
    found = ask("")
    assert (found.kind, found.phase, found.estimate.gpu, found.prescriptions) == (None, None, None, ())


@pytest.mark.parametrize(
    "command",
    [
        "swift infer --model Qwen/Qwen2.5-7B-Instruct --infer_backend vllm --max_new_tokens 2048",
        "swift export --model Qwen/Qwen2.5-72B-Instruct --quant_bits 4 --quant_method awq",
        "swift deploy --model Qwen/Qwen3-Embedding-0.6B --task_type embedding",
        "swift sample examples/sampler/sample/sampling.yaml",
        "swift export --adapters output/checkpoint-100",
        "megatron export --model Qwen/Qwen3-30B-A3B --to_mcore true --tensor_model_parallel_size 2",
    ],
)
def test_a_command_that_trains_nothing_is_not_estimated_as_training(ask, command):
    found = ask(f"{command}\n2x A100 80GB")
    assert found.facts.values["trains"] is False
    assert (found.estimate.gpu, found.estimate.missing, found.questions) == (None, (), ())
    assert "trains nothing" in lead(found)


def test_settings_of_an_inference_beside_a_training_are_not_those_of_the_training(ask):
    infers = "swift infer --model Qwen/Qwen2.5-14B-Instruct --max_new_tokens 2048 --vllm_gpu_memory_utilization 0.9"
    trains = "swift sft --model Qwen/Qwen2.5-7B-Instruct --train_type full --max_length 4096"
    values = ask(f"{infers}\n\nNPROC_PER_NODE=8 {trains}\n8x A100 80GB").facts.values
    assert (values["model"], values["max_length"], values["algo"]) == ("Qwen2.5-7B-Instruct", 4096, "sft")
    assert "trains" not in values
    assert "response_length" not in values


def test_an_engine_that_answers_for_a_training_keeps_its_settings(ask):
    serves = "CUDA_VISIBLE_DEVICES=6,7 swift rollout --model Qwen/Qwen2.5-7B-Instruct --vllm_max_model_len 9216"
    trains = "swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --use_vllm true --vllm_mode server"
    values = ask(f"{serves}\n\nNPROC_PER_NODE=6 {trains}").facts.values
    assert values["max_model_len"] == 9216
    assert "trains" not in values


def test_nothing_is_prescribed_that_is_on(ask):
    found = ask(GROUPED + "actor_rollout_ref.model.enable_gradient_checkpointing=True")
    assert "checkpointing.activation.on" not in {one.lever.slug for one in found.prescriptions}
    assert "checkpointing.activation.on" in {one.lever.slug for one in found.not_advised if one.reason == "on"}


def test_host_ram_gets_no_gpu_lever(ask):
    found = ask(NODE)
    assert (found.kind, found.pool) == ("host_ram", "host")
    assert found.prescriptions
    assert all("host" in one.lever.pools and one.pool == "host" for one in found.prescriptions)


def test_a_case_that_is_excluded_counts_neither_in_match_nor_in_evidence(ask):
    thread = "https://github.com/Unakar/Logic-RL/issues/8"
    own = {near.case.slug for near in ask(GROUPED).matches}
    without = ask(GROUPED, exclude=(thread,))
    gone = own - {near.case.slug for near in without.matches}
    assert gone
    assert not gone & {slug for one in without.prescriptions for slug in one.evidence.worked}


def test_the_product_of_prompts_and_samples_decides(ask):
    update = {
        (prompts, n): ask(GROUPED, {"train_batch_size": prompts, "rollout_n": n})
        .estimate.gpu.phase("actor_update")
        .bytes
        for prompts, n in ((8, 32), (4, 64), (4, 32))
    }
    assert update[8, 32] == update[4, 64] > update[4, 32]


def test_it_names_the_lengths_between_which_the_change_is_what_helps(ask):
    first = next(one for one in ask(GROUPED).prescriptions if one.lever.slug == "batch.train.down")
    runs_out, fits = first.length_range
    assert 1 < runs_out < fits < 2048


def test_the_own_case_comes_first(ask):
    assert ask(NODE).matches[0].case.slug.startswith("easyr1")
    assert ask(GROUPED).matches[0].case.slug.startswith("logic-rl")


def test_an_answer_outranks_the_paste(ask):
    assert ask(GROUPED, {"n_gpus": 16, "gpus_per_node": 16}).facts.values["n_gpus"] == 16


@pytest.mark.parametrize("text", [GROUPED, NODE, "step 1 loss 0.2\n" * 20_000 + GROUPED])
def test_the_reduced_paste_gives_the_same_diagnosis(ask, text):
    found = ask(text)
    again = ask(found.paste.text)
    assert again.facts.stated == found.facts.stated
    assert again.prescriptions == found.prescriptions
    assert len(found.paste.text.encode()) <= 64_000


def test_the_same_paste_gives_the_same_diagnosis(ask):
    assert ask(GROUPED) == ask(GROUPED)


def test_every_shipped_case_is_estimated_or_says_what_its_thread_does_not_tell():
    knowledge = current()
    for slug, case in knowledge.cases.items():
        estimate = estimate_case(case, knowledge)
        assert estimate.gpu or estimate.missing, slug


def test_a_case_is_estimated_by_a_release_of_its_day():
    knowledge = current()
    case = replace(knowledge.cases["trl-qwen2-5-7b-h20-step-3"], config={})
    peaks = [
        estimate_case(replace(case, date=day), knowledge).gpu.peak.bytes for day in (None, datetime.date(2025, 2, 23))
    ]
    assert peaks[0] < peaks[1]  # TRL recomputes by default since August 2025


def test_a_paste_of_noise_comes_back_within_seconds(ask):
    # no speed is promised here; a pattern that backtracks would take minutes
    start = time.process_time()
    ask("([{<" * 10_000 + "\n" + "a=" * 30_000 + "\n" + "0" * 100_000)
    assert time.process_time() - start < 20


def test_what_the_text_says_has_cured_the_failure_is_not_advised_again(ask):
    text = GROUPED + "data.max_response_length=16384 trainer.n_gpus_per_node=8\nCUDA out of memory\n"
    after = "After lowering max_response_length to 8192 it was fine."
    advised = {one.lever.slug for one in ask(text).prescriptions}
    found = ask(text + after)
    assert "length.response.down" in advised
    assert "length.response.down" not in {one.lever.slug for one in found.prescriptions}
    assert "length.response.down" in {one.lever.slug for one in found.not_advised if one.reason == "cured"}


def test_memory_that_nobody_names_is_looked_for_where_alone_it_is_too_close_to_call(ask):
    text = "llama-factory qwen2.5-14b lora sft 2x3090 zero3 cutoff 4096 bs1 ga16 bf16 oom"
    found = ask(text)
    assert (found.kind, found.pool) == ("other", "gpu")
    assert found.prescriptions[0].lever.slug == "logits.chunked"
    assert ask(text.replace("2x3090", "2xH100 80GB")).pool is None
