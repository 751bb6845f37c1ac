"""Tables of cards as the drivers' tools print them."""

import pytest

SMI = """+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
|   0  NVIDIA A100-SXM4-80GB          On  |   00000000:01:00.0 Off |                   On |
| N/A   30C    P0             60W /  400W |     105MiB /  81920MiB |     N/A      Default |
+-----------------------------------------+------------------------+----------------------+
"""
MIG = """| MIG devices:                                                                            |
+------------------+----------------------------------+-----------+-----------------------+
| GPU  GI  CI  MIG |                     Memory-Usage |        Vol|        Shared         |
|  0    1   0   0  |              37MiB / {mib}MiB    | 42      0 |  3   0    2    0    0 |
|                  |                 0MiB / 65535MiB  |           |                       |
+------------------+----------------------------------+-----------+-----------------------+
"""


def test_a_table_that_breaks_off_does_not_tell_how_many_cards_there_are(values):
    assert "n_gpus" not in values("\n".join(SMI.split("\n")[:5]))


@pytest.mark.parametrize(
    "text",
    [
        "0, 4096, 2048\n1, 4096, 2048",
        "NVIDIA said 8192, 40960 and more about A100 cards",
        "name, age [years]\nAda, 36",
        "Total : 81559 MiB",
        "0       2     0x74a1,   55354  45.0",
        "the A100 has MIG",
    ],
)
def test_other_tables_tell_no_cards(values, text):
    assert {"n_gpus", "gpu_mem_gib"}.isdisjoint(values(text))


def test_a_whole_table_of_one_card_is_one_card(values):
    found = values(SMI)
    assert (found["gpu_model"], found["gpu_mem_gib"], found["n_gpus"], found["n_nodes"]) == ("A100", 80, 1, 1)


@pytest.mark.parametrize(("mib", "size"), [(40192, 40), (19968, 20), (9856, 10), (4864, 5)])
def test_of_a_card_in_slices_the_slice_counts(values, mib, size):
    found = values(SMI + MIG.format(mib=mib))
    assert (found["gpu_model"], found["gpu_mem_gib"]) == ("A100", size)
    assert "n_gpus" not in found


def test_a_slice_is_known_by_its_name(values):
    assert values("OOM on an NVIDIA A100-SXM4-80GB MIG 3g.40gb slice")["gpu_mem_gib"] == 40
    text = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 2g.10gb     Device  0: (UUID: MIG-1)"
    assert values(text)["gpu_mem_gib"] == 10


def test_of_slices_that_differ_the_smallest_is_assumed(facts):
    fact = facts(SMI + MIG.format(mib=40192) + MIG.format(mib=19968)).stated["gpu_mem_gib"]
    assert (fact.value, fact.origin) == (20, "assumed")


LISTING = """Attached GPUs                             : 8
GPU 00000000:07:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    FB Memory Usage
        Total                             : 81559 MiB
        Reserved                          : 551 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
"""


def test_it_reads_the_long_listing(values):
    found = values(LISTING)
    assert (found["gpu_model"], found["gpu_mem_gib"], found["n_gpus"]) == ("H100", 80, 8)


@pytest.mark.parametrize(
    ("text", "model", "size", "count"),
    [
        (
            "name, memory.total [MiB], memory.used [MiB]\n" + "NVIDIA A100-SXM4-40GB, 40960 MiB, 39000 MiB\n" * 2,
            "A100", 40, 2,
        ),
        (
            "index, name, memory.total [MiB]\n0, NVIDIA GeForce RTX 4090, 24564 MiB\n1, NVIDIA GeForce RTX 4090, 24564 MiB",
            "RTX 4090", 24, 2,
        ),
        ("0, NVIDIA L20, 46068, 45000\n1, NVIDIA L20, 46068, 45000", "L20", 48, 2),
        (
            "index, name, memory.total [MiB]\n" + "0, NVIDIA L20, 46068 MiB\n1, NVIDIA L20, 46068 MiB\n" * 3,
            "L20", 48, 2,
        ),
    ],
)  # fmt: skip
def test_it_reads_the_query_form_and_counts_a_card_once(values, text, model, size, count):
    found = values(text)
    assert (found["gpu_model"], found["gpu_mem_gib"], found["n_gpus"]) == (model, size, count)


def test_a_query_without_names_has_its_capacity_by_the_header(values):
    rows = "0, 78012 MiB, 81559 MiB\n1, 61880 MiB, 81559 MiB\n"
    found = values("index, memory.used [MiB], memory.total [MiB]\n" + rows)
    assert (found["gpu_mem_gib"], found["n_gpus"]) == (80, 2)
    assert not {"gpu_mem_gib", "n_gpus"} & values("index, memory.used [MiB], memory.free [MiB]\n" + rows).keys()
    assert not {"gpu_mem_gib", "n_gpus"} & values(rows).keys()


