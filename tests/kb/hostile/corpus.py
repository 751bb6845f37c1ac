"""Words that would like to run, to leave their attribute, or to break what they are written into.

``ACT`` is what each of them tries: ``window.ran`` is given to the page by the test. ``CANARY`` is an address that no page may
ask for. An attribute named ``canary`` in a page means that words became markup.
"""

from __future__ import annotations

import json
import unicodedata

ACT = "window.ran&&window.ran(1)"
CANARY = "canary.invalid"
_URL = "JTNDc2NyaXB0JTNF"

SCRIPTS = (
    f"<script>{ACT}</script>",
    f"<SCRIPT SRC=//{CANARY}/x.js></SCRIPT>",
    f"<scr<script>ipt>{ACT}</scr</script>ipt>",
    f"<script/x>{ACT}</script >",
    f"</script><script>{ACT}</script>",
    f"</title><script>{ACT}</script>",
    f"</textarea><script>{ACT}</script>",
    f"</style><script>{ACT}</script>",
    f"--><script>{ACT}</script><!--",
    f"]]><script>{ACT}</script><![CDATA[",
    f"<script type=module>import 'https://{CANARY}/m.js'</script>",
    f"<noscript><p title='</noscript><script>{ACT}</script>'>",
)
HANDLERS = (
    f'<img src=x onerror="{ACT}" canary=1>',
    f'"><img src=x onerror="{ACT}" canary=1>',
    f"'><img src=x onerror='{ACT}' canary=1>",
    f"<img/src=x/onerror={ACT}/canary=1>",
    f'<body onload="{ACT}" onpageshow="{ACT}">',
    f"<details open ontoggle={ACT} canary=1>",
    f"<input autofocus onfocus={ACT} canary=1>",
    f"<video src=x onerror={ACT}><source onerror={ACT}></video>",
    f"<marquee onstart={ACT}>x</marquee>",
    f'" onmouseover="{ACT}" autofocus onfocus="{ACT}" canary="1" x="',
    f"' onfocus='{ACT}' autofocus canary='1' x='",
    f"x` onfocus=`{ACT}` canary=`1",
    f"<div hx-get=https://{CANARY}/h hx-trigger=load hx-on:click='{ACT}' canary=1>x</div>",
    f"<p hx-on::load='{ACT}' data-hx-get='//{CANARY}/d' data-hx-trigger=load canary=1>x</p>",
    f"<a href='//{CANARY}/' ping='//{CANARY}/ping' style='position:fixed;inset:0' canary=1>x</a>",
)
ADDRESSES = (
    f"[x](javascript:{ACT})",
    f"[x](JaVaScRiPt:{ACT})",
    f"[x](java\tscript:{ACT})",
    f"[x](&#106;avascript:{ACT})",
    f"[x](\u0001javascript:{ACT})",
    f"[x](<javascript:{ACT}>)",
    f"[x][r]\n\n[r]: javascript:{ACT}",
    f"[x](data:text/html;base64,{_URL})",
    "[x](vbscript:msgbox(1))",
    "[x](blob:null/1) [y](file:///etc/passwd) [z](filesystem:http://a/b)",
    f"<javascript:{ACT}>",
    f'<a href="java&#x0A;script:{ACT}" canary=1>x</a>',
    f"![x](javascript:{ACT})",
    f"![x](https://{CANARY}/i.png)",
    f"![x](//{CANARY}/i.png)",
    f"![x](\\\\{CANARY}\\i.png)",
    f'![x" onerror="{ACT}" canary="1](/static/none.png)',
    f'[x](https://a.example/ "t\\" onclick=\\"{ACT}\\" canary=\\"1")',
    f"![x](data:image/svg+xml;utf8,<svg/onload={ACT}>)",
)
SHAPES = (
    f"<svg onload='{ACT}' canary=1><animate onbegin='{ACT}' attributeName=x dur=1s></svg>",
    f"<svg><a xlink:href='javascript:{ACT}'><text y=9>x</text></a></svg>",
    f"<svg><style><img src=x onerror={ACT} canary=1></style></svg>",
    f"<svg><foreignObject><iframe srcdoc='<script>parent.{ACT}</script>'></foreignObject></svg>",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=x onerror={ACT}&gt;' canary=1>",
    f"<math><annotation-xml encoding='text/html'><style><img src=x onerror={ACT}></style></annotation-xml></math>",
    f"<form><math><mtext></form><form><mglyph><style></math><img src=x onerror={ACT} canary=1>",
    f"<table><td><svg><desc><td><title></desc><style><a title='</style><img src=x onerror={ACT}>'>",
    f"<template><script>{ACT}</script></template><xmp><script>{ACT}</script></xmp>",
    f"<iframe srcdoc='<script>parent.{ACT}</script>'></iframe><object data=//{CANARY}/o><embed src=//{CANARY}/e>",
    f"<base href='https://{CANARY}/'><meta http-equiv=refresh content='0;url=https://{CANARY}/'>",
    f"<link rel=stylesheet href=https://{CANARY}/s.css><style>@import '//{CANARY}/i.css';</style>",
    f"<form action=https://{CANARY}/f><button formaction='javascript:{ACT}' canary=1>x</button></form>",
    f"`<script>{ACT}</script>` and ``<img src=x onerror={ACT}>``",
    f"```<script>\n{ACT}\n```",
    f"| <script>{ACT}</script> | a |\n| --- | --- |\n| <img src=x onerror={ACT} canary=1> | b |",
    f"> <img src=x\n> onerror={ACT} canary=1>",
)
BREAKERS = (
    "{{ 7|add:7 }}{% load static %}{% csrf_token %}{{ request.user.password }}",
    "{# x #}{% comment %}hidden{% endcomment %}%(x)s %s {0.__class__}",
    '""" = "\\u0000" \'\'\' + +++ [[fix]] title = "x" #',
    "\u202egnp.exe\u2066 \u200b\u200d\ufeff \u2028\u2029 a\u0300\u0301\u0302\u0303",
    "<<<<<<< mine ======= >>>>>>> theirs",
    "../../../../etc/passwd\\..\\..\\boot.ini?a=1&b=2#c",
    "'; DROP TABLE kb_document; -- \" OR ''='",
    "=cmd|'/c calc'!A0 @SUM(1+1) \x7f\x1b[31m]",
    "&lt;script&gt;&#60;script&#62;&amp;lt;script&amp;gt;",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16") + " 显存 <b>ё</b> \U000e0041",
)
WORDS = (*SCRIPTS, *HANDLERS, *ADDRESSES, *SHAPES, *BREAKERS)


