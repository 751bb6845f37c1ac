"""A script of one's own that samples with an engine and trains."""

ENGINE = """
llm = LLM(model="Qwen/Qwen2.5-3B-Instruct", max_model_len=4096)
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-3B-Instruct", torch_dtype=torch.bfloat16).cuda()
"""
MAKES = "opt = torch.optim.AdamW(model.parameters(), lr=1e-6)\n"
FAILED = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 44.00 MiB. GPU 0 has a total capacity of 23.52 GiB."
)


def test_a_script_that_makes_an_optimizer_trains(facts):
    assert "trains" not in facts(ENGINE + MAKES + FAILED).values
    assert facts(ENGINE + FAILED).values["trains"] is False
