import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_json, to_markdown, to_text
from tests.diagnose.test_pipeline import GROUPED, NODE

ROOT = Path(__file__).resolve().parents[2]


def found(text, answers=None):
    knowledge = current()
    return diagnose(text, answers or {}, knowledge, tuple(knowledge.cases.values()))


def manage(*arguments, stdin=b""):
    done = subprocess.run(
        [sys.executable, "manage.py", "diagnose", *arguments], input=stdin, capture_output=True, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_a_line_that_cannot_be_diagnosed_gives_an_error_and_the_run_goes_on():
    lines = [b'{"id": "a", "paste": "x"}', b"{broken", b'{"id": "c", "paste": 7}', b'{"id": "d"}']
    answers = [json.loads(line) for line in manage("--jsonl", stdin=b"\n".join(lines)).splitlines()]
    assert [answer["id"] for answer in answers] == ["a", None, "c", "d"]
    assert ["error" in answer for answer in answers] == [False, True, True, False]


def test_nothing_known_is_null_and_not_a_guess():
    said = to_json(found(""))
    assert (said["framework"], said["oom_kind"], said["phase"]) == (None, None, None)
    assert said["facts"] == {"numbers": {}}
    assert said["estimate"]["gpu"] is None


def test_it_says_which_answers_were_refused_or_do_not_go_together():
    said = to_json(diagnose("", {"n_gpus": "many", "full_or_lora": "full", "quantization": "nf4"}, current(), ()))
    assert [note.partition(":")[0] for note in said["notes"]] == [
        "GPUs of the whole run",
        "A base of few bits is not trained itself",
    ]


def test_what_is_assumed_stands_apart():
    said = to_json(found(GROUPED))
    assert "real_response_length" in said["assumed"]
    assert "n_gpus" not in said["assumed"]
    assert said["facts"]["n_gpus"] == 4


def test_the_estimate_has_its_counters_and_its_phases():
    gpu = to_json(found(GROUPED))["estimate"]["gpu"]
    assert gpu["low_gib"] <= gpu["peak_gib"] <= gpu["high_gib"]
    assert gpu["torch_allocated_gib"] <= gpu["torch_reserved_gib"] <= gpu["peak_gib"]
    assert gpu["peak_phase"] in {phase["phase"] for phase in gpu["phases"]}
    for phase in gpu["phases"]:
        assert sum(term["gib"] for term in phase["terms"]) == pytest.approx(phase["gib"], abs=0.02)


def test_what_ran_out_is_never_said_to_fit():
    small = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B-Instruct --max_length 512 --bf16 true\n1 x A100 80GB\n"
    oom = (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which "
        "1.06 GiB is free.\n"
    )
    assert to_json(found(small))["estimate"]["gpu"]["fits"] is True
    assert to_json(found(small + oom))["estimate"]["gpu"]["fits"] is None


def test_a_prescription_names_the_key_before_and_after():
    first = next(one for one in to_json(found(GROUPED))["prescriptions"] if one["lever"] == "batch.train.down")
    assert first["changes"] == [{"key": "data.train_batch_size", "before": "8", "after": "4"}]
    assert first["after_gib"] < first["before_gib"]


def test_ray_prints_gb_and_means_gib():
    numbers = to_json(found(NODE))["facts"]["numbers"]
    assert (numbers["node_used_gb"], numbers["node_total_gb"]) == (725.0, 760.0)


def test_text_and_markdown_say_the_same_headline():
    diagnosis = found(NODE)
    assert to_text(diagnosis).startswith("Host RAM runs out\n")
    assert to_markdown(diagnosis).startswith("## Host RAM runs out\n")


def test_no_address_of_the_paste_is_in_the_markdown():
    assert "10.1.2.3" not in to_markdown(found(NODE))


def test_a_file_that_cannot_be_read_is_named():
    done = subprocess.run(
        [sys.executable, "manage.py", "diagnose", "no-such.log"], capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == 1
    assert "no-such.log: No such file or directory" in done.stderr


def test_a_file_is_read(tmp_path):
    (tmp_path / "train.log").write_text(GROUPED, encoding="utf-8")
    assert json.loads(manage("--json", str(tmp_path / "train.log")))["framework"] == "logic-rl"


def test_the_core_answers_without_django():
    blocked = (
        "import runpy, sys; sys.modules['django'] = None; sys.argv = ['diagnose'];"
        "runpy.run_module('diagnose', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", blocked], input=GROUPED.encode(), capture_output=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr.decode()
    assert "GPU memory runs out" in done.stdout.decode()


MEASURED = f"""{GROUPED}
4 x A100 80GB
(main_task pid=7) step:2 - perf/cpu_memory_used_gb:100.5 - response_length/mean:300.0
(main_task pid=7) step:3 - perf/cpu_memory_used_gb:110.5 - response_length/mean:310.0
(main_task pid=7) step:4 - perf/cpu_memory_used_gb:120.5 - response_length/mean:320.0
(main_task pid=7) step:5 - perf/cpu_memory_used_gb:130.5 - response_length/mean:315.0
"""


def test_what_the_log_measured_stands_beside_the_estimate_and_names_its_line():
    said = to_json(found(MEASURED))
    (one,) = said["measured"]
    assert (one["pool"], one["counter"], one["gib"], one["step"]) == ("host", "host_used", 130.5, 5)
    assert one["difference_gib"] == pytest.approx(one["gib"] - one["estimate_gib"], abs=0.002)
    assert MEASURED.splitlines()[one["line"] - 1].startswith("(main_task pid=7) step:5")
    assert said["facts"]["real_response_length"] == 320


def test_growth_says_what_a_step_adds():
    (one,) = to_json(found(MEASURED))["growth"]
    assert (one["gib_a_step"], one["first_step"], one["last_step"]) == (10.0, 2, 5)


def test_without_readings_both_are_empty():
    said = to_json(found(GROUPED))
    assert (said["measured"], said["growth"]) == ([], [])
    assert all(phase["measured_gib"] is None for phase in said["estimate"]["gpu"]["phases"])


def test_the_text_tells_readings_and_growth():
    said = to_text(found(MEASURED))
    assert "WHAT THE LOG MEASURED" in said
    assert "grows by 10.0 GiB a step" in said
    assert "page-locked copies left out, actor update: 130.5 GiB; estimate" in said


WAKING = """torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.10 GiB.
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm
"""


def test_a_move_to_a_version_tells_package_versions_and_advisory():
    said = to_json(found(f"{WAKING}vllm==0.8.2", {"phase": "weight_sync"}))
    given = next(one for one in said["prescriptions"] if one["advisories"])
    assert (given["lever"], given["advisories"]) == ("upgrade.vllm", ["vllm-wakes-all-at-once"])
    assert given["changes"] == [{"key": "vllm", "before": "0.8.2", "after": "0.8.3"}]
    assert given["evidence"]["worked"] >= 1
    assert "Move to vllm 0.8.3 or newer" in to_text(found(f"{WAKING}vllm==0.8.2", {"phase": "weight_sync"}))


def test_a_version_that_nothing_tells_is_to_be_checked_with_a_command():
    diagnosis = found(WAKING, {"phase": "weight_sync"})
    checks = {one["advisory"]: one for one in to_json(diagnosis)["checks"]}
    one = checks["vllm-wakes-all-at-once"]
    assert (one["if"], one["to"], one["find_out"]) == ("from 0.7.0 on and before 0.8.3", "0.8.3", "pip show vllm")
    assert "VERSIONS TO CHECK" in to_text(diagnosis)
    assert "If vllm is from 0.7.0 on and before 0.8.3: move to vllm 0.8.3 or newer." in to_markdown(diagnosis)


def test_what_two_lines_of_a_log_say_in_bytes_and_in_tokens_is_told_once():
    log = (
        "INFO [gpu_worker.py:298] Available KV cache memory: 21.44 GiB\n"
        "INFO [kv_cache_utils.py:864] GPU KV cache size: 401,456 tokens\n"
        "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.92 on one L40S\n"
    )
    assert to_text(diagnose(log, {}, current(), ())).count("KV cache, engine start: 21.4") == 1


def test_the_text_says_what_to_do_before_what_was_read():
    for text in (to_text(found(GROUPED)), to_markdown(found(GROUPED)).upper()):
        places = [text.index(title) for title in ("PEAK OF EACH PHASE", "WHAT TO DO", "WOULD CHANGE THIS MOST")]
        assert places == sorted(places)
        assert places[-1] < text.index("WHAT WAS READ")


def test_the_pool_that_failed_stands_first_and_the_other_last():
    text = to_text(found(NODE))
    assert text.index("HOST RAM OF A NODE") < text.index("WHAT WAS READ")
    assert "GPU MEMORY, PEAK" not in text[: text.index("WHAT WAS READ")]


def test_below_the_phases_stands_what_they_have_room_in():
    text = to_text(found(GROUPED))
    table = text[text.index("GPU MEMORY, PEAK OF EACH PHASE") :].split("\n\n")[1]
    assert re.search(r"^  the card has +79\.\d GiB$", table.split("\n")[-1])


def test_what_is_less_than_a_gib_is_told_in_mib_as_an_allocator_prints_it():
    oom = "CUDA out of memory. Tried to allocate 1002.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 520.88 MiB is free."
    text = to_text(found(oom))
    assert "Asked for: 1,002 MiB (line 1)" in text
    assert "Free as printed: 521 MiB (line 1)" in text


def test_a_key_that_nothing_sets_and_a_version_that_nothing_tells_are_told_apart():
    text = to_text(
        found(
            '  File "verl/workers/actor/dp_actor.py", line 388, in update_policy\n    loss.backward()\n'
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.28 GiB. GPU 0 has a total capacity of 79.11 GiB of which "
            "3.11 GiB is free.\npython3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size=512 "
            "data.max_response_length=8192 actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct actor_rollout_ref.rollout.n=8 "
            "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=1"
        )
    )
    assert "(version not told) → " in text
    assert "(not set) → " in text
