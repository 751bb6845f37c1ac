"""Host RAM that runs out in a save."""

from diagnose.knowledge import current
from diagnose.pipeline import diagnose


def test_what_a_save_adds_comes_before_what_stood_there_in_the_steps_that_passed():
    text = (
        "verl 0.4.1, Qwen2.5-32B, 2 nodes x 8 H100 80GB, 1 TB RAM per node, param_offload=True optimizer_offload=True\n"
        "host OOM while saving the checkpoint at step 50\n"
        "Out of memory: Killed process 4 (ray::WorkerDict) total-vm:187340116kB, anon-rss:133561216kB\n"
    )
    found = diagnose(text, {}, current(), ())
    assert found.phase == "checkpoint"
    assert found.prescriptions[0].lever.slug == "checkpoint.save_less"


def test_who_merges_a_checkpoint_is_told_of_no_other_model():
    text = (
        "merging the shards of a 32B model on a node with 64 GB RAM\n"
        "$ python -m verl.model_merger merge --backend fsdp --local_dir ckpt/actor --target_dir merged\n"
        "Loading 8 FSDP shards:  62%|######2   | 5/8 [02:10<01:18, 26.12s/it]\nKilled\n"
    )
    slugs = [one.lever.slug for one in diagnose(text, {}, current(), ()).prescriptions]
    assert slugs[0] == "host.more_ram"
    assert "model.smaller" not in slugs
