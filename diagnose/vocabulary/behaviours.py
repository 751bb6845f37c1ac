"""What a framework file may say that the framework does: each behaviour with its options."""

from __future__ import annotations

# What a framework does. A behaviour has one value out of its options, or a number where there are none.
BEHAVIOURS: dict[str, tuple[str, tuple[str, ...]]] = {
    "weight_bytes": ("bytes a parameter that the trainer stores for the trained model", ()),
    "gradient_bytes": ("bytes a parameter of its stored gradients", ()),
    "optimizer_bytes": ("bytes a parameter of Adam state and separate masters", ()),
    "frozen_bytes": ("bytes a parameter of layers that are frozen beside trained ones, where those alone are cast", ()),
    "ref_bytes": ("bytes a parameter of the reference model as it is stored", ()),
    "outer_units": (
        "which of embedding and head FSDP shards as units of their own where they are two matrices: neither, the embedding, or both",
        ("joined", "table", "both"),
    ),
    "reduce_bytes": ("bytes a number in which FSDP reduces gradients of 16 bits", ()),
    "gather": ("what is put together for a forward pass", ("fsdp_units", "zero3", "none")),
    "eval_logits_bytes": ("bytes a logit in an evaluation of held-out rows, its loss included", ()),
    "logits_forward_bytes": ("bytes that one logit takes in a pass without gradient", ()),
    "logits_train_bytes": ("bytes that one logit takes at the start of the backward pass, all copies together", ()),
    "logits_type": ("the type in which a loss is sure to get its logits, where it is not that of the model", ("fp32",)),
    "vocabulary": ("parted where log-probs of samples are taken from a tensor parallel rank's own words", ("parted",)),
    "loss_chunk_gib": ("GiB of fp32 logits that a loss makes at a time, unless half of the free memory is less", ()),
    "loss_chunk_rounding": ("whether a chunk is no larger than that, or up to twice as large", ("up", "nearest")),
    "rows_at_once": (
        "whether an update over samples goes through all its rows at once, or through so many as the free memory allows",
        ("all", "by_free_memory"),
    ),
    "chunk_kept_bytes": ("bytes of each logit that a loss in chunks keeps until its backward pass", ()),
    "chunked_passes": ("the passes in which a loss in chunks spares the logits", ("update", "all")),
    "chunked_loss": ("whether a loss in chunks runs where the settings ask for it", ("yes", "no")),
    "loss_head_gradients": ("gradients of the head that a loss in chunks holds at once, of a frozen head as well", ()),
    "logits_left_bytes": ("bytes a logit of what the update still holds of them while the optimizer steps", ()),
    "loss_chunk_bytes": ("bytes of each logit that one chunk of a loss takes beside what is kept of all of them", ()),
    "loss_chunk_tokens": ("tokens of such a chunk", ()),
    "loss_row_bytes": ("bytes of each logit of one row that a loss in chunks makes at a time", ()),
    "logits_rows": (
        "for which tokens logits are made: all, samples alone, or of a data set's rows what follows the prompts of all, or each its own",
        ("all", "response", "answers", "each_answer"),
    ),
    "micro_batch_of": (
        "what a micro batch counts online: sequences, prompts with all their samples in one pass, or sequences that become as many as"
        " samples of a prompt where a step of them would hold no whole number of prompts",
        ("sequences", "prompts", "whole_prompts"),
    ),
    "whole_groups": (
        "which rows must hold whole groups of samples: those of one pass of all GPUs, of a step, or only those sampled at once",
        ("pass", "step", "sampled"),
    ),
    "engine_step": ("whether a step of the engine must hold the longest row", ("row", "any")),
    "router_loss": ("whether a loss balances the experts of a sparse model unless it is set off", ("yes", "no")),
    "student_writes": ("whether a student samples answers of its own while it learns", ("yes", "no")),
    "asleep_in_counters": ("whether the framework's counters of torch hold a sleeping engine too", ("yes", "no")),
    "texts_of_row": (
        "texts that a row of the data holds beside its negatives, each a sequence: an anchor and its match, or a query with a document",
        (),
    ),
    "reranker_head": (
        "what a reranker takes its two words from: a narrow head, or logits of the whole vocabulary gathered on every rank",
        ("narrow", "gathered_logits"),
    ),
    "reward_head": (
        "what a reward model is trained with: a narrow head in the place of the model's own, or one beside it, whose logits nobody reads;"
        " kept where the model's own stands there and makes none",
        ("narrow", "beside_logits", "kept"),
    ),
    "response_forward_bytes": (
        "bytes that a pass without gradient makes of a logit that is read, beside those of any: of responses in padded rows",
        (),
    ),
    "entropy_forward_bytes": ("the same in the pass of old log-probs, where that takes an entropy as well", ()),
    "response_train_bytes": (
        "bytes of a logit that is read, beside those of any, at the start of the backward pass",
        (),
    ),
    "chunk_tokens": ("tokens of a chunk in which a loss from hidden states makes logits", ()),
    "chunk_forward_bytes": ("bytes of a chunk's logit in a pass without gradient", ()),
    "chunk_train_bytes": ("bytes of a chunk's logit in the backward pass", ()),
    "tile_tokens": ("tokens of a tile of logits, which a loss makes again in the backward pass", ()),
    "tile_words": ("words of such a tile", ()),
    "critic_head": ("what the critic has in the place of the model's own head: a number a token", ("narrow",)),
    "root_freed": ("whether FSDP's root unit is freed between its forward pass and its backward pass", ("yes", "no")),
    "loss_by_row": (
        "whether log-probs are taken row by row, so that a pass without gradient holds one row's copy",
        ("yes", "no"),
    ),
    "dynamic_length": (
        "what one row may measure: of conversations by the rules of diagnose/estimate/turns.py",
        ("prompt_and_response", "start_and_prompt", "each_turn", "input_and_response", "model_length", "packed"),
    ),
    "dynamic_parts": (
        "how a batch is cut by a budget of tokens: into as few parts as fit, about as long as each other, or one full part after the other",
        ("even", "full"),
    ),
    "row_beyond_budget": ("what becomes of a generated row that is longer than the budget of tokens", ("alone",)),
    "padded_to": ("how long padded rows are", ("limits", "longest_row")),
    "long_rows": ("what becomes of a data set's rows above the limit", ("dropped", "cut")),
    "sync_transient": (
        "what handing the weights over needs beside the residents",
        (
            "fsdp_full_tensor",
            "gather_model",
            "copy_model",
            "gather_stored",
            "gather_stored_before_waking",
            "gather_in_parts",
            "gather_tensor",
            "bucket",
            "weight_and_bucket",
            "none",
        ),
    ),
    "sync_first": ("whether an engine has the trainer's weights before it answers for the first time", ("yes",)),
    "sync_cast_bytes": ("bytes a number of a copy of the weight that is on its way, in the engine's type", ()),
    "sync_buckets": ("buffers of the size of one: more where the engine copies what it reads", ()),
    "sync_on_host": (
        "what handing the weights over takes on a node: the base of adapters on each rank, twice where it is moved flat as well",
        ("base_on_every_rank", "base_twice_on_every_rank", "none"),
    ),
    "ref_frozen": (
        "whether the reference's weights ask for no gradient, so that autocast keeps no casts of them",
        ("yes",),
    ),
    "ref_sync": (
        "what of policy and reference is gathered at once where the reference is brought up to date",
        ("both_models", "in_parts", "none"),
    ),
    "adam_temporaries": (
        "what the optimizer step needs for a moment; fused: nothing, unless another optimizer is named",
        ("foreach", "fused", "fp32_gradients", "all_fp32_gradients", "largest_shard", "none"),
    ),
    "selective_keeps": (
        "what a layer keeps where recomputation is selective: all but what a fused kernel makes again, or chosen products",
        ("fused_layer", "chosen_products"),
    ),
    "load_on_gpu": (
        "what stands on the GPU while the trainer loads",
        ("shard_and_root", "whole_model", "shard", "flat_buffers"),
    ),
    "load_on_host": (
        "what loading takes on a node",
        (
            "one_rank_fp32",
            "every_rank_fp32",
            "one_rank_bf16",
            "every_rank_bf16",
            "own_part_bf16",
            "written_bf16",
            "none",
        ),
    ),
    "kv_rule": (
        "how the engine sizes its KV cache",
        (
            "share_of_total",
            "share_of_free",
            "share_of_total_less_others",
            "share_of_start",
            "share_of_rest",
            "share_of_empty_card",
            "dense",
        ),
    ),
    "rows_generated": (
        "rows for which the trainer's own model generates at once: of a micro batch, of all that an update accumulates, of a log-prob pass",
        ("micro_batch", "accumulated", "logprob_micro_batch"),
    ),
    "generates": (
        "whether the trainer's own model generates under autocast, which casts its weights",
        ("under_autocast",),
    ),
    "scored_rows": (
        "rows of a pass of the reward model and of the critic’s values: those of a log-prob pass",
        ("logprob_micro_batch",),
    ),
    "critic_module": (
        "whether the critic is one module with the actor: a pass goes through both, and generation gathers both",
        ("with_actor", "apart"),
    ),
    "checkpoints": (
        "whether the trainer asks for activation checkpoints where its setting says so",
        ("as_set", "never"),
    ),
    "processes_per_gpu": ("processes with a CUDA context on one GPU", ()),
    "host_processes_per_gpu": ("Python processes on the host for one GPU", ()),
    "pinned_rounding": ("how host copies are rounded", ("power_of_two", "exact")),
    "checkpoint_on_host": (
        "what saving takes on a node",
        (
            "sharded_all",
            "whole_fp32",
            "whole_bf16",
            "whole_with_frozen",
            "every_rank_with_frozen",
            "gathered_state",
            "sharded_state",
            "sharded_weights",
            "none",
        ),
    ),
    "engine_first": ("whether the engine stands and sleeps before the trainer loads its models", ("yes", "no")),
    "sleep_backup": ("whether the sleeping engine keeps its weights on the host", ("yes", "no")),
    "adapter_input_bytes": (
        "bytes that an adapter keeps of each value that enters it: a copy in 16 bits, and with dropout a mask",
        (),
    ),
    "adapter_bytes": (
        "bytes a parameter in which adapters and their gradients are stored, and each of their moments",
        (),
    ),
    "adapters_on": ("the layers that have adapters where nothing says which", ("all_linear", "query_value")),
    "padding_mask": ("whether padding is masked, which PyTorch's own kernel then gets as a tensor", ("yes", "no")),
    "grouped_heads": (
        "who repeats the keys and values of grouped heads to those of queries where PyTorch's kernel takes no groups",
        ("torch", "trainer"),
    ),
    "below_trained": (
        "what frozen layers below the first trained one keep for the backward pass, which ends above them",
        ("all", "nothing"),
    ),
    "compiled_layers": ("whether every layer is compiled, norms and the MLP's product being made again", ("yes", "no")),
    "sequence_ranks": ("what of the attention each of the ranks that share a sequence has", ("share_heads",)),
    "fused_query": ("whether query, key and value are one product, of which the value is a view", ("yes", "no")),
    "head_of_its_own": (
        "whether the head is a matrix beside the embedding also where a model ties both",
        ("yes", "no"),
    ),
    "table_states": ("in which type an Adam in 8 bits keeps the state of the embedding", ("fp32",)),
    "quantized_head": ("whether the head is quantized like the other linear layers", ("yes", "no")),
    "root_bytes": (
        "bytes a parameter of embedding and head, where they are cast: beside quantized layers, or with norms as all is trained in 16 bits",
        (),
    ),
    "quantized_inputs": (
        "passes whose inputs of quantized layers are held at once, since they are kept outside of what a backward pass frees",
        (),
    ),
    "dequantized_bytes": ("bytes a parameter of one quantized matrix while it is multiplied, all copies together", ()),
    "gradients_between": (
        "what gradients are from one micro batch to the next where weights are sharded",
        ("sharded", "whole_model"),
    ),
    "layers_over": (
        "what the layers of one copy are laid over where nothing shards them",
        ("one_card", "cards_of_process"),
    ),
    "experts": (
        "whether a layer goes through its experts one after the other, where they are modules of their own, or all at once",
        ("looped", "at_once"),
    ),
    "passes": ("the mode in which transformers' models take log-probs", ("eval_mode",)),
    "frozen_tower": (
        "whether the checkpoints of a frozen vision tower are kept, because gradients are asked of its inputs, or it has none (bare)",
        ("kept", "dropped", "bare"),
    ),
    "engine_length": ("the sequence that an engine is started for where nothing limits it", ("model", "row")),
    "images_on_host": ("copies of the step's image tensors on the host", ()),
    "engine_images": ("which of an engine's processes read the images of its prompts", ("every_rank", "one_process")),
}
