"""Frames of an episode as an animated gif."""

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rlsuite.core.files import replacing
from rlsuite.errors import ParameterError


def write_gif(path: str | os.PathLike[str], frames: Iterable[NDArray[np.uint8]], fps: float = 4) -> Path:
    """Write pictures as an animated gif that repeats for ever.

    The path is tried before the first frame is asked for, so that no long episode is played for nothing; a file that
    was there is replaced only once the new one is complete. Equal frames in a row are stored as one that lasts longer.

    Parameters
    ----------
    path
        File to write, ending in ``.gif``; its folder must exist.
    frames
        (height, width, 3) uint8 pixels each, all of the same size, such as ``env.render()`` returns with
        ``render_mode="rgb_array"``. May be a generator.
    fps
        Frames per second, up to 50. A gif counts in hundredths of a second, to which the time of a frame is rounded.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is another one, `fps` lies outside its range, there are no frames, or one is not a picture or has
        another size.
    FileError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> frames = [np.full((20, 30, 3), shade, dtype=np.uint8) for shade in (0, 128, 255)]
    >>> with TemporaryDirectory() as folder:
    ...     with Image.open(write_gif(Path(folder) / "shades.gif", frames, fps=10)) as gif:
    ...         gif.size, gif.n_frames, gif.info["duration"]
    ((30, 20), 3, 100)
    """
    target = Path(path)
    if target.suffix.lower() != ".gif":
        raise ParameterError(f"{target} does not end in .gif, the only format of write_gif")
    if not (math.isfinite(fps) and 0 < fps <= 50):
        raise ParameterError(f"fps={fps} must be greater than 0 and at most 50 (frames per second)")
    with replacing(target) as unfinished:
        pictures = _pictures(frames)
        first = next(pictures, None)
        if first is None:
            raise ParameterError(f"no frames to write to {target}: render at least one")
        duration = 10 * round(100 / fps)
        first.save(
            unfinished, format="GIF", save_all=True, append_images=pictures, duration=duration, loop=0, optimize=False
        )
    return target


def _pictures(frames: Iterable[NDArray[np.uint8]]) -> Iterator[Image.Image]:
    size: tuple[int, ...] | None = None
    for index, frame in enumerate(frames):
        if frame.dtype != np.uint8 or frame.ndim != 3 or frame.shape[2] != 3 or 0 in frame.shape:
            raise ParameterError(
                f"frame {index} has shape {frame.shape} and type {frame.dtype}, needed (height, width, 3) uint8: "
                'make the environment with render_mode="rgb_array"'
            )
        if size is not None and frame.shape != size:
            raise ParameterError(
                f"frame {index} has shape {frame.shape}, but frame 0 has {size}: all must have the same size"
            )
        size = frame.shape
        yield Image.fromarray(frame).quantize(256, dither=Image.Dither.NONE)
