"""Where a sentence puts the failure."""

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "CUDA OOM after validation, no traceback.",
        "CUDA OOM with Qwen3-8B. Our stack is from in-house rollout code.",
        "在 rollout 里面设了 gpu_memory_utilization=0.4 还是 OOM，显存",
        "It OOMs, but not during rollout.",
        "Rollout is fine, then CUDA out of memory.",
        "采样刚结束，马上就报 OOM（显存）",
        "CUDA OOM before the weight sync is reached.",
        "No OOM during generation any more.",
        "rollout 阶段不会 OOM",
        "I raised the rollout number and now it stops with an OOM error.",
        "CUDA OOM at training step 40.",
        "显存 OOM，报错的位置在 optimizer step 之前",
        "爆显存，发生在权重同步以前",
        "As soon as I point load_checkpoint_path at an old run I get an OOM.",
        "We train a reward model and get CUDA OOM.",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size=1 and still CUDA OOM",
        "OOM with a validation set of 500 rows",
        "CUDA out of memory during model loading or forward pass",
        "OOM happens either in rollout or in update_actor",
        "CUDA out of memory\nNothing was changed in update_actor_weights_of_mine.",
        "CUDA OOM, see the config below: log_prob_micro_batch_size is 4",
        "After the weight sync:\ntorch.OutOfMemoryError: CUDA out of memory.",
        "During the rollout:\nValueError: the tokenizer has no pad token\ntorch.OutOfMemoryError: CUDA out of memory.",
    ],
)
def test_a_sentence_that_does_not_put_the_failure_there_leaves_the_phase_open(values, text):
    assert "phase" not in values(text)


@pytest.mark.parametrize(
    ("text", "phase"),
    [
        ("actor update CUDA out of memory", "actor_update"),
        ("GRPO 8*H100，backward 里面偶尔爆显存", "actor_update"),
        ("8*H100 GRPO，rollout 里 OOM 了", "rollout"),
        ("Backward pass of the first step:\ntorch.OutOfMemoryError: CUDA out of memory.", "actor_update"),
        ("Step 2, in the distributed log-prob:\n\ntorch.OutOfMemoryError: CUDA out of memory.", "logprob"),
        (
            "CUDA out of memory.\nMI300X x 8, at backward in update_policy, ppo_micro_batch_size_per_gpu=16",
            "actor_update",
        ),
        ("bad run: update_actor\nCUDA out of memory", "actor_update"),
        ("Rollout is fine, but the policy update runs out of memory.", "actor_update"),
        ("GPU OOM in the backward pass", "actor_update"),
        ("loss.backward() OOM", "actor_update"),
        ("训练没问题，每次 eval 到一半 OOM", "eval"),
        ("CUDA out of memory. Tried to allocate 15.66 GiB.（在 update_weights 那里）", "weight_sync"),
        ("CUDA out of memory. (in prepare_for_generation)", "weight_sync"),
        ("It goes OOM halfway through the evaluation.", "eval"),
        ("更新策略的时候显存溢出", "actor_update"),
        ("反向传播时爆显存", "actor_update"),
        ("训练保存 checkpoint 的时候 OOM", "checkpoint"),
        ("FSDP2: OOM when loading, every rank holds the model", "load"),
        ("It crashes with OOM while training the critic.", "critic"),
        ("critic 更新时 OOM", "critic"),
        ("保存 checkpoint 时 OOM", "checkpoint"),
        ("保存模型的时候进程被杀", "checkpoint"),
        ("killed while saving the first checkpoint", "checkpoint"),
        ("The job dies at save_checkpoint with OOM.", "checkpoint"),
        ("启动 vllm 时 OOM", "init"),
        ("vllm 启动的时候爆显存", "init"),
        ("OOM during CUDA graph capture? It dies while capturing CUDA graphs.", "init"),
        ("CUDA OOM when starting the vllm engine", "init"),
        ("一启动就 OOM，显存不够", "init"),
        ("CUDA OOM while the checkpoint is being restored.", "load"),
        ("加载权重时主机内存爆了", "load"),
        ("加载阶段就被 ray 干掉了，内存不够", "load"),
        ("CUDA OOM already during model loading", "load"),
        ("Host memory runs out during validation.", "eval"),
        ("评估阶段 OOM", "eval"),
        ("验证时显存爆了", "eval"),
        ("GPU OOM in the generation phase", "rollout"),
        ("CUDA OOM as soon as the next generation begins", "rollout"),
        ("采样（生成）阶段显存爆了", "rollout"),
        ("跑到 rollout 那一步就报 OOM", "rollout"),
        ("GPU OOM when vLLM wakes up for generation", "weight_sync"),
        ("唤醒 vllm 权重以后就 OOM", "weight_sync"),
        ("同步权重时显存不够", "weight_sync"),
        ("OOM in wake_up", "weight_sync"),
        ("OOM while computing the reference log probs", "ref_logprob"),
        ("OOM in compute_ref_log_prob", "ref_logprob"),
        ("算 old_log_prob 的时候爆显存", "logprob"),
        ("OOM in compute_log_prob", "logprob"),
        ("the optimizer step runs out of GPU memory", "optimizer_step"),
        ("优化器更新那一步 OOM", "optimizer_step"),
        ("The worker is killed while the rewards are being computed.", "reward"),
        ("计算奖励的时候内存爆了", "reward"),
        ("verl grpo 8*A100 OOM update_actor", "actor_update"),
        ("CUDA out of memory (wake_up), second step", "weight_sync"),
        ("verl 7B OOM\nIt happens in compute_log_prob.\nCUDA out of memory. Tried to allocate 9 GiB.", "logprob"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.97 GiB. in update_actor", "actor_update"),
        ("critic 在 compute_values 的时候显存不足", "values"),
    ],
)
def test_it_reads_the_phase_in_a_sentence(values, text, phase):
    assert values(text)["phase"] == phase


@pytest.mark.parametrize(
    "text",
    ["The traceback is from update_policy.", "报错堆栈在 update_actor 里面", "The stack trace ends in update_actor"],
)
def test_where_a_traceback_is_from_is_where_it_failed(values, text):
    found = values("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 18.55 GiB.\n" + text)
    assert found["phase"] == "actor_update"
