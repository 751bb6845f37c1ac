"""Images and videos of a row: whether it may hold any, how many pixels they have and how many tokens they become."""

from __future__ import annotations

from diagnose.batch import whole
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, exactly
from diagnose.estimate.tiled import most_tiled, usually_tiled
from diagnose.estimate.video import video_pixels
from diagnose.knowledge.dataset import PHOTOGRAPH, PIXELS_PER_TOKEN
from diagnose.knowledge.hardware import Vision

# Images of one set differ by as much as those of two sets: usual ones have a quarter or four times as many pixels elsewhere, and so has the
# largest of a whole set, if the run's limit lets it through.
OTHER_SETS = 4
# of a model that cuts its images these say that there are any; how many pixels they have decides nothing
_TELL_OF_IMAGES = ("image_tiles", "images_per_prompt", "max_pixels")


def shows_images(plan: Plan) -> bool:
    """Whether the rows may hold images: the model reads them, and nothing says that the data are text alone."""
    values = plan.values
    return bool(plan.model.vision) and values.get("multimodal") is not False and values.get("text_data") is not True


def image_pixels(plan: Plan) -> float:
    """Most pixels of the images or the video of one prompt, 0 where the run's prompts hold none as far as is known."""
    tower, images = plan.model.vision, plan.values.get("images_per_prompt")
    if not tower or plan.values.get("text_data") is True:
        return 0.0
    shown = _largest(plan, tower) * (float(images) if isinstance(images, (int, float)) else 1.0)
    return max(shown, video_pixels(tower, plan.values))


def _largest(plan: Plan, tower: Vision) -> int:
    """Pixels of the largest image: of the one size or of the tiles of the model where it has them, else as the limit of the run has it."""
    pixels = whole(plan.values, "max_pixels") or 0
    if tower.one_size and pixels:
        return tower.frame_pixels
    if not tower.tile or plan.values.get("max_pixels") == 0:
        return pixels
    return most_tiled(tower, plan.values) if any(id in plan.values for id in _TELL_OF_IMAGES) else 0


@once
def images_beside(plan: Plan) -> Band:
    """Tokens of the images that stand beside the counted text of a row: of small ones, of usual ones, of the largest."""
    usual, most, tower = whole(plan.values, "image_pixels"), whole(plan.values, "max_pixels"), plan.model.vision
    if not usual or plan.values.get("multimodal") is False:
        return exactly(0)
    images = max(1, whole(plan.values, "images_per_prompt") or 1)
    if tower and tower.one_size:
        return exactly(images * tower.frame_pixels / tower.pixels_per_token)
    if tower and tower.tile:
        return usually_tiled(tower, plan.values).times(images / tower.pixels_per_token)
    largest = whole(plan.values, "largest_image_pixels") or OTHER_SETS * usual
    largest = min(most or largest, largest)
    least = float(whole(plan.values, "min_pixels") or 0)  # smaller images are scaled up
    each = tower.pixels_per_token if tower else PIXELS_PER_TOKEN
    pixels = Band(usual / OTHER_SETS, usual, largest).at_most(largest)
    return Band(*(max(least, size) for size in pixels)).times(images / each)


def most_shown(plan: Plan) -> float:
    """Tokens of the largest images that a prompt may hold."""
    return image_pixels(plan) / plan.model.vision.pixels_per_token if plan.model.vision else 0.0


def video_tokens(plan: Plan) -> float:
    """Tokens of the longest video that a prompt may hold, 0 where no key counts frames."""
    if not plan.model.vision or not shows_images(plan):
        return 0.0
    return video_pixels(plan.model.vision, plan.values) / plan.model.vision.pixels_per_token


def images_shown(plan: Plan) -> Band:
    """The same, half of them at least, since images come in all sizes.

    Of prompts of which nobody tells whether they hold images, and how large: none, and at most a large photograph.
    """
    most, tower = most_shown(plan), plan.model.vision
    told = any(
        id in plan.values and id not in plan.assumed for id in ("image_tiles", "max_pixels", "real_prompt_length")
    )
    if told or not tower or not (plan.online and shows_images(plan)):
        return Band(0.5 * most, most, most)
    largest = most_tiled(tower, plan.values) if tower.tile else OTHER_SETS * PHOTOGRAPH
    return Band(0, 0, largest / tower.pixels_per_token)


def images_taken(plan: Plan) -> Band:
    """The same of prompts without a limit: of photographs, where the trainer's own default alone limits the pixels of an image."""
    shown, tower = images_shown(plan), plan.model.vision
    if "max_pixels" not in plan.defaults or tower is None or tower.tile or tower.one_size:
        return shown
    usual = Band(PHOTOGRAPH / OTHER_SETS, PHOTOGRAPH, OTHER_SETS * PHOTOGRAPH).times(1 / tower.pixels_per_token)
    return usual.at_most(shown.high)