def quoted(words: str) -> str:
    """A basic string of TOML on one line, without the control characters that a field refuses."""
    return json.dumps(
        "".join(sign for sign in " ".join(words.split()) if unicodedata.category(sign) != "Cc"), ensure_ascii=False
    )


def case(words: str, body: str = "") -> str:
    """A case with ``words`` in every field that takes words, and in its text."""
    one, link = quoted(words), quoted("https://a.example/" + words)
    facts = "\n".join(f"{name} = {one}" for name in ("model", "gpu_model"))
    return (
        f"+++\ntitle = {one}\nreviewed = 2026-11-01\nsources = [{link}]\nsummary = {one}\n\n"
        f'[facts]\noom_kind = "gpu_oom"\n{facts}\n\n[config]\n{one} = {one}\n\n'
        f'[[fix]]\nlever = "batch.micro.down"\ndetail = {one}\nby = "reporter"\n\n'
        f'[[claim]]\ntext = {one}\nverdict = "confirmed"\nground = {one}\nsource = {link}\n+++\n'
        f"## Symptom\n\n{body or words}\n"
    )


def guide(words: str) -> str:
    return (
        f'+++\ntitle = {quoted(words[:150])}\nreviewed = 2026-11-01\nsources = ["https://a.example/"]\n+++\n{words}\n'
    )
