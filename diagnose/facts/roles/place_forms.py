"""The forms in which sentences name the engine, where it stands and what shards the trainer; groups as in run_forms."""

PLACE_FORMS = (
    ("strategy", r"\b(?P<word>fsdp)[\s,(（+]*full[ _-]?shard\b"),
    ("rollout_engine", r"\b(?P<word>vllm|sglang)[ -]?(?:rollout|engine|backend|server|colocated?|引擎|推理|后端|采样)"),
    (
        "rollout_engine",
        r"(?:\brollout|\b(?:rollout|inference|generation)[ -](?:engine|backend)|推理|引擎|采样)\s*"
        r"(?:with|by|in|on|using|is|=|:|：|用的?是?|是|后端)?\s*(?P<word>vllm|sglang)\b(?![\w/.-])",
    ),
    # an engine of which somebody says that it fails
    (
        "rollout_engine",
        r"(?<![\w./-])(?<!和)(?<!和 )(?<!与)(?<!与 )(?<!/ )(?<!、)(?<!and )(?<!or )(?P<word>vllm|sglang)\s*"
        r"(?:(?:就|会|直接|又|还是|总是|一直|也|goes|gets|runs|hits|always|still|cuda|启动|初始化|这边|侧|端|的时候|时)\s*){0,3}"
        r"(?:爆|炸|OOM\w*|挂|崩|起不来|显存不[够足]|out of memory|crash\w*|fails?\b|dies\b)",
    ),
    (
        "rollout_engine",
        r"(?:OOM\w*|out of memory|爆显存)\s+(?:error\s+)?(?:in|on|from|inside|at|with)\s+(?:the\s+)?"
        r"(?P<word>vllm|sglang)\b(?![\w/.-]|\s*(?:and|or|/))",
    ),
    ("rollout_engine", r"(?<![\w./-])(?P<word>sglang)\s*(?:的\s*)?mem[_ -]fraction"),
    # its version in a sentence that names no other engine; one that only stands in a list of packages may be idle
    (
        "rollout_engine",
        r"^(?![^\n]*vllm)[^\n]*?(?:[,，+、]|\b(?:with|using|on|and)\s|用的?是?)\s*(?P<word>sglang)\s*(?:version|版本)?\s*v?\d\.\d",
    ),
    # … or in the line that tells of a run with samples
    *(
        (
            "rollout_engine",
            rf"^(?![^\n]*{other})(?=[^\n]*(?:GRPO|PPO|RLOO|DAPO|GSPO))[^\n]*?(?<![\w./-])(?<!\bno )(?<!without )(?<!\bw/o )(?<!\bnot )"
            rf"(?<!using )(?<!requires )(?<!needs )(?<!supports )(?<!upgrade to )"
            rf"(?<!不用)(?<!不用 )(?<!没用)(?<!没用 )(?P<word>{engine})\s*(?:version|版本)?\s*v?\d\.\d",
        )
        for engine, other in (("vllm", "sglang"), ("sglang", "vllm"))
    ),
    # cards that it has for itself
    (
        "rollout_engine",
        r"(?<![\w.])\d{1,3}\s*(?:(?:gpus?|cards?|[张块]?卡)\s*(?:for|to run|runs?|serv\w{1,3}|跑|给|用于|做|起)?|for)\s*(?:the\s+)?"
        r"(?P<word>vllm|sglang)(?![\w/-]|\s*[\d=:])",
    ),
    ("rollout_engine", r"(?:权重|weights?)[^。；;,，\n]{0,12}?(?:到|给|to|into)\s*(?P<word>vllm|sglang)\b(?![\w/.-])"),
    (
        "rollout_engine",
        r"(?:\bw/o|\bwithout|\bno|不用|没用|不开)\s*(?P<none>vllm)\b"
        # “no vllm server” denies something else
        r"(?=\s*(?:[,，;；.。)）:：、]|$|and\b|for\b|so\b|at all|yet|used|in use|rollout|engine|generat|infer|backend|[\u4e00-\u9fff]))",
    ),
    # an asynchronous server is one on the trainers' cards as well
    ("rollout_mode", r"(?<!async )(?<!asynchronous )(?<!异步)\b(?P<word>server|colocated?)\s*(?:模式|mode\b)"),
    ("rollout_mode", r"(?:^|[,，;；])\s*(?P<word>colocated?)\s*(?=[,，;；。]|\.?\s*$)"),
    ("rollout_mode", r"(?<![A-Za-z\d])vllm[ -]?(?P<word>colocated?)\b(?!_)"),
    # by itself, of the engine and the trainer, where no other role stands beside it
    (
        "rollout_mode",
        r"(?<![\w./=-])(?<!\bno )(?<!\bnot )(?<!\bnon )(?<!without )(?<!\b(?:ref|and|the) )(?<!\brm )(?<!\beach )(?<!critic )(?<!reward )"
        r"(?<!model )(?<!models )(?<!are )(?<!is )(?<![不非没])(?<![不非没] )(?<!没有)(?<!没有 )(?P<word>colocated?)"
        r"(?![\w=-]|\.\w|\s*(?:[=:：?？]|了?吗|\b(?:with|the|all|actor|critic|ref\w*|reward|judge|retriever|models?)\b))",
    ),
    (
        "rollout_mode",
        r"(?:(?:[不非]|没有?|\bnot |\bnon-?)\s*colocated?(?![\w=-]|\s*[?？])|(?:训推|推训)分离)(?P<apart>)",
    ),
    ("rollout_mode", r"\b(?P<word>colocated?)\s+(?:with\s+|的\s*)?(?:vllm|sglang)\b"),
    ("rollout_engine", r"\bcolocated?\s+(?:with\s+|的\s*)?(?P<word>vllm|sglang)\b"),
    ("rollout_mode", r"(?<!-)\bvllm-(?P<word>serve)\b"),
    ("rollout_engine", r"(?<!-)\b(?P<word>vllm)-serve\b"),
    (
        "rollout_mode",
        r"\b(?:vllm|sglang)\s+(?P<word>server)\s*(?:用的?是?|放?在|跑在|单独|(?:is |runs? )?on|uses?|with)\s*"
        r"(?:另外?|其他|别的|单独|独立|one|another|a |an? extra|separate|its own|the other)",
    ),
    (
        "rollout_mode",
        r"(?<![\w./-])vllm\s+(?:server\s+)?(?:is\s+|runs?\s+|sits\s+)?on\s+(?:the\s+(?:last|first|other|remaining|8th)|a\s+separate|another|its\s+own)"
        r"\s+(?:gpu|card)\b(?P<apart>)",
    ),
    # “server on card 0, training on card 1”
    (
        "rollout_mode",
        r"\b(?P<word>server)\s+(?:is\s+|runs?\s+)?on\s+(?:gpus?|cards?)\s*#?\d[\d,\s-]{0,12}[,;]?\s*(?:and\s+)?(?:the\s+)?train\w{0,5}\s+"
        r"(?:is\s+|runs?\s+)?on\s+(?:gpus?|cards?)\s*#?\d",
    ),
    # “4 张卡训练，另外 4 张卡跑 vllm”
    (
        "rollout_mode",
        r"(?:另外?|其他|其余|剩下)的?\s*[\d一两二三四八]{1,3}\s*[张块个]?\s*(?:卡|gpus?)\s*(?:用来|用于|负责|单独)?\s*(?:跑|做|起|给|部署)?\s*"
        r"(?:vllm|sglang|推理|rollout|采样)(?P<apart>)",
    ),
    (
        "rollout_mode",
        r"\b(?:other|another|remaining|extra|separate)\s+(?:\d{1,3}|two|four|eight)?\s*(?:gpus?|cards?)\s+(?:for|run(?:s|ning)?|serv(?:e|es|ing))\s+"
        r"(?:the\s+)?(?:vllm|sglang|rollout|inference|generation)(?P<apart>)",
    ),
    (
        "strategy",
        r"(?:\b(?:with|using|on|via)\s|(?<![不没])(?<!没有)用的?是?)\s*(?P<word>megatron|fsdp2?)\b(?![\w/]|\.\w|-(?:lm|core|swift))",
    ),
    (
        "strategy",
        r"(?<![\w./-])(?<![不没]用)(?<![不没]用 )(?<!没有用)(?<![不没]开)(?<!no )(?<!without )"
        r"(?P<word>megatron)(?![\w/=:-]|\.\w|\s*(?:lm|core)\b)",
    ),
    ("strategy", r"(?<![\w./-])(?P<word>fsdp2)(?![\w/=:-]|\.\w)"),
    ("strategy", r"(?:[+＋]\s*|(?<!\w)Q?LoRA[ -])(?P<word>fsdp)\b(?![\w/=:-]|\.\w)"),
    ("strategy", r"(?<![\w./-])(?P<word>fsdp)\s*[+＋]"),
    ("strategy", r"\baccelerate[ ,+]+(?P<word>fsdp2?)\b(?![\w/=:-]|\.\w)"),
    ("strategy", r"(?<![\w./-])(?P<word>megatron|fsdp2?)[ -]?(?:backend|strategy|后端|训练)"),
)
