"""Images and videos of a row: whether it may hold any, how many pixels they have and how many tokens they become."""

from __future__ import annotations

from diagnose.batch import whole
from diagnose.estimate.once import once
from diagnose.estimate.plan import Plan
from diagnose.estimate.term import Band, exactly
from diagnose.estimate.video import video_pixels
from diagnose.knowledge.dataset import PHOTOGRAPH, PIXELS_PER_TOKEN

# Images of one set differ by as much as those of two sets: usual ones have a quarter or four times as many pixels elsewhere, and so has the
# largest of a whole set, if the run's limit lets it through.
OTHER_SETS = 4


def shows_images(plan: Plan) -> bool:
    """Whether the rows may hold images: the model reads them, and nothing says that the data are text alone."""
    values = plan.values
    return bool(plan.model.vision) and values.get("multimodal") is not False and values.get("text_data") is not True


def image_pixels(plan: Plan) -> float:
    """Most pixels of the images or the video of one prompt, 0 where the run's prompts hold none as far as is known."""
    pixels, images = whole(plan.values, "max_pixels"), plan.values.get("images_per_prompt")
    if not plan.model.vision or plan.values.get("text_data") is True:
        return 0.0
    shown = (pixels or 0) * (float(images) if isinstance(images, (int, float)) else 1.0)
    return max(shown, video_pixels(plan.model.vision, plan.values))


@once
def images_beside(plan: Plan) -> Band:
    """Tokens of the images that stand beside the counted text of a row: of small ones, of usual ones, of the largest."""
    usual, most = whole(plan.values, "image_pixels"), whole(plan.values, "max_pixels")
    if not usual or plan.values.get("multimodal") is False:
        return exactly(0)
    largest = whole(plan.values, "largest_image_pixels") or OTHER_SETS * usual
    largest = min(most or largest, largest)
    least = float(whole(plan.values, "min_pixels") or 0)  # smaller images are scaled up
    each = plan.model.vision.pixels_per_token if plan.model.vision else PIXELS_PER_TOKEN
    images = max(1, whole(plan.values, "images_per_prompt") or 1)
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
    most = most_shown(plan)
    told = any(id in plan.values and id not in plan.assumed for id in ("max_pixels", "real_prompt_length"))
    if told or not plan.model.vision or not (plan.online and shows_images(plan)):
        return Band(0.5 * most, most, most)
    return Band(0, 0, OTHER_SETS * PHOTOGRAPH / plan.model.vision.pixels_per_token)
