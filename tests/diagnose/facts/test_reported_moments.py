"""Moments, machines and growth as reporters of an issue tell them."""

import pytest


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("H100 PCIe? no it's a A40. PPO ends with CUDA out of memory", "A40"),
        ("A100? no, A800. CUDA out of memory", "A800"),
        ("是 A100 吗？不是，8卡 H20。CUDA out of memory", "H20"),
    ],
)
def test_a_card_that_is_taken_back_is_not_the_runs(values, text, gpu):
    assert values(text)["gpu_model"] == gpu


def test_a_card_that_is_asked_for_and_confirmed_stays(values):
    assert values("8 H100? yes. CUDA out of memory")["n_gpus"] == 8


@pytest.mark.parametrize("text", ["2 nodes a 8 GPU (A800)", "2 nodes à 8 A100", "2 nodes @ 8xH100"])
def test_cards_behind_a_and_their_machines_are_those_of_each(values, text):
    assert values(f"{text}, CUDA out of memory")["n_gpus"] == 16


@pytest.mark.parametrize(
    ("text", "gib"), [("container limit is 200Gi", 200), ("only 64G for my container", 64), ("pod limit: 96Gi", 96)]
)
def test_a_limit_needs_no_word_for_memory(values, text, gib):
    assert values(f"{text}, a worker was killed by the OOM killer")["host_ram_gb"] == gib


def test_words_behind_a_module_are_read_as_words(values):
    said = "deepspeed --module openrlhf.cli.train_dpo on Llama-3-70B, one node 8*H100, 1 TB RAM. return code = -9"
    found = values(said)
    assert (found["gpu_model"], found["n_gpus"], found["n_nodes"]) == ("H100", 8, 1)


def test_the_line_above_a_list_of_sizes_tells_whose_they_are(values):
    sizes = "step 1    21.3 GB\nstep 50   24.9 GB\nstep 100  28.8 GB\nstep 150  32.4 GB\n"
    assert values(f"gpu memory from nvidia-smi:\n{sizes}then CUDA out of memory")["oom_kind"] == "memory_growth"
    assert values(f"disk of the cache:\n{sizes}then CUDA out of memory")["oom_kind"] == "gpu_oom"


@pytest.mark.parametrize(
    "text",
    [
        "nothing else on the node: nvidia-smi is empty before the launch",
        "there are no other processes on the cards",
        "卡上没有其他进程",
    ],
)
def test_who_has_looked_is_not_told_to_stop_what_is_left(values, pieces, text):
    assert values(f"{text}. {pieces}")["others_gib"] == 0


@pytest.fixture
def pieces():
    return (
        "ValueError: Free memory on device (27.81/79.25 GiB) on startup is less than desired GPU memory utilization "
        "(0.6, 47.55 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes."
    )


def test_an_environment_tells_whose_it_is(values):
    frame = (
        '  File "/home/w/anaconda3/envs/searchr1/lib/python3.9/site-packages/torch/optim/adamw.py", line 209, in step\n'
    )
    found = values(f"I changed critic.ppo_micro_batch_size=8 in the script.\n{frame}CUDA out of memory")
    assert found["framework"] == "search-r1"
