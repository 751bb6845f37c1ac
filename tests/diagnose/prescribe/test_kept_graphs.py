"""Memory that grows where the code keeps tensors with their graphs."""

import pytest

from diagnose.knowledge import current
from diagnose.pipeline import diagnose

GROWS = (
    "my own training loop, GPU memory grows by 300MB every step, OOM after 60 steps. Qwen2.5-1.5B full, 1x A100 80G\n"
)


@pytest.mark.parametrize(
    "code",
    ["all_losses.append(loss)", 'metrics["kl"].append(kl.mean())', "total_loss += loss", "logs.append(self.loss)"],
)
def test_to_keep_numbers_comes_first(code):
    found = diagnose(GROWS + code, {}, current(), ())
    assert found.kind == "memory_growth"
    assert found.prescriptions[0].lever.slug == "code.detach"


@pytest.mark.parametrize(
    "code", ["", "all_losses.append(loss.item())", "total_loss += loss.detach()", "rewards.append(reward)", "step += 1"]
)
def test_nothing_is_said_of_it_where_the_code_keeps_no_graph(code):
    found = diagnose(GROWS + code, {}, current(), ())
    assert "code.detach" not in {one.lever.slug for one in (*found.prescriptions, *found.not_advised)}


def test_nor_where_nothing_grows():
    found = diagnose(
        "Qwen2.5-1.5B full, 1x A100 80G, CUDA OOM in the first backward\nlosses.append(loss)", {}, current(), ()
    )
    assert "code.detach" not in {one.lever.slug for one in (*found.prescriptions, *found.not_advised)}