def test_it_reads_the_tables_of_other_makers(values):
    bytes_ = "\n".join(f"GPU[{i}]\t\t: VRAM Total Memory (B): 205822885888" for i in range(4))
    assert (values(bytes_)["gpu_mem_gib"], values(bytes_)["n_gpus"]) == (192, 4)
    concise = "Device  Node  IDs  Temp  VRAM%  GPU%\n====\n0       2     0x74a1  45.0  98%  0%\n1       3     0x74a1  45.0  98%  0%"
    assert values(concise)["n_gpus"] == 2
    huawei = "\n".join(
        ["| Chip   | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)  |"]
        + [f"| {i}     910B3  | OK            | 95.4        48                0    / 0 |\n"
           f"| 0            | 0000:C{i}:00.0  | 0           0    / 0          62011/ 65536  |" for i in range(2)]
    )  # fmt: skip
    found = values(huawei)
    assert (found["gpu_model"], found["gpu_mem_gib"], found["n_gpus"]) == ("Ascend 910B3", 64, 2)


NPU_HEAD = "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |"
NPU_FRAME = "+===========================+===============+====================================================+"
NPU_PROCESSES = "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |"


@pytest.mark.parametrize(
    ("words", "last", "count"),
    [
        ("910B 8卡 verl GRPO", "", 8),
        ("8 张 910B2 verl GRPO", "", 8),
        ("verl GRPO", "", 2),
        ("910B 8卡 verl GRPO", NPU_PROCESSES, 2),
    ],
)
def test_a_table_of_npu_smi_that_is_cut_behind_a_card_counts_no_more_than_the_words(values, words, last, count):
    rows = [
        f"| {i}     910B2               | OK            | 102.3       48                0    / 0             |\n"
        f"| 0                         | 0000:C{i}:00.0  | 0           0    / 0          61203/ 65536         |\n{NPU_FRAME}"
        for i in range(2)
    ]
    assert values("\n".join([words, NPU_FRAME.replace("=", "-"), NPU_HEAD, NPU_FRAME, *rows, last]))["n_gpus"] == count


RAY = """======== Autoscaler status: 2025-03-01 10:07:12.331 ========
Node status
Active:
 1 node_aaaa
 1 node_bbbb
Pending:
 (no pending nodes)
Resources
Usage:
 0.0/256.0 CPU
 16.0/16.0 GPU
 0B/1.50TiB memory
"""


def test_it_reads_the_status_of_a_cluster(values):
    assert (values(RAY)["n_gpus"], values(RAY)["n_nodes"]) == (16, 2)
    assert "host_ram_gb" not in values(RAY)


NVITOP = """│ NVITOP 1.3.2       Driver Version: 550.90.07      CUDA Driver Version: 12.4 │
├───────────────────────────────┬──────────────────────┬──────────────────────┤
│   0  A100-SXM4-80GB      On   │ 00000000:10:00.0 Off │                    0 │
│ N/A   41C    P0   300W / 400W │  77.26GiB / 80.00GiB │    100%      Default │
├───────────────────────────────┼──────────────────────┼──────────────────────┤
│   1  A100-SXM4-80GB      On   │ 00000000:16:00.0 Off │                    0 │
│ N/A   41C    P0   300W / 400W │  77.26GiB / 80.00GiB │    100%      Default │
"""
GPUSTAT = """gpu-07  Sun Mar  2 09:00:01 2025  550.90.07
[0] NVIDIA A100-SXM4-80GB | 41°C, 100 % | 79110 / 81920 MB | me(79100M)
[1] NVIDIA A100-SXM4-80GB | 40°C, 100 % | 79112 / 81920 MB | me(79102M)
"""


@pytest.mark.parametrize("text", [NVITOP + "╘═══════════════════════════════╧══════════════════════╛", GPUSTAT])
def test_monitors_tell_the_cards_of_a_machine(values, text):
    found = values(text)
    assert (found["gpu_model"], found["gpu_mem_gib"], found["n_gpus"]) == ("A100", 80, 2)


@pytest.mark.parametrize(
    "text", [NVITOP, "\n".join(f"x {line}" for line in NVITOP.split("\n")), GPUSTAT.split("\n")[2]]
)
def test_the_index_of_a_card_in_a_cut_table_is_no_number_of_cards(values, text):
    assert "n_gpus" not in values(text)
