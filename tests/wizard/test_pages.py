"""The pages as a browser gets them, over the knowledge that ships."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qsl, urlsplit

import pytest

from diagnose.vocabulary import FACTS
from tests.wizard.conftest import TORCH, Form, post

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


LINK = "/result/?framework=trl&model=Qwen2.5-7B&n_gpus=8&gpu_model=A100&gpu_mem_gib=80&response_length=2048"


def test_an_unknown_page_says_where_to_go(client):
    response = client.get("/nothing/here")
    assert response.status_code == 404
    assert "/nothing/here" in response.content.decode()


@pytest.mark.parametrize("path", ["/", "/questions/", "/fit/", LINK])
def test_no_page_shows_its_own_markup_as_words(client, path):
    client.get(path)  # the first page is drawn once and kept
    assert not re.search(
        r"&lt;/?(?:a|div|form|h\d|li|p|section|span|svg|table|ul)\b", client.get(path).content.decode()
    )


@pytest.mark.parametrize("path", ["/", "/questions/", LINK])
def test_a_page_has_one_first_heading_and_no_id_twice(client, path):
    page = Form(client.get(path).content.decode())
    assert page.headings.count("h1") == 1
    assert len(page.ids) == len(set(page.ids))


def test_the_answer_names_what_ran_out_and_where(answer):
    assert re.search(r"<h1>GPU memory runs out in the actor update</h1>", answer)


def test_the_answer_has_no_id_twice_and_no_link_into_nothing(answer):
    page = Form(answer)
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_the_answer_stays_below_its_budget(answer):
    assert len(answer.encode()) < 110_000


def test_the_reduced_paste_gives_the_same_answer(client, answer):
    carried = dict(Form(answer).hidden)
    again = post(client, reduced=carried["reduced"])
    assert main_of(again) == main_of(answer)


def test_a_correction_outranks_the_paste_and_is_carried_on(client, answer):
    hidden = [pair for pair in Form(answer).hidden if pair[0] != "paste"]
    corrected = post(client, **dict(hidden), rollout_n="8")
    assert ("rollout_n", "8") in Form(corrected).hidden
    assert re.search(r'id="fact-rollout_n">.*?chip you', corrected)


def test_the_link_holds_certain_facts_by_the_names_of_the_vocabulary(answer):
    link = next(link for link in Form(answer).links if link.startswith("/result/?"))
    names = {name for name, _ in parse_qsl(urlsplit(link).query)}
    assert {"framework", "rollout_n", "model"} <= names
    assert names <= set(FACTS)
    assert "real_response_length" not in names


def test_the_link_gives_the_same_verdict_and_says_what_it_lacks(client, answer):
    link = next(link for link in Form(answer).links if link.startswith("/result/?"))
    page = client.get(link).content.decode()
    assert re.search(r"<h1>(.*?)</h1>", page)[1] == re.search(r"<h1>(.*?)</h1>", answer)[1]
    assert "From the facts in the link alone" in page


def test_a_link_gives_itself(client):
    page = Form(client.get(LINK).content.decode())
    again = next(link for link in page.links if link.startswith("/result/?"))
    assert (
        next(link for link in Form(client.get(again).content.decode()).links if link.startswith("/result/?")) == again
    )


def test_empty_fields_leave_the_address(client):
    response = client.get("/result/?n_gpus=8&model=&card=A100:80")
    assert response.status_code == 302
    assert dict(parse_qsl(urlsplit(response.url).query)) == {"n_gpus": "8", "gpu_model": "A100", "gpu_mem_gib": "80"}


def test_htmx_gets_the_page_and_the_address_to_show(client):
    plain = client.post("/result/", {"paste": TORCH})
    swapped = client.post("/result/", {"paste": TORCH}, headers={"HX-Request": "true"})
    assert swapped.headers["HX-Push-Url"].startswith("/result/?oom_kind=gpu_oom")
    assert main_of(swapped.content.decode()) == main_of(plain.content.decode())
    assert "HX-Push-Url" not in plain.headers


def test_settings_of_an_unknown_framework_are_counted_and_named(client):
    page = post(
        client, paste=f"{TORCH}\n--rl_batch 16 --gen_share 0.5 --brand_new_key 3 --gradient_checkpointing true --k 1\n"
    )
    assert "We do not know this framework" in page
    assert "1 of 5 settings are read as most trainers mean them. Not understood, with 1 more:" in page
    assert "<code>gradient_checkpointing</code>" not in page.split("Not understood")[1].split("</p>")[0]


def test_a_card_of_which_the_memory_is_unknown_is_asked_for(client):
    page = client.get("/result/?gpu_model=A100&model=Qwen2.5-7B&n_gpus=8&framework=trl").content.decode()
    assert "Memory of one GPU" in html.unescape(page)


def test_a_move_to_a_version_and_a_version_to_check_lead_to_their_pages(client):
    run = "algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm"
    frame = '  File "verl/workers/sharding_manager/fsdp_vllm.py", line 94, in __enter__\n    self.inference_engine.wake_up()'
    text = f"{TORCH}\n{frame}\npython3 -m verl.trainer.main_ppo {run}\n"
    page = post(client, paste=f"{text}vllm==0.8.2")
    assert "Move to vllm 0.8.3 or newer" in page
    assert "/advisories/vllm-wakes-all-at-once/" in page
    page = post(client, paste=text)
    assert "Move to vllm 0.8.3 or newer" not in page
    assert "Versions to check" in page
    assert "pip show vllm" in page


def test_words_without_any_fact_are_no_failure_of_ours(client):
    page = post(client, paste="it died, no idea why")
    assert "FACTS MISSING" in page


def main_of(page: str) -> str:
    """The part that htmx swaps, without the token, which differs each time."""
    main = page[page.index('<main id="main"') : page.index("</main>")]
    main = re.sub(r'name="csrfmiddlewaretoken" value="[^"]*"', "", main)
    return re.sub(r'name="reduced" value="[^"]*"', "", main)


def test_a_failure_that_is_none_of_memory_gets_no_advice_on_memory(client):
    page = post(client, paste="RuntimeError: CUDA error: an illegal memory access was encountered")
    assert "This is no memory failure" in page
    assert "CUDA_LAUNCH_BLOCKING=1" in page
    assert "What to do" not in page


def test_an_engine_without_room_for_its_cache_is_shown_with_its_figures(client):
    command = (
        "openrlhf train_ppo_ray --vllm_num_engines 4 --vllm_tensor_parallel_size 2 --colocate_all_models --vllm_gpu_memory_utilization 0.3"
        " --pretrain Qwen/Qwen2.5-32B-Instruct --actor_num_gpus_per_node 8 --prompt_max_len 1024 --generate_max_len 8192"
    )
    page = post(client, paste=f"ValueError: No available memory for the cache blocks.\n{command}\n8 x H100 80GB")
    assert "the engine may take" in page
    assert "for the engine&#x27;s cache, fits" in page
    assert "do not explain" not in page


def test_changes_that_are_enough_together_stand_first_as_one_patch(client):
    command = (
        "openrlhf train_ppo_ray --pretrain meta-llama/Llama-3.1-8B-Instruct --reward_pretrain meta-llama/Llama-3.1-8B-Instruct"
        " --colocate_all_models --vllm_num_engines 8 --vllm_gpu_memory_utilization 0.5 --zero_stage 2 --micro_train_batch_size 8"
        " --prompt_max_len 2048 --generate_max_len 8192 --actor_num_gpus_per_node 8"
    )
    page = post(client, paste=f"torch.OutOfMemoryError: CUDA out of memory.\n{command}\n8 x A100 80GB")
    assert page.index("Smallest changes that fit") < page.index("These together fit") < page.index('id="rx1"')
    assert page.count("<summary>Patch of your command</summary>") > 1
    assert 'id="patchset"' in page


def test_a_patch_names_the_changes_that_have_no_place_in_the_paste(client):
    """An adapter is an argument of the trainer, whose call the paste does not hold."""
    script = (
        "args = GRPOConfig(per_device_train_batch_size=8, num_generations=8, max_completion_length=2048, bf16=True, use_vllm=True,"
        ' vllm_mode="colocate", vllm_gpu_memory_utilization=0.4)\ntrainer = GRPOTrainer(model="Qwen/Qwen2.5-3B-Instruct", args=args)'
    )
    page = main_of(
        post(client, paste=f"from trl import GRPOConfig, GRPOTrainer\n{script}\n# one A100 40GB\nCUDA out of memory")
    )
    patch = page[page.index('id="patchset"') :]
    told = patch[: patch.index("</details>")].partition("</table>")[2]
    assert "Not in this patch" in told
    assert "<code>peft_config LoraConfig(r=32)</code>" in told
    assert "per_device_train_batch_size" not in told


def test_a_plan_is_answered_by_whether_it_fits(client):
    page = html.unescape(post(client, paste="想在 1 张 4090 上用 verl 全参跑 Qwen2.5-7B GRPO，够不够？"))
    assert "By the estimate it does not fit" in page
    assert "DOES NOT FIT" in page
    assert "No message of a memory failure" not in page
    assert "What ran out?" not in page


def test_a_launch_command_alone_is_read_as_a_run_to_come_and_what_ran_out_stays_at_hand(client):
    command = "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct trainer.n_gpus_per_node=8"
    page = html.unescape(post(client, paste=command))
    assert page.index("Read as a run to come") < page.index('id="askh"')
    assert "memory" in page.split('id="askh"')[1][:60]
    assert page.count('href="/fit/?') > 1
    assert 'href="#fact-oom_kind"' in page
    assert 'id="fact-oom_kind"' in page
    failed = html.unescape(post(client, paste=f"(W pid=3) step 3\n{command}"))
    assert "No message of a memory failure" in failed
    assert "What ran out?" in failed.split('id="askh"')[1][:60]


def test_the_link_of_a_launch_command_alone_is_read_as_a_run_to_come_too(client):
    command = "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct trainer.n_gpus_per_node=8"
    page = html.unescape(post(client, paste=command))
    link = next(link for link in Form(page).links if link.startswith("/result/?"))
    again = html.unescape(client.get(link).content.decode())
    assert "Read as a run to come" in again
    asked = [re.findall(r'<h2 id="askh">(.*?)</h2>', one) for one in (page, again)]
    assert asked[0] == asked[1] != []
    assert "What ran out?" not in asked[1]
    assert ("command_alone", "true") in Form(again).hidden
    failed = html.unescape(client.get(f"{link}&oom_kind=gpu_oom").content.decode())
    assert "Read as a run to come" not in failed
    assert not any("command_alone" in link for link in Form(failed).links if link.startswith("/result/?"))


def test_the_link_of_a_log_without_a_message_asks_what_ran_out_as_its_page_does(client):
    command = "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct trainer.n_gpus_per_node=8"
    page = html.unescape(post(client, paste=f"(W pid=3) step 3\n{command}"))
    link = next(link for link in Form(page).links if link.startswith("/result/?"))
    again = html.unescape(client.get(link).content.decode())
    assert "Read as a run to come" not in again
    assert "What ran out?" in again.split('id="askh"')[1][:60]


SERVES = "trl vllm-serve --model Qwen/Qwen2.5-7B-Instruct --tensor_parallel_size 1 --max_model_len 8192\n1 x A100 80GB"


def test_the_page_of_an_engine_alone_says_what_runs_and_offers_no_calculator_of_training(client):
    page = post(client, paste=SERVES)
    assert "runs an engine alone" in page
    assert "We do not know this framework" not in page
    assert not any(link.startswith("/fit/?") for link in Form(page).links)
    assert 'id="fact-gradient_checkpointing"' not in page
    assert 'id="fact-micro_batch"' not in page


def test_the_link_of_an_engine_alone_gives_the_same_verdict(client):
    page = post(client, paste=SERVES)
    link = next(link for link in Form(page).links if link.startswith("/result/?"))
    again = client.get(link).content.decode()
    assert re.search(r"<h1>(.*?)</h1>", again)[1] == re.search(r"<h1>(.*?)</h1>", page)[1]
    assert "runs an engine alone" in again


@pytest.mark.parametrize(
    ("language", "text", "there"),
    [("zh-CN,zh;q=0.9", TORCH, True), ("en", TORCH, False), ("en", f"显存不够用了 {TORCH}", True)],
)
def test_a_person_who_reads_chinese_gets_the_answer_in_short_in_chinese(client, language, text, there):
    answer = client.post("/result/", {"paste": text}, headers={"Accept-Language": language})
    assert ('lang="zh-Hans"' in answer.content.decode()) is there
    assert "Accept-Language" in client.get("/result/?n_gpus=8").headers["Vary"]


def test_a_value_that_only_a_named_file_tells_is_shown_with_its_name(client):
    run = "verl 0.5, bash examples/grpo_trainer/run_qwen3-8b.sh on 8x A100 80GB, update_policy\nCUDA out of memory."
    page = post(client, paste=run)
    assert "<del>32</del> (run_qwen3-8b.sh as it is shipped) → <ins>16</ins>" in page
