"""A key with two senses, of which a default says which holds."""


def test_a_limit_of_rows_is_none_of_prompts_where_rows_are_taught(values):
    found = values("一张4090（24G）用LLaMA-Factory QLoRA微调Qwen2.5-32B，cutoff_len 2048，batch 1，够吗？")
    assert found["max_length"] == 2048
    assert "prompt_length" not in found


def test_where_answers_are_sampled_it_is_that_of_prompts(values):
    command = "llamafactory-cli train --stage ppo --model_name_or_path Qwen/Qwen2.5-7B --cutoff_len 1024 --finetuning_type lora"
    assert values(command)["prompt_length"] == 1024
