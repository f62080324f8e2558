"""Sliders in a notebook or on a page: change a reward, a probability or the discount, and see the answer change.

In a notebook Python answers each time, through a widget (extra ``widgets``). A page holds the answers to all positions
of its sliders, and needs neither Python nor a network. `exploring.js` draws for both.
"""

import inspect
import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from rlsuite.core.files import replacing
from rlsuite.core.narrowing import is_sequence
from rlsuite.errors import ConvergenceWarning, MissingPackage, ParameterError, RlsuiteError
from rlsuite.plotting.explorer_pictures import Picture, extremes, look, picture_of_answer
from rlsuite.plotting.figure import in_script

if TYPE_CHECKING:  # it is newer than the oldest typing_extensions that is allowed
    from typing_extensions import TypeIs

POSITIONS: Final = 11
"""Positions of a slider whose ends are given."""

MOST_POSITIONS: Final = 1_001
"""Positions of one slider."""

MOST_PICTURES: Final = 2_000
"""Pictures on a page."""

MOST_BYTES: Final = 16_000_000
"""Bytes of a page."""

SECONDS: Final = 1.0
"""Time for a plan for hidden states, of an environment that is given by its name."""

KEPT: Final = 500
"""Pictures that are kept while a widget is used."""

Range: TypeAlias = "Sequence[float] | Sequence[str]"

STYLE: Final = """
.rlsuite-explorer { font: 14px/1.4 system-ui, sans-serif; max-width: 60em }
.rlsuite-explorer label { display: grid; grid-template-columns: 9em 1fr 6em; gap: 1em; align-items: center }
.rlsuite-explorer input { accent-color: #0072b2 }
.rlsuite-explorer output { display: block; margin: 0.5em 0; min-height: 1.4em }
.rlsuite-explorer svg { background: #fff; border-radius: 4px; width: 100%; font-family: system-ui, sans-serif }
"""

PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ max-width: 60em; margin: 1em auto; padding: 0 1em; font-family: system-ui, sans-serif }}
h1 {{ font-size: 1.5em }}
{style}</style>
<h1>{title}</h1>
<div id="explorer"></div>
<script type="module">
{script}
const page = {data};
const changed = [];
const known = {{ look: page.look, sliders: page.sliders, at: page.at }};
const number = () => known.at.reduce((before, at, slider) => before * page.sliders[slider].texts.length + at, 0);
render({{
  el: document.getElementById("explorer"),
  model: {{
    get: (name) => (name === "picture" ? page.pictures[number()] : known[name]),
    set: (name, value) => {{ known[name] = value; }},
    save_changes: () => changed.forEach((draw) => draw()),
    on: (event, draw) => changed.push(draw),
  }},
}});
</script>
</html>
"""


class Slider(NamedTuple):
    """A parameter, and the values that it takes."""

    name: str
    values: tuple[Any, ...]

    @property
    def texts(self) -> list[str]:
        """The values, in words."""
        return [f"{value:.6g}" if isinstance(value, float) else str(value) for value in self.values]


class Explorer:
    """Sliders and an answer, made by `explore`: it shows itself in a notebook, and `save` writes a page."""

    def __init__(self, answer: Callable[..., object], sliders: Sequence[Slider], title: str) -> None:
        self.answer, self.sliders, self.title = answer, tuple(sliders), title
        self._begun: object = None  # the answer where the sliders stand at first
        self.picture = cache(self._picture) if self.n_pictures <= KEPT else self._picture

    @property
    def n_pictures(self) -> int:
        """How many combinations of positions there are."""
        return math.prod(len(slider.values) for slider in self.sliders)

    def parameters(self, *at: int) -> dict[str, Any]:
        """The arguments of the function where the sliders stand `at` these positions, from 0."""
        return {slider.name: slider.values[place] for slider, place in zip(self.sliders, at, strict=True)}

    def _picture(self, *at: int) -> Picture:
        """What is drawn there; what went wrong, in words."""
        try:
            answer = self.answer(**self.parameters(*at))
            if answer is None:
                raise ParameterError("the function returned None: return a solution, a plan or an array")
            if list(at) == self.begin():
                self._begun = answer
            return picture_of_answer(answer)
        except RlsuiteError as error:
            return {"kind": "error", "text": str(error)}
        except Exception as error:  # of the user's function: at other positions it may have an answer
            return {"kind": "error", "text": f"{type(error).__name__}: {error}"}

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
            pictures = [self.picture(*at) for at in self._shown(everywhere, progress)]
            if all(picture["kind"] == "error" for picture in pictures):
                raise ParameterError(
                    f"nothing to show, as each position of the sliders is an error: {pictures[0]['text']}"
                )
            text = PAGE.format(title=escape(self.title), style=STYLE, script=_script(), data=self._data(pictures))
            if len(text) > MOST_BYTES:
                raise ParameterError(
                    f"{target}: {len(text) / 1e6:.0f} MB, and a page has at most {MOST_BYTES / 1e6:.0f}: give fewer "
                    "positions, as in gamma=(0.5, 0.99, 5), or a smaller problem"
                )
            unfinished.write_text(text, encoding="utf-8")
        return target

    def _shown(self, positions: Iterable[tuple[int, ...]], progress: bool) -> Iterable[tuple[int, ...]]:
        from tqdm import tqdm

        return tqdm(positions, total=self.n_pictures, desc="pictures", leave=False, disable=not progress)

    def _data(self, pictures: Sequence[Picture]) -> str:
        data = {
            "look": {**look(), "extremes": extremes(pictures)},
            "sliders": self._told(),
            "at": self.begin(),
            "pictures": pictures,
        }
        return in_script(data)

    def _told(self) -> list[dict[str, object]]:
        return [{"name": slider.name, "texts": slider.texts} for slider in self.sliders]

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
        widget = made(look=dict(look()), sliders=self._told(), at=at, picture=self.picture(*at))

        def answer(change: Mapping[str, Any]) -> None:
            widget.picture = self.picture(*change["new"])

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
        """The answer where the sliders stand at first, as it shows itself."""
        at = self.begin()
        picture = self.picture(*at)
        if picture["kind"] == "error":
            shown = f"<p>{escape(str(picture['text']))}</p>"
        elif callable(own := getattr(self._begun, "_repr_html_", None)):
            shown = str(own())
        else:
            shown = f"<pre>{escape(repr(self._begun))}</pre>"
        places = zip(self.sliders, at, strict=True)
        told = ", ".join(f"{slider.name} = {slider.texts[place]}" for slider, place in places)
        return f"<p><b>{escape(self.title)}</b>: {escape(told)}</p>\n{shown}\n<p><small>{escape(note)}</small></p>"

    def __repr__(self) -> str:
        sliders = ", ".join(f"{s.name}: {s.texts[0]} to {s.texts[-1]}" for s in self.sliders)
        return f"Explorer({self.title}; {sliders}); in a notebook it shows itself, save('page.html') writes a page"


@cache
def _script() -> str:
    """The code that draws, for a page; a widget takes it as it is."""
    return Path(__file__).with_suffix(".js").read_text(encoding="utf-8").replace("export default { render };\n", "")


@cache
def _widget_class() -> Any:
    traitlets, anywidget = import_module("traitlets"), import_module("anywidget")
    traits = {name: kind().tag(sync=True) for name, kind in (("look", traitlets.Dict), ("picture", traitlets.Dict))}
    traits |= {name: traitlets.List().tag(sync=True) for name in ("sliders", "at")}
    source = {"_esm": _script() + "export default { render };\n", "_css": STYLE}
    return type("ExplorerWidget", (anywidget.AnyWidget,), {**source, **traits})


def explore(answer: "Callable[..., object] | str", /, **ranges: Range) -> Explorer:
    """Show how the answer to a problem depends on its parameters, with a slider for each.

    Parameters
    ----------
    answer : callable or str
        A function that takes the parameters by name, and returns what is shown: the solution of an MDP (a map of
        values and actions on a grid, else bars), a plan with alpha vectors (lines, for two states), an array of the
        probabilities of hidden states, shape (n_times, n_states), or anything else that shows itself, in words. Or an
        environment, which is solved, where states are hidden for a second; the parameters are ``gamma`` and those of
        the environment.
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
    ...     explorer.save(f"{folder}/cliff.html").stat().st_size > 20_000
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
    values = tuple(given)
    numbers = [float(value) for value in values if _is_number(value)]
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


def _is_number(value: object) -> "TypeIs[int | float]":
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _solved(name: str) -> Callable[..., object]:
    """A function that solves an environment with these parameters."""
    from rlsuite.environments.finding import find_env
    from rlsuite.models import MDP, POMDP
    from rlsuite.planning import solve

    def answer(gamma: float | None = None, **given: Any) -> object:
        env = find_env(name, **given)
        own = getattr(env.unwrapped, "model", None)
        discount = gamma if gamma is not None else own.gamma if isinstance(own, MDP | POMDP) else 0.99
        kind = POMDP if isinstance(own, POMDP) else MDP
        if kind is MDP:
            return solve(MDP.from_env(env, gamma=discount))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # the picture says both bounds
            return solve(POMDP.from_env(env, gamma=discount), deadline=SECONDS)

    return answer
