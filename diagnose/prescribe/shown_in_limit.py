"""What a limit of tokens must leave room for: the images of a prompt, which none of the trainers can cut."""

from __future__ import annotations

import math

from diagnose.batch import whole
from diagnose.estimate.shown import OTHER_SETS
from diagnose.estimate.tiled import most_tiled
from diagnose.knowledge.dataset import PHOTOGRAPH
from diagnose.types import Facts

# What nobody tells of rows without images.
_OF_IMAGES = (
    "max_pixels",
    "image_tiles",
    "min_pixels",
    "images_per_prompt",
    "image_pixels",
    "video_frames",
    "frame_pixels",
    "freeze_vision",
    "vision_checkpointing",
)
# Words beside the images, and the step in which such limits are set, in tokens: our choice.
_WORDS, _STEP = 128, 256


def holds_images(facts: Facts) -> bool:
    """Whether the rows are taken to hold images: of a model that most train on text where something tells of images."""
    if facts.flag("multimodal") is not True or facts.flag("text_data") is True:
        return False
    tower = facts.model.vision if facts.model else None
    told = any(id in facts.stated and facts.stated[id].origin in ("read", "answered", "derived") for id in _OF_IMAGES)
    return tower is None or not tower.native or told


def uncapped(facts: Facts) -> bool:
    """Whether nothing limits the pixels of images: no key, and no tiles that the model cuts them into."""
    told = any(facts.values.get(id) is not None for id in ("max_pixels", "images_tiled", "images_one_size"))
    return holds_images(facts) and not told


def room_for_images(facts: Facts) -> int:
    """Tokens that a prompt's images and a few words take; a large photograph where nobody tells how large they are, 0 without images.

    A prompt that is cut within an image fails as its tokens are counted, and one over the limit is left out.
    """
    values, tower = facts.values, facts.model.vision if facts.model else None
    if tower is None or not holds_images(facts) or values.get("max_pixels") == 0:
        return 0
    most, told = whole(values, "max_pixels"), whole(values, "largest_image_pixels")
    largest = told or (most if facts.certain("max_pixels") else None) or OTHER_SETS * PHOTOGRAPH
    pixels = tower.frame_pixels if tower.one_size else most_tiled(tower, values) or min(most or largest, largest)
    images = max(1, whole(values, "images_per_prompt") or 1)
    return math.ceil((pixels * images / tower.pixels_per_token + _WORDS) / _STEP) * _STEP
