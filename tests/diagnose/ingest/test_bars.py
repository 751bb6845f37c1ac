"""What a progress bar shows is measured: no setting, and no limit."""

from diagnose.facts import read_facts
from diagnose.ingest import read
from diagnose.ingest.bars import without_figures
from diagnose.knowledge import current

BAR = "Episode [1/10]:   7%|▋         | 11/147 [3:29:41<43:12:18, 1143.66s/it, kl=0.11, response_length=381, total_length=1.69e+3]"


def test_the_figures_of_a_bar_are_no_settings():
    assert not {"response_length", "total_length", "kl"} & {setting.key for setting in read(BAR).settings}


def test_a_setting_behind_a_bar_is_one():
    line = "  0%|          | 0/100 [00:00<?, ?it/s]max_prompt_length=512"
    assert {setting.key: setting.value for setting in read(line).settings}["max_prompt_length"] == "512"
    assert len(without_figures(BAR)) == len(BAR)


def test_the_length_that_it_shows_is_a_real_one():
    values = read_facts(read("openrlhf.cli.train_ppo_ray\n" + BAR), {}, current()).values
    assert values.get("real_response_length") == 381
    assert values.get("response_length") != 381
