"""Images that a model cuts into tiles: their shape decides how many there are, and not how many pixels they have.

(InternVL, arXiv:2404.16821, section 3.1; modelscope/ms-swift 3602360a5 swift/template/vision_utils.py: _dynamic_preprocess takes the grid
whose sides are nearest to those of the image and scales this up to it; transformers 4.57.1 models/got_ocr2/image_processing_got_ocr2.py.)
"""

from __future__ import annotations

from diagnose.batch import Values, whole
from diagnose.estimate.term import Band
from diagnose.knowledge.hardware import Vision

# Of up to 12 tiles images of 4:3 take 12, of 3:2 six, of 16:9 two or eight, square ones one, four or nine by their size.
_USUAL, _FEW = 0.5, 2


def most_tiled(tower: Vision, values: Values) -> int:
    """Pixels of all tiles of an image with the most of them, the whole image among them where there are several; 0 without tiles."""
    most = whole(values, "image_tiles") or tower.tiles
    return tower.tile**2 * (most + 1 if most > 1 else most)


def usually_tiled(tower: Vision, values: Values) -> Band:
    """The same of images of all shapes: of few tiles, of about half of the most, of all."""
    most = float(most_tiled(tower, values))
    return Band(min(most, _FEW * tower.tile**2), max(_USUAL * most, float(tower.tile**2)), most)
