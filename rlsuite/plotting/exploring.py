"""Sliders in a notebook or on a page: change a reward, a probability or the discount, and see the answer change.

In a notebook Python answers each time, through a widget (extra ``widgets``). A page holds pictures of the answers to
all positions of its sliders, and needs neither Python nor a network.
"""

import inspect
import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np
from PIL import Image

from rlsuite.core.checks import is_array
from rlsuite.core.files import replacing
from rlsuite.core.narrowing import is_sequence
from rlsuite.errors import ConvergenceWarning, MissingPackage, ParameterError, RlsuiteError
from rlsuite.plotting.cards import card_of_object, draw_card
from rlsuite.plotting.figure import for_a_file
from rlsuite.plotting.pages import Frame, Slider, page_of, part, picture_of
from rlsuite.plotting.time_rows import state_probabilities

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POSITIONS: Final = 11
"""Positions of a slider whose ends are given."""

MOST_POSITIONS: Final = 1_001
"""Positions of one slider."""

MOST_PICTURES: Final = 300
"""Pictures on a page."""

MOST_BYTES: Final = 16_000_000
"""Bytes of a page."""

SECONDS: Final = 1.0
"""Time for the solution of an environment that is given by its name."""

KEPT: Final = 500
"""Pictures that are kept while a widget is used."""

Range: TypeAlias = "Sequence[float] | Sequence[str]"


class Shown(NamedTuple):
    """What is said and drawn at one position of the sliders."""

    text: str
    ax: "Axes | None" = None
    failed: bool = False

    @property
    def frame(self) -> Frame:
        """The same with a picture; a white one where nothing is drawn."""
        return Frame(self.text, Image.new("RGB", (1, 1), "white") if self.ax is None else picture_of(self.ax))


