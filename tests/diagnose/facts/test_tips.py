"""What a program lists below a failure as what one may try, and what somebody asks beside a program's message."""

GRAPHS = (
    "Exception: Capture cuda graph failed: CUDA out of memory. "
    "Tried to allocate 310.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 120.00 MiB is free.\n"
    "Possible solutions:\n"
    "1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)\n"
    "2. set --cuda-graph-max-bs to a smaller value (e.g., 16)\n"
    "3. disable torch compile by not using --enable-torch-compile\n"
    "4. disable CUDA graph by --disable-cuda-graph. (Not recommended. Huge performance loss)\n"
)
KERNEL = (
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 163840, Hardware limit: 101376."
)


def test_a_list_of_tips_tells_no_setting(values):
    found = values(GRAPHS)
    assert "enforce_eager" not in found
    assert found["captures_graphs"] is True


def test_what_follows_a_list_of_tips_counts(values):
    assert values(f"{GRAPHS}we run with cuda graphs disabled")["enforce_eager"] is True


def test_a_question_makes_no_failure_of_memory_of_another(values):
    assert "oom_kind" not in values(f"{KERNEL}\n4090 上报这个，是显存不够吗")
    assert "oom_kind" not in values(f"{KERNEL}\nIs the GPU out of memory?")


def test_who_says_it_beside_such_a_message_is_believed(values):
    assert values(f"{KERNEL}\n换了 kernel 之后又爆显存")["oom_kind"] == "gpu_oom"


def test_a_question_alone_still_tells(values):
    assert values("报错退出，是显存不够吗？")["oom_kind"] == "gpu_oom"


def test_what_a_chatbot_listed_is_no_setting_of_the_run(values):
    text = (
        "My GRPO run with TRL crashes, what do I do?\nChatGPT: You should try the following:\n1. Reduce per_device_train_batch_size to 1\n"
        "2. Use DeepSpeed ZeRO-3 with CPU offload\n3. Set vllm_gpu_memory_utilization=0.2\n\n"
        "still torch.OutOfMemoryError: CUDA out of memory.\nGRPOConfig(per_device_train_batch_size=8, num_generations=8)"
    )
    found = values(text)
    assert found["micro_batch"] == 8
    assert (found["zero_stage"], found["gpu_memory_utilization"]) == (0, 0.3)
    assert not found["param_on_cpu"]
