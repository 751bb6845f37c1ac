"""A page of documentation, a table of several runs and the boxes of a form are nobody's failure."""

import pytest

from tests.diagnose.facts.conftest import told

FAQ = """### FAQ: how to deal with OOM?
Common causes of out of memory errors: the KV cache, the micro batch, long sequences.
We recommend 8xA100 80GB for 7B models and LoRA for 70B models."""
PAGE = """## 常见问题
Q：训练时出现 OOM 怎么办？
A：可以尝试减小 per_device_train_batch_size，或者用 zero3、LoRA 训练。7B 模型建议使用 8 卡 A100 80G。"""
TABLE = """| 模型 | 训练方式 | 显存占用 |
| --- | --- | --- |
| Qwen2.5-7B | LoRA | 1×24GB |
| Qwen2.5-72B | 全参 zero3 | 32×80GB，batch 过大会 OOM |"""
RUNS = "\n".join(
    (
        "model\tGPUs\tmicro batch\tresult",
        "Qwen2.5-7B\t8xH100\t4\t61 GB",
        "Qwen2.5-14B\t8xH100\t8\tOOM",
        "Qwen2.5-32B\t16xH100\t1\tOOM",
    )
)


@pytest.mark.parametrize("text", [FAQ, PAGE, TABLE, RUNS])
def test_it_is_nobodys_failure_and_nobodys_run(text):
    found = told(text)
    assert found.kind is None
    assert not {"n_gpus", "params_b", "model", "gpu_model", "full_or_lora", "zero_stage"} & set(found.facts.values)


@pytest.mark.parametrize(
    "form",
    [
        "- [ ] I searched the issues (OOM, CUDA out of memory)",
        "- [x] I have read the FAQ about out of memory",
        "- [x] 我已经搜索过 issue，没有爆显存相关的重复问题",
    ],
)
def test_what_a_form_asks_to_confirm_tells_no_failure(form):
    assert told(f"{form}\nKeyError: 'prompt' on 8xA100").kind is None


@pytest.mark.parametrize(
    "text",
    [
        "- [x] CUDA out of memory\n- [ ] hang\n8xH100, verl",
        "### Troubleshooting done so far\nmicro batch 1, still CUDA OOM\n### Environment\n8xH100, verl",
        "FAQ says to reduce the batch if OOM, but I am at 1 already: CUDA OOM on 8xH100, verl",
        "| item | value |\n|---|---|\n| GPU | 8xH100 |\n| framework | verl |\nCUDA OOM in the actor update",
        "### Tips\nIf you run out of memory, use LoRA.\nCUDA out of memory. Tried to allocate 2.00 GiB.\n8xH100",
        "How to fix CUDA OOM in the actor update?\nRunning GRPO on 8xA100 80G with Qwen2.5-7B. If you need the script, tell.",
        "# 常见问题\nverl GRPO 7B 8卡A100 update_actor 时爆显存，如何解决？建议 micro batch 设多少",
        "Memory requirements?\nGRPO on 8xA100 with 7B: CUDA out of memory. You can see it fails in update_actor",
    ],
)
def test_ones_own_failure_beside_such_words_is_read(text):
    found = told(text)
    assert (found.kind, found.facts.values["n_gpus"]) == ("gpu_oom", 8)


def test_the_words_around_a_table_of_runs_are_those_of_the_run():
    found = told(f"verl on 8xH100, CUDA OOM in the actor update with 14B:\n{RUNS}")
    assert (found.kind, found.phase, found.facts.values["n_gpus"], found.facts.values["params_b"]) == (
        "gpu_oom",
        "actor_update",
        8,
        14,
    )