class Explorer:
    """Sliders and an answer, made by `explore`: it shows itself in a notebook, and `save` writes a page."""

    def __init__(self, answer: Callable[..., object], sliders: Sequence[Slider], title: str) -> None:
        self.answer, self.sliders, self.title = answer, tuple(sliders), title
        self.frame = lru_cache(KEPT)(lambda *at: self.shown(*at).frame)

    @property
    def n_pictures(self) -> int:
        """How many combinations of positions there are."""
        return math.prod(len(slider.values) for slider in self.sliders)

    def shown(self, *at: int) -> Shown:
        """What is said and drawn where the sliders stand `at` these positions, from 0; what went wrong, in words."""
        try:
            answer = self.answer(
                **{name: values[place] for (name, values), place in zip(self.sliders, at, strict=True)}
            )
            if answer is None:
                raise ParameterError("the function returned None: return a solution, a plan or an array")
            with for_a_file():
                return _shown(answer)
        except RlsuiteError as error:
            return Shown(str(error), failed=True)
        except Exception as error:  # of the user's function: at other positions it may have an answer
            return Shown(f"{type(error).__name__}: {error}", failed=True)

    def begin(self) -> list[int]:
        """Where the sliders stand at first: at the default of the function's parameter, or in the middle."""
        defaults = {name: one.default for name, one in inspect.signature(self.answer).parameters.items()}
        found: list[int] = []
        for name, values in self.sliders:
            default = defaults.get(name)
            found.append(values.index(default) if default in values else len(values) // 2)
        return found

    def save(self, path: str | os.PathLike[str], *, progress: bool = False) -> Path:
        """Write a page that holds the answers to all positions of the sliders.

        Parameters
        ----------
        path : str or PathLike
            File to write, ending in ``.html``.
        progress : bool
            Whether to show how far it is, on standard error.

        Returns
        -------
        pathlib.Path
            The file written.

        Raises
        ------
        ParameterError
            If it ends otherwise, there are too many combinations of positions, or each is an error.
        FileError
            If the file cannot be written.
        """
        from tqdm import tqdm

        target = Path(path)
        if target.suffix.lower() != ".html":
            raise ParameterError(f"{path} does not end in .html, the format of pages with sliders")
        if self.n_pictures > MOST_PICTURES:
            raise ParameterError(
                f"{self.n_pictures:,} combinations of positions, and a page holds at most {MOST_PICTURES:,}: give "
                "fewer positions, as in gamma=(0.5, 0.99, 5), or fewer sliders"
            )
        with replacing(target) as unfinished:
            everywhere = itertools.product(*(range(len(slider.values)) for slider in self.sliders))
            bar: Iterable[tuple[int, ...]] = tqdm(
                everywhere, total=self.n_pictures, desc="pictures", leave=False, disable=not progress
            )
            shown = [self.shown(*at) for at in bar]
            if all(one.failed for one in shown):
                raise ParameterError(f"nothing to show, as each position of the sliders is an error: {shown[0].text}")
            _share_scales([one.ax for one in shown if one.ax is not None])
            text = page_of(self.title, self.sliders, self.begin(), [one.frame for one in shown])
            if len(text) > MOST_BYTES:
                raise ParameterError(
                    f"{target}: {len(text) / 1e6:.0f} MB, and a page has at most {MOST_BYTES / 1e6:.0f}: give fewer "
                    "positions, as in gamma=(0.5, 0.99, 5), or a smaller problem"
                )
            unfinished.write_text(text, encoding="utf-8")
        return target

    def widget(self) -> Any:
        """Return the widget that a notebook shows.

        Returns
        -------
        anywidget.AnyWidget
            Its trait ``at`` says where the sliders stand, ``picture`` what is drawn.

        Raises
        ------
        MissingPackage
            If anywidget is not installed.
        """
        try:
            made: Any = _widget_class()
        except ImportError as error:
            raise MissingPackage(
                "sliders in a notebook need anywidget, which is not installed: pip install 'rlsuite[widgets]'; "
                "explore(...).save('page.html') writes a page that needs nothing"
            ) from error
        at = self.begin()
        widget = made(sliders=[slider.told for slider in self.sliders], at=at, picture=_told(self.frame(*at)))

        def answer(change: Mapping[str, Any]) -> None:
            widget.picture = _told(self.frame(*change["new"]))

        widget.observe(answer, names="at")
        return widget

    def _repr_mimebundle_(self, **asked: object) -> Any:
        """The widget; and what its sliders show at first, for a page that is made of the notebook, or no widget."""
        try:
            data, *more = self.widget()._repr_mimebundle_(**asked)
        except MissingPackage as error:
            return {"text/plain": repr(self), "text/html": self._html(str(error))}
        note = "Sliders move in a running notebook; explore(...).save('page.html') writes a page with them."
        return {**data, "text/html": self._html(note)}, *more

    def _html(self, note: str) -> str:
        """The answer where the sliders stand at first."""
        at = self.begin()
        frame, places = self.frame(*at), zip(self.sliders, at, strict=True)
        told = ", ".join(f"{slider.name} = {slider.texts[place]}" for slider, place in places)
        shown = f'<p>{escape(frame.text)}</p>\n<img alt="" src="data:image/png;base64,{frame.png}">'
        return f"<p><b>{escape(self.title)}</b>: {escape(told)}</p>\n{shown}\n<p><small>{escape(note)}</small></p>"

    def __repr__(self) -> str:
        sliders = ", ".join(f"{s.name}: {s.texts[0]} to {s.texts[-1]}" for s in self.sliders)
        return f"Explorer({self.title}; {sliders}); in a notebook it shows itself, save('page.html') writes a page"


def _shown(answer: Any) -> Shown:
    if is_array(answer):
        return Shown(f"Probability of each state at {len(answer)} times.", state_probabilities(answer))
    card = card_of_object(answer)
    facts = [f"{name}: {fact}" for name, fact in card.facts.items() if name != "seconds"]  # the same page every time
    return Shown("; ".join([card.title, *facts, *card.sentences]), draw_card(card))


def _share_scales(drawn: "Sequence[Axes]") -> None:
    """Give axes of the same quantity the same limits."""
    of_quantity: dict[str, list[Axes]] = {}
    for ax in drawn:
        if ax.get_ylabel():
            of_quantity.setdefault(ax.get_ylabel(), []).append(ax)
    for together in of_quantity.values():
        low, high = zip(*(ax.get_ylim() for ax in together), strict=True)
        for ax in together:
            ax.set_ylim(min(low), max(high))


def _told(frame: Frame) -> dict[str, object]:
    return {"text": frame.text, "layers": [frame.png]}


@cache
def _widget_class() -> Any:
    traitlets, anywidget = import_module("traitlets"), import_module("anywidget")
    traits = {name: traitlets.List().tag(sync=True) for name in ("sliders", "at")}
    traits["picture"] = traitlets.Dict().tag(sync=True)
    return type("ExplorerWidget", (anywidget.AnyWidget,), {"_esm": part(".js"), "_css": part(".css"), **traits})


def explore(answer: "Callable[..., object] | str", /, **ranges: Range) -> Explorer:
    """Show how the answer to a problem depends on its parameters, with a slider for each.

    Parameters
    ----------
    answer : callable or str
        A function that takes the parameters by name, and returns what is shown: the solution of an MDP (a map of
        values and actions on a grid, else one mark for each state), a plan with alpha vectors, an array of the
        probabilities of hidden states, shape (n_times, n_states), or anything else that has a figure or words of its
        own. Or an environment, which is solved within a second; the parameters are ``gamma``, which some environments
        need, and those of the environment.
    **ranges : tuple or sequence
        The values of each parameter: two numbers, for 11 from the first to the second; two numbers and how many; or a
        list of values. A slider begins at the default of the function's parameter, or in the middle.

    Returns
    -------
    Explorer
        It shows itself in a notebook (extra ``widgets``); ``save("page.html")`` writes a page that needs nothing.

    Raises
    ------
    ParameterError
        If no range is given, or a range is empty or malformed.

    Examples
    --------
    A page that says how the best way along a cliff depends on the cost of a step:

    >>> import tempfile, rlsuite as rl, rlsuite_envs
    >>> explorer = rl.plotting.explore("rlsuite/CliffWalk-v0", step_cost=(0.1, 2.1, 5), gamma=[0.9, 0.99])
    >>> explorer.n_pictures
    10
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     explorer.save(f"{folder}/cliff.html").stat().st_size > 10_000
    True
    """
    if not ranges:
        raise ParameterError("nothing to explore: give the values of a parameter, as in gamma=(0.5, 0.99)")
    sliders = [Slider(name, _values(name, given)) for name, given in ranges.items()]
    if isinstance(answer, str):
        return Explorer(_solved(answer), sliders, answer)
    if not callable(answer):
        raise ParameterError(
            f"answer={answer!r} is neither a function nor the name of an environment: give a function that takes "
            f"{', '.join(ranges)}, and returns a solution"
        )
    try:
        inspect.signature(answer).bind(**dict.fromkeys(ranges))
    except TypeError as error:
        own = f"{getattr(answer, '__name__', 'answer')}{inspect.signature(answer)}"
        raise ParameterError(
            f"{own} is called with {', '.join(ranges)}, and does not take that ({error}): give a range for each of its "
            "parameters, by name"
        ) from error
    title = getattr(answer, "__name__", type(answer).__name__)
    return Explorer(answer, sliders, "Explore" if title == "<lambda>" else title.replace("_", " "))


def _values(name: str, given: object) -> tuple[Any, ...]:
    """The values of a slider."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, str) or not is_sequence(given) or not given:
        raise ParameterError(f"{name}={given!r} is not a range: give two numbers, or a list of values")
    values: tuple[Any, ...] = tuple(given)
    numbers = [float(x) for x in values if type(x) in (int, float) and math.isfinite(x)]
    if isinstance(given, tuple) and len(values) == len(numbers) in (2, 3):
        low, high, n = (*numbers, POSITIONS)[:3]
        if not (low < high and n == int(n) and 2 <= n <= MOST_POSITIONS):
            raise ParameterError(
                f"{name}={given!r}: a range goes from a smaller number to a larger one, in 2 to {MOST_POSITIONS:,} "
                "positions, as in (0.5, 0.99, 11)"
            )
        positions: list[float] = np.linspace(low, high, int(n)).tolist()
        return tuple(float(f"{value:.12g}") for value in positions)
    if len(values) > MOST_POSITIONS:
        raise ParameterError(f"{name}: {len(values):,} values, and a slider has at most {MOST_POSITIONS:,}")
    return values


def _solved(name: str) -> Callable[..., object]:
    """A function that solves an environment with these parameters."""
    from rlsuite.environments.finding import find_env
    from rlsuite.planning import solve

    def answer(gamma: float | None = None, **given: Any) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the words say how far it is
            return solve(find_env(name, **given), gamma=gamma, deadline=SECONDS)

    return answer
