"""What a machine has in all, told without the word for memory, and a server with a card of its own."""

import pytest


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("ray worker 被 OOM killer 杀掉，机器一共503G", 503),
        ("服务器总共有 2T，还是被 kill", 2048),
        ("OOM killer, node has 1.8T", 1843.2),
    ],
)
def test_what_a_machine_has_in_all_is_its_ram(values, text, size):
    assert values(f"verl grpo 8*A100 Qwen2.5-7B, {text}")["host_ram_gb"] == pytest.approx(size)


@pytest.mark.parametrize(
    "text", ["机器一共640G显存", "机器一共 503G 硬盘", "机器一共 8 张卡", "node has 1.8T disk", "node has 80G"]
)
def test_cards_and_disks_are_not(values, text):
    assert "host_ram_gb" not in values(f"verl grpo 8*A100 Qwen2.5-7B, {text}")


def test_a_server_and_a_training_on_cards_of_their_own(values):
    text = "TRL grpo Qwen2.5-7B, {} on card 0, training on card 1, 2x A100 80G, OOM in backward"
    assert values(text.format("server"))["rollout_mode"] == "server"
    assert values(text.format("eval"))["rollout_mode"] != "server"
