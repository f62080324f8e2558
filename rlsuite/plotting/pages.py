"""Pages with sliders and a picture for each of their positions; and movies: a page with one slider, a gif, or a video.

Most of a picture is like the others. So the page holds one picture that is like most of them, and for each position
the pixels that differ, on top of it; all share one palette. That is a seventh of the bytes of whole pictures.
`sliders.js` shows them, in a page and in the widget of a notebook.
"""

import io
import os
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from PIL import Image

from rlsuite.core.files import replacing
from rlsuite.errors import FileError, MissingPackage, ParameterError
from rlsuite.plotting.figure import in_script
from rlsuite.rendering.gif import write_gif

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

SUFFIXES: Final = (".html", ".gif", ".mp4")
"""Formats of movies."""

COLOURS: Final = 255
"""Colours of a page; one more number of a byte stands for a pixel that is as in the common picture."""

APART: Final = 5.0
"""Smallest distance of two colours of a page, each part from 0 to 255, unless there are few: hardly to be seen."""


class Frame(NamedTuple):
    """A picture, and what it shows in words."""

    text: str
    picture: Image.Image

    @property
    def png(self) -> str:
        """The picture as a file, in letters."""
        buffer = io.BytesIO()
        self.picture.save(buffer, format="PNG")
        return b64encode(buffer.getvalue()).decode()


class Slider(NamedTuple):
    """A parameter, and the values that it takes."""

    name: str
    values: Sequence[Any]

    @property
    def texts(self) -> list[str]:
        """The values, in words."""
        return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in self.values]

    @property
    def told(self) -> dict[str, object]:
        """What `sliders.js` is told."""
        return {"name": self.name, "texts": self.texts}


class _Page(Template):
    """A text with places to fill in, as @title."""

    delimiter = "@"


DOTS: Final = 100
"""Dots per inch of pictures."""


def picture_of(ax: "Axes") -> Image.Image:
    """The whole figure that the axes are in."""
    buffer = io.BytesIO()
    figure: Any = ax.get_figure(root=True)
    figure.savefig(buffer, format="png", dpi=DOTS, bbox_inches="tight", pad_inches=0.1)
    return Image.open(buffer)


@cache
def part(suffix: str) -> str:
    """What all pages share: ``.html``, ``.css`` or ``.js``."""
    return Path(__file__).with_name(f"sliders{suffix}").read_text(encoding="utf-8")


def page_of(title: str, sliders: Sequence[Slider], at: Sequence[int], frames: Sequence[Frame], pause: int = 0) -> str:
    """A page that shows one of the frames, which stand in the order of the positions of all sliders, the last fastest.

    Parameters
    ----------
    title
        The heading.
    sliders
        At least one.
    at
        Where each stands at first.
    frames
        Smaller pictures get white margins on the right and below.
    pause
        Milliseconds between the frames of a movie, which a button plays; 0: no movie.
    """
    common, *pictures = (b64encode(png).decode() for png in _layers(list(_of_one_size(frames))))
    data = {"sliders": [slider.told for slider in sliders], "at": list(at), "pause": pause, "common": common}
    texts = [frame.text for frame in frames]
    return _Page(part(".html")).substitute(
        title=escape(title),
        style=part(".css"),
        script=part(".js").replace("export default { render };\n", ""),
        data=in_script({**data, "pictures": pictures, "texts": texts}),
    )


