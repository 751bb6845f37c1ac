"""What lacks a part says no more than what is there: a variable without its line, a run's own name, words behind a log."""

LOADING = (
    "GRPO with verl.\n\n```\n(WorkerDict pid=1) Loading checkpoint shards:  62%|██████▏   | 8/13 [00:41<00:26,  5.21s/it]\n"
    "Memory cgroup out of memory: Killed process 20418 (ray::WorkerDict)\n```\n"
)


def test_a_variable_may_stand_for_any_value(values, facts):
    command = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator={} actor_rollout_ref.model.path=Qwen/Qwen2.5-7B"
    assert values(command.format("of_my_own")).get("has_critic") is False
    unknown = facts(command.format("${adv_estimator}"))
    assert "has_critic" not in unknown.values
    assert "adv_estimator" in unknown.untold["has_critic"]


def test_a_file_behind_a_variable_is_still_a_file_of_deepspeed(values):
    assert values("swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B --deepspeed $DS")["strategy"] == "deepspeed"


def test_where_a_run_writes_to_names_no_model(values):
    found = values('DPOTrainer(args=DPOConfig(output_dir="out-dpo-05b"), train_dataset=ds).train()')
    assert not {"model", "params_b"} & found.keys()
    assert values('args = GRPOConfig(output_dir="Qwen2.5-7B-GRPO")')["params_b"] == 7


def test_a_nought_in_a_name_is_before_the_point(values):
    assert values("model.path=/ckpt/qwen-05b")["params_b"] == 0.5


def test_words_behind_a_log_do_not_end_it(values):
    assert values(LOADING)["phase"] == "load"
    assert values(LOADING + "\nIs this intended?\n" * 12)["phase"] == "load"
    assert "phase" not in values(LOADING.replace("```\n", "") + "\nIs this intended?\n" * 20)


def test_a_model_with_which_the_same_happens_is_not_the_one(values):
    assert values("Qwen-0.5B shows the same. I train Qwen2.5 3B with GRPO and it OOMs")["params_b"] == 3
    assert values("Qwen2.5-7B-Instruct fails too")["params_b"] == 7
