"""Damage that people's texts take on the way to the paste box, one small pure function each: the truth in the text stays the same.

``HARMLESS`` changes how a text looks and nothing that it says: the same answer is due. ``LABELLED`` is the same for a text with a
traceback. ``LOSSY`` takes something away: fewer facts may be read, never others. ``BYTES`` are the encodings of a file that is uploaded.
"""

from __future__ import annotations

from benchmarks.damage.collector import COLLECTOR, LABELLED
from benchmarks.damage.command import COMMAND
from benchmarks.damage.cuts import BYTES, LOSSY
from benchmarks.damage.letters import LETTERS
from benchmarks.damage.page import PAGE
from benchmarks.damage.shapes import Damage, between
from benchmarks.damage.terminal import TERMINAL

__all__ = ["ADDS", "BYTES", "HARMLESS", "LABELLED", "LOSSY", "TRACEBACK"]

# Words of people who ask, which tell nothing of the run.
_ASKED = (
    "Hi all, I get this and do not know what to do. Can somebody help?",
    "Any idea what I should change? Thanks in advance!",
)
_ASKED_ZH = ("大家好，我这边遇到了下面的问题，完整内容贴在这里：", "请问应该怎么改？先谢谢各位了。")
NVIDIA_SMI = """Sun Mar  2 09:00:01 2025
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:10:00.0 Off |                    0 |
| N/A   31C    P0              63W / 400W |       4MiB /  81920MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+

+-----------------------------------------------------------------------------------------+
| Processes:                                                                              |
|  GPU   GI   CI        PID   Type   Process name                              GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
|  No running processes found                                                             |
+-----------------------------------------------------------------------------------------+"""
TRACEBACK = """Traceback (most recent call last):
  File "/opt/train/run.py", line 64, in main
    trainer.fit()
  File "/opt/train/step.py", line 330, in update_policy
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1 GiB is free."""
HARMLESS: dict[str, Damage] = {
    **TERMINAL,
    **LETTERS,
    **PAGE,
    **COLLECTOR,
    **COMMAND,
    "asked": between(*_ASKED),
    "asked in Chinese": between(*_ASKED_ZH),
    "nvidia-smi before": between(NVIDIA_SMI, ""),
    "nvidia-smi behind": between("", NVIDIA_SMI),
}
# What a table of cards tells by itself, and what follows from their number.
_OF_CARDS = (
    *("gpu_model", "gpu_mem_gib", "n_gpus", "n_nodes", "host_ram_gb"),
    *("micro_batch", "logprob_micro_batch", "critic_micro_batch"),
)
ADDS = {"nvidia-smi before": _OF_CARDS, "nvidia-smi behind": _OF_CARDS}