def suffix_of(path: str | os.PathLike[str]) -> str:
    """The format of a movie, by the end of its file's name.

    Raises
    ------
    ParameterError
        If there is no such format.
    MissingPackage
        If ffmpeg, which makes videos, is not there.

    Examples
    --------
    >>> suffix_of("lake.GIF")
    '.gif'
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise ParameterError(f"{path} ends in none of {', '.join(SUFFIXES)}, the formats of movies")
    if suffix == ".mp4":
        _ffmpeg()
    return suffix


def write_movie(
    path: str | os.PathLike[str], title: str, frames: Iterable[Frame], *, begin: int = 0, per_second: float = 2.5
) -> Path:
    """Write a movie, whose frames are made once its path has been tried.

    Parameters
    ----------
    path
        File to write, ending in ``.html``, ``.gif`` or ``.mp4``.
    title
        Heading of the page; a gif and a video have none.
    frames
        May be a generator. Smaller pictures get white margins on the right and below.
    begin
        The frame that the page shows first; -1: the last one.
    per_second
        Frames per second.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    ParameterError
        If the suffix is another one, or there are no frames.
    MissingPackage
        If ffmpeg, which makes videos, is not there.
    FileError
        If the file cannot be written.
    """
    target = Path(path)
    if suffix_of(target) == ".gif":
        return write_gif(target, _of_one_size(frames), fps=per_second)
    if target.suffix.lower() == ".mp4":
        return _write_video(target, frames, per_second)
    with replacing(target) as unfinished:
        made = list(frames)
        if not made:
            raise ParameterError(f"no frames to write to {target}")
        slider = Slider("frame", [f"{number} of {len(made)}" for number in range(1, len(made) + 1)])
        page = page_of(title, [slider], [range(len(made))[begin]], made, round(1000 / per_second))
        unfinished.write_text(page, encoding="utf-8")
    return target


def _write_video(target: Path, frames: Iterable[Frame], per_second: float) -> Path:
    """Have ffmpeg make a video that all players show: H.264, whose pictures have an even width and height."""
    program = _ffmpeg()
    with replacing(target) as unfinished:
        pictures = [np.pad(picture, _to_even(picture), mode="edge") for picture in _of_one_size(frames)]
        if not pictures:
            raise ParameterError(f"no frames to write to {target}")
        height, width, _ = pictures[0].shape
        given = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-framerate", f"{per_second:g}")
        made = ("-c:v", "libx264", "-pix_fmt", "yuv420p", "-r", "25", "-f", "mp4")
        command = [program, "-y", "-loglevel", "error", *given, "-i", "-", *made, str(unfinished)]
        done = subprocess.run(command, input=b"".join(picture.tobytes() for picture in pictures), capture_output=True)
        if done.returncode:
            said = (done.stderr.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
            raise FileError(f"{target}: ffmpeg could not make the video: {said}")
    return target


def _to_even(picture: "NDArray[np.uint8]") -> tuple[tuple[int, int], ...]:
    height, width, _ = picture.shape
    return (0, height % 2), (0, width % 2), (0, 0)


def _ffmpeg() -> str:
    """The program: the system's, or that of the package imageio-ffmpeg."""
    if (own := shutil.which("ffmpeg")) is not None:
        return own
    try:
        return str(import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:  # RuntimeError: the package has none for this platform
        raise MissingPackage(
            "videos need ffmpeg, which is not installed: pip install 'rlsuite[video]', or write a .gif or .html"
        ) from error


def _of_one_size(frames: Iterable[Frame]) -> "Iterable[NDArray[np.uint8]]":
    """The pictures, (height, width, 3) each."""
    pictures = [frame.picture.convert("RGB") for frame in frames]
    size = max((x.width for x in pictures), default=0), max((x.height for x in pictures), default=0)
    for picture in pictures:
        whole = Image.new("RGB", size, "white")
        whole.paste(picture)
        yield np.asarray(whole)


def _layers(pictures: "Sequence[NDArray[np.uint8]]") -> list[bytes]:
    """PNGs of what the pictures, (height, width, 3) each, have in common, and then of what each has beside that."""
    packed = [picture @ np.array([65536, 256, 1], dtype=np.int32) for picture in pictures]
    palette, number_of = _palette(packed)
    numbers = np.stack([number_of[picture] for picture in packed])
    common = np.sort(numbers, axis=0)[len(numbers) // 2]  # what most have, where they agree
    differing = np.where(numbers == common, np.uint8(COLOURS), numbers)
    return [_png(common, palette), *(_png(frame, palette, transparency=COLOURS) for frame in differing)]


def _palette(packed: "Sequence[NDArray[np.int32]]") -> "tuple[NDArray[np.uint8], NDArray[np.uint8]]":
    """The colours of a page (n, 3), and which of them stands for each colour, (2**24,), red first.

    The most frequent colour comes first, then the most frequent one that is not like it, and so on.
    """
    found = [np.unique(picture, return_counts=True) for picture in packed]
    colours, where = np.unique(np.concatenate([colours for colours, _ in found]), return_inverse=True)
    often = np.bincount(where, weights=np.concatenate([counts for _, counts in found]))
    colours = colours[np.argsort(-often, kind="stable")]
    parts = np.stack([colours >> 16, colours >> 8 & 255, colours & 255], axis=1)
    distance, nearest = np.full(len(parts), np.inf), np.zeros(len(parts), dtype=np.uint8)
    apart = APART if len(parts) > COLOURS else 0.0
    chosen: list[int] = []
    while len(chosen) < COLOURS and (distance > apart).any():
        chosen.append(int(np.argmax(distance > apart)))
        to_new = np.sqrt(((parts - parts[chosen[-1]]) ** 2).sum(axis=1))
        nearest[to_new < distance] = len(chosen) - 1
        distance = np.minimum(distance, to_new)
    number_of = np.zeros(2**24, dtype=np.uint8)
    number_of[colours] = nearest
    return parts[chosen].astype(np.uint8), number_of


def _png(numbers: "NDArray[np.uint8]", palette: "NDArray[np.uint8]", **options: int) -> bytes:
    picture, buffer = Image.fromarray(numbers, mode="P"), io.BytesIO()
    picture.putpalette(np.concatenate([palette, np.zeros((256 - len(palette), 3), dtype=np.uint8)]).tobytes())
    picture.save(buffer, format="PNG", optimize=True, **options)
    return buffer.getvalue()
