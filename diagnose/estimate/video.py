"""How much a video is of an image: frames that a tower joins in time, each at most so large, and all of them together.

(QwenLM/Qwen3-VL qwen_vl_utils 0.0.14 vision_process.py: smart_nframes, fetch_video: a frame has at most VIDEO_MAX_TOKEN_NUM tokens, and
total_pixels / nframes x FRAME_FACTOR pixels; transformers v4.57.1 models/qwen2_vl/configuration_qwen2_vl.py: temporal_patch_size.)
"""

from __future__ import annotations

import math

from diagnose.batch import Values, whole
from diagnose.knowledge.hardware import Vision


def video_pixels(tower: Vision, values: Values) -> float:
    """Pixels of an image that becomes as many tokens as the longest video with the largest frames; 0 where no key counts frames.

    A limit above the most that a frame may have is one of the whole video: VIDEO_MAX_PIXELS of the environment (qwen_vl_utils 0.0.11).
    """
    frames, told, most = whole(values, "video_frames"), whole(values, "frame_pixels"), tower.frame_pixels
    if not frames or not (told or most):
        return 0.0
    limits = [number for number in (whole(values, "video_pixels"), tower.video_pixels) if number][:1]
    if told and tower.video_pixels and told > most:
        limits.append(told)
    each = min(one for one in (told, most) if one)
    return float(min([math.ceil(frames / tower.joined_frames) * each, *limits]))
