"""How large images are and how many a prompt has, as sentences say it."""

from __future__ import annotations

import re

# an image in a word that is no tower's, no Docker image and no name of a figure
_IMAGE = (
    r"(?:(?<!docker )(?<!container )(?<![\w/-])(?:images?|imgs?|pictures?|photos?|screenshots?|scans?)\b"
    r"|(?<![试地意流示构架截显])图(?:片|像)?(?![形灵标表])|照片|截图|分辨率|(?<![\w-])resolutions?\b)"
)
_NEAR = r"[^\n。；;.!?！？]{0,24}?"
_SIZE = r"(?<![\w.=/*])(?P<wide>[1-9]\d{2,3})\s?(?:px\s?)?[x×*X]\s?(?P<high>[1-9]\d{2,3})(?:\s?px)?(?![\w*]|\.\d|\s?[x×*]\s?\d)"
# … and no comma, number or length between it and “4k”
_CLOSE = r"[^\n。；;.!?！？,，、\d长输回]{0,12}?"
_LINES = (
    r"(?<![\w.-])(?:(?P<lines>480|720|1080|1440|2160)[pP]|(?P<four>4[kK]))"
    r"(?![\w/-]|\s*(?:tokens?|context|上下文|步|steps?|张|条|个|images|samples))"
)
_COUNT = r"(?:(?<![\w.=])(?:\d{1,2}\s?(?:~|-|–|—|到|至|to)\s?)?(?P<images>\d{1,2})(?![\w.]*\d)|(?P<named>[一二两三四五六七八九十]))"
_PICTURES = r"(?:images?|imgs?|pictures?|photos?|screenshots?)"
_ROW = r"(?:prompt|sample|row|question|example|样本|数据|题目?|问题|对话)"
_FRAMES = r"(?<![\w.])(?P<n>[1-9]\d{0,2})\s*frames\b(?!\s*(?:/|per\s+sec|a\s+sec|omitted|above|below|up\b|deep))"
IMAGE_FORMS = (
    ("video_frames", rf"\bvideos?\b[^.;\n]{{0,30}}?{_FRAMES}"),
    ("video_frames", rf"{_FRAMES}\s+(?:per|a|each|of|from)\s+(?:the\s+|each\s+|every\s+)?(?:video|clip)"),
    ("video_frames", rf"(?:^|[,，、;；]\s*){_FRAMES}(?=\s*(?:[,，、;；]|$))"),
    ("video_frames", r"(?<![\w.])(?P<n>[1-9]\d{0,2})\s*帧(?!\s*(?:每秒|/\s?s|率))"),
    ("max_pixels", rf"{_IMAGE}{_NEAR}{_SIZE}"),
    ("max_pixels", rf"{_SIZE}\s?(?:px|pixels?|分辨率)?\s?(?:的)?\s?{_IMAGE}(?!\s*tokens?)"),
    ("max_pixels", rf"{_IMAGE}{_CLOSE}{_LINES}"),
    ("max_pixels", rf"{_LINES}\s?(?:的)?\s?{_IMAGE}"),
    (
        "images_per_prompt",
        rf"(?:每|一)\s?(?:[条个道]|一[条个道])?\s?{_ROW}?\s?(?:里|中|内)?\s?(?:有|是|带|含|大概|约|都是)?\s?{_COUNT}\s?张\s?(?:图|照片|截图)",
    ),
    (
        "images_per_prompt",
        rf"{_COUNT}\s?{_PICTURES}\s+(?:per|in each|in every|for each|for every|a)\s+{_ROW}",
    ),
    (
        "images_per_prompt",
        rf"(?:each|every|a|per)\s+{_ROW}\s+(?:has|have|with|contains?|holds?)\s+(?:up to\s+|about\s+)?{_COUNT}\s+{_PICTURES}",
    ),
)
_NAMED = "零一二三四五六七八九十"


def pictured(match: re.Match[str]) -> int | None:
    """Pixels of an image, or how many images there are; None where the form holds neither."""
    told = match.groupdict()
    if told.get("wide"):
        return int(told["wide"]) * int(told["high"])
    if told.get("lines"):
        return int(told["lines"]) ** 2 * 16 // 9
    if told.get("four"):
        return 3840 * 2160
    if told.get("images"):
        return int(told["images"]) or None
    return 2 if told["named"] == "两" else _NAMED.index(told["named"]) if told.get("named") else None
