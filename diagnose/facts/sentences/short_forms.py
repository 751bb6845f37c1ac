"""Forms of settings as they are said in a chat, in as few words as may be; groups as in run_forms."""

_END = r"(?=\s*(?:[,，、;；。)）+]|$|\.(?:\s|$)))"
# … or the next setting of such a list begins: “mini 128 micro 4 n 8”
_NEXT = rf"(?:{_END}|(?=\s+(?:micro|mini|gbs|lr|tp|sp|pp|ga|(?-i:n))\s*[=:]?\s*\d))"
_SHARE = r"\s*(?:=|:|：|of|at|is|to|为|是|(?:设|调|开|给|改)(?:置|的|了)?(?:为|成|到)?)?\s*(?P<share>0?\.\d{1,2})(?![\w%]|\.\d)"
_NO_SHARE = r"(?!\s*(?:GB|GiB|G\b|s\b|sec|it/))"
_OFF = r"(?<!\bno )(?<!without )(?<!\bnot )(?<!disable )(?<!disabled )"
_TIMES, _SAMPLES = r"\s*(?:x|×|\*|with)\s*", r"(?:samples?|rollouts?|responses?|completions?|generations?)\b"
_RANKS = "(?:4|8|16|32|64|128|256|512)"
SHORT_FORMS = (
    # “…，LoRA，rank 64，…”: of a line that names adapters, where a process of this rank has nothing to do
    (
        "lora_rank",
        rf"(?:^|[,，、;；(（+])\s*(?:rank\s*[=:：]?\s*|r\s*[=:：]\s*)(?P<n>{_RANKS})(?=\s*(?:[,，、;；。)）+]|$|\.(?:\s|$)))",
    ),
    ("optimizer", r"(?<![\w.=/-])(?<!no )(?<!without )(?<!not )(?P<named>adafactor)(?![\w=./-])"),
    (
        "rollout_tp",
        r"\b(?:vllm|sglang)\b(?:(?!megatron|trainer|actor)[^,，。;；:：\n]){0,60}?\s(?:with\s+|and\s+)?tensor[ _-]parallel(?:ism)?"
        r"(?:[ _-]size)?\s*(?:=|of)?\s*(?P<n>\d{1,2})(?![\w%]|\.\d)",
    ),
    ("mini_batch_size", rf"(?<![\w.-])mini\s*[=:]?\s*(?P<n>\d{{1,5}}){_NEXT}"),
    ("micro_batch", rf"(?<=\d )micro\s*[=:]?\s*(?P<n>\d{{1,3}}){_NEXT}"),
    ("rollout_n", rf"(?<=\d )(?-i:n)\s?[= ]\s?(?P<n>[2-9]|\d{{2,3}}){_END}"),
    # “512 in 2048 out”
    ("prompt_length", r"(?<![\w.])(?P<n>\d{3,6})\s+in\s*[,/+&]?\s*(?=\d{3,6}\s+out\b(?!\s+of\b))"),
    ("response_length", r"(?<![\w.])\d{3,6}\s+in\s*[,/+&]?\s*(?P<n>\d{3,6})\s+out\b(?!\s+of\b)"),
    ("prompt_length", r"(?<![\w.])(?P<n>\d{1,3})(?P<k>[kK])\s+in\s*[,/+&]?\s*(?=\d{1,3}[kK]\s+out\b(?!\s+of\b))"),
    ("response_length", r"(?<![\w.])\d{1,3}[kK]\s+in\s*[,/+&]?\s*(?P<n>\d{1,3})(?P<k>[kK])\s+out\b(?!\s+of\b)"),
    (
        "dynamic_batch",
        r"\bdynamic[ _-](?:bsz?|batch(?:[ _-]?size)?)\s+(?:is\s+)?(?:turned\s+)?(?:on|enabled)\b(?P<on>)",
    ),
    ("micro_tokens", r"(?<![\w.])(?P<n>\d{1,3})(?P<k>[kK])\s+(?:max\s+)?tokens?\s+(?:per|a)\s+(?:gpu|card)\b"),
    (
        "micro_tokens",
        r"(?<![\w.])(?:ppo[ _-])?max[ _-]token[ _-]len(?:gth)?(?:[ _-]per[ _-]gpu)?\s*(?:=|:|：|of|is|to|为|是)?\s*(?P<n>\d{1,6})"
        r"(?P<k>[kK]\b)?(?![\w.]*[A-Za-z\d%])",
    ),
    # “64 prompts x 8 samples”
    ("train_batch_size", rf"(?<![\w.])(?P<n>\d{{1,4}})\s+prompts?{_TIMES}\d{{1,3}}\s+{_SAMPLES}"),
    ("rollout_n", rf"(?<![\w.])\d{{1,4}}\s+prompts?{_TIMES}(?P<n>\d{{1,3}})\s+{_SAMPLES}"),
    ("zero_stage", r"\bdeepspeed\b[^\n.;。；]{0,24}?\bstage[\s_-]?(?P<n>[123])(?![\w.]*[A-Za-z\d])"),
    ("zero_stage", r"(?<![\w-])stage[\s_-]?(?P<n>[123])\s+(?:with|of|in|on|using)\s+(?:deepspeed|zero)\b"),
    ("gpu_memory_utilization", rf"(?<![\w.-])gmu{_SHARE}"),
    ("gpu_memory_utilization", r"(?<![\w.])(?P<share>0?\.\d{1,2})\s*gmu(?![\w=])(?!\s*[=:]?\s*\d?\.\d)"),
    (
        "gpu_memory_utilization",
        r"(?<![\w.-])(?<!cpu )(?<!host )(?<!node )(?<!disk )(?<!io )(?<!network )util\s+(?P<share>0?\.\d{1,2})(?![\w%]|\.\d)",
    ),
    ("gpu_memory_utilization", rf"(?<![\w./-])(?:vllm|sglang)\s+(?:(?:gpu\s+)?mem(?:ory)?|gpu){_SHARE}{_NO_SHARE}"),
    (
        "gpu_memory_utilization",
        r"(?<![\w./-])(?:vllm|sglang)\s+(?P<share>0\.[1-9]\d?)\s+(?:util\w*|gmu|mem(?:ory)?(?:[ _-](?:frac|util)\w*)?)(?![\w=])",
    ),
    ("enforce_eager", rf"(?<![\w.-]){_OFF}(?:with\s+)?enforce[ _-]eager(?P<on>){_END}"),
    ("enforce_eager", r"\b(?:no|without|disabled?)\s+cuda[ -]?graphs?(?P<on>)(?![\w-]|\s+(?:memory|capture|for)\b)"),
    ("enforce_eager", r"\bcuda[ -]?graphs?\s+(?:are |is )?(?:turned )?(?:off|disabled)(?P<on>)(?!\w)"),
    ("enforce_eager", r"关[了掉]?\s*cuda[ -]?graphs?(?P<on>)(?![\w-])"),
    ("kv_cache_dtype", rf"(?<![\w.-]){_OFF}(?P<word>fp8)[ _-]kv(?:[ _-]?cache)?(?![\w=-])"),
    ("kv_cache_dtype", r"(?<![\w.-])kv[ _-]?cache\s*(?:dtype\s*)?(?:=|:|：|in|is|at|用的?)?\s*(?P<word>fp8)(?![\w-])"),
    (
        "precision",
        r"(?<![\w.-])(?<!\bnot )(?:pure|纯)[ _-]?(?P<word>bf16)(?!\w|[`'\"]?\s*[=:：]?\s*(?:is\s+)?(?:false|off)\b)",
    ),
    ("gradient_accumulation", r"(?<!\w)(?<!梯度)累积\s*(?P<n>\d{1,3})\s*(?:步|次|(?=[,，、;；。)）]|$))"),
    ("gradient_accumulation", r"(?<![\w.-])(?:gacc|grad[ _-]?acc)\s*[=:]?\s*(?P<n>\d{1,3})(?![\w%/]|\.\d)"),
    # “1 x 8 accum”, “8 accumulation steps”
    (
        "gradient_accumulation",
        r"(?<![\w.-])(?:(?<=[x×*] )|(?<=[,，;；、] )|(?<=[,，;；、])|(?<=and )|(?<=with ))(?P<n>\d{1,3})\s+(?:grad(?:ient)?[ _-])?"
        r"accum(?:ulation)?(?:[ _-]?steps?)?(?![\w-])(?!\s*(?:[=:]|of|is|为|是)?\s*\d)",
    ),
    ("micro_batch", r"微批(?:次|量)?(?:大小)?\s*(?:=|:|：|为|是)?\s*(?P<n>\d{1,3})(?![\w%]|\.\d)"),
    ("micro_batch", r"(?<![\w.-])pdt?bs\s*(?:=|:|：)?\s*(?P<n>\d{1,3})(?![\w%]|\.\d)"),
    ("micro_batch", r"(?<![\w.-])(?P<n>[1-9]\d?)\s+(?:samples?|sequences?|rows?)\s+per\s+device\b"),
    (
        "rollout_n",
        rf"(?:(?<=[,，、;；(（] )|(?<=[,，、;；(（])|(?<=PO )|(?<=po )|(?<=[:：] ))(?-i:n)\s(?:is\s+)?(?P<n>[2-9]|\d{{2,3}}){_END}",
    ),
    (
        "response_length",
        r"(?<![\w.-])max[ _-]new[ _-]tokens\s*(?:=|:|：|of|is|为|是)?\s*(?P<n>\d{1,6})(?P<k>[kK]\b)?(?![\w.]*[A-Za-z\d%])",
    ),
    # “提示词 1024 回复 8192”
    ("prompt_length", r"(?:输入|提示词?)\s*(?:=|:|：|是|为)?\s*(?P<round>)(?P<n>\d{3,6})(?![\w%]|[.,:]\d|\s*[条个张])"),
    (
        "response_length",
        r"(?:回复|回答|输出|生成)\s*(?:=|:|：|是|为)?\s*(?P<round>)(?P<n>\d{3,6})(?![\w%]|[.,:]\d|\s*[条个张次])",
    ),
    (
        "max_length",
        r"(?<![\w.-])(?:ctx|max[ _-]?seq)(?:[ _-]?len(?:gth)?)?\s*(?:=|:|：|of|is|为|是)?\s*(?P<n>\d{1,3})(?P<k>[kK])(?![\w.])",
    ),
    (
        "zero_stage",
        rf"(?<![A-Za-z\d_.\-/])(?-i:z)(?P<n>[23])(?![\w.\-/])(?:{_END}|(?=\s+(?:bs|batch|offload|lora|full|with|no|on)\b))",
    ),
    ("rollout_n", r"(?<![\w.])(?P<n>[2-9]|\d{2,3})\s+gens\b"),
    (
        "remove_padding",
        r"(?:(?:没有?|未|不)开|关[了掉]|\bno|\bwithout|\bdisabled?)\s*(?:use[ _-])?(?:remove[ _-]padding|rmpad)(?P<off>)(?![\w=])",
    ),
    ("has_ref", r"\bKL[ _-](?:loss|penalty)\s*(?:(?:打?开了|打开)|(?:is )?(?:on|enabled)\b)(?P<on>)"),
    ("rollout_engine", rf"(?:(?<=[,，、;；.] )|(?<=[,，、;；]))(?P<word>sglang){_END}"),
    # by itself in a list of settings
    ("strategy", rf"(?:(?<=[,，、;；] )|(?<=[,，、;；])|(?<=PO )|(?<=FT )|(?<=po )|(?<=ft ))(?P<word>fsdp){_END}"),
)
