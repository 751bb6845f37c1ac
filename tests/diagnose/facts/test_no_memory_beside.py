"""Failures that are none of memory, beside words that sound like one: a sentence, a search, a worker that is gone."""

import pytest

from diagnose.facts.failing.kind import not_memory
from diagnose.pipeline import diagnose

LOCKED = "NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n"
FAULT = "[8812.2] NVRM: Xid (PCI:0000:61:00): 79, pid=6023, GPU has fallen off the bus.\n"
GONE = "The actor is dead because its worker process has died.\n"


def _told(text, knowledge):
    found = diagnose(text, {}, knowledge, ())
    other = not_memory(found.facts)
    return found.kind, other.slug if other else None


def test_an_error_of_its_own_is_no_repetition(knowledge):
    assert _told(f"{LOCKED}OSError: [Errno 12] Cannot allocate memory\n", knowledge)[0] == "host_ram"


def test_what_the_kernel_says_of_memory_counts_beside_a_fault_of_the_card(knowledge):
    killed = "[8812.9] Out of memory: Killed process 6023 (python3) total-vm:181223004kB, anon-rss:99213312kB\n"
    assert _told(FAULT + GONE + killed, knowledge)[0] == "host_ram"


@pytest.mark.parametrize("end", ["Cannot allocate memory but there is 880G available?", "why 'cannot allocate memory'"])
def test_a_sentence_that_repeats_a_message_is_of_the_same_failure(end, knowledge):
    assert _told(f"{LOCKED}{end}\n", knowledge) == (None, "locked-memory-limit")


@pytest.mark.parametrize(
    "search", ["dmesg | grep -i oom", 'dmesg -T | grep -i -E "oom|xid"', "journalctl -k | grep oom-kill"]
)
def test_what_somebody_searches_for_is_no_message(search, knowledge):
    assert _told(f"{GONE}$ {search}\n{FAULT}", knowledge) == (None, "gpu-fault")


def test_who_ended_the_run_is_told_before_what_waited_for_it(knowledge):
    waited = "[rank2]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8841, OpType=_ALLGATHER_BASE) ran for 600011 ms\n"
    assert _told(waited, knowledge) == (None, "nccl-watchdog-timeout")
    assert _told(waited + GONE + FAULT, knowledge) == (None, "gpu-fault")


def test_a_question_after_the_killer_is_none_beside_another_error(knowledge):
    refused = "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/x\n"
    assert _told(f"{refused}OOM killed?", knowledge) == (None, "service-refuses")
    assert _told(f"{refused}the pod is OOMKilled", knowledge)[0] == "host_ram"


def test_a_list_of_what_may_have_ended_a_daemon_settles_nothing(knowledge):
    may = (
        "(raylet) Raylet is terminated. Termination is unexpected. Possible reasons include: (1) SIGKILL by the user or system OOM killer, "
        "(2) Invalid memory access from Raylet causing SIGSEGV or SIGBUS, (3) Other termination signals.\n"
    )
    assert _told(may, knowledge)[0] == "other"
    assert (
        _told(f"{may}Out of memory: Killed process 6023 (python3) total-vm:9kB, anon-rss:9kB\n", knowledge)[0]
        == "host_ram"
    )
