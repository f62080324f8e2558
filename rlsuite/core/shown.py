"""What shows itself in a notebook, in a figure, or as a table of pandas, which is optional and imported here only."""

import sys
from importlib import import_module
from typing import Annotated, Any, TypeAlias

from rlsuite.errors import MissingPackage

DataFrame: TypeAlias = Annotated[Any, "pandas.DataFrame"]
"""A table of pandas, which type checkers know only where it is installed."""


class ShowsItself:
    """Base of the classes of which `rlsuite.plotting.cards` makes a card: what it is in numbers, a table, a figure."""

    def plot(self, kind: str | None = None, **look: object) -> Any:
        """Draw it.

        Parameters
        ----------
        kind : str, optional
            Name of a figure, such as ``"regret"`` of results; by default the figure that notebooks show.
        **look
            Keywords of the figure: axes, title, limits.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            If there is no such figure, or nothing to draw.

        Examples
        --------
        >>> import rlsuite as rl
        >>> ax = rl.train(rl.Sarsa(), "CliffWalking-v1", episodes=20, seeds=2).plot("episode_return", title="A cliff")
        >>> ax.get_title(loc="left")
        'A cliff'
        """
        from rlsuite.plotting.cards import plotted

        return plotted(self, kind, look)

    def _repr_html_(self) -> str:
        from rlsuite.plotting.cards import html_of  # loads nothing until something is shown

        return html_of(self)


def show_through_wrappers() -> None:
    """Have a running notebook show the card of an environment that `gymnasium.make` has put into wrappers.

    Wrappers of Gymnasium hide names that begin with an underscore, `_repr_html_` among them. So IPython, where it runs,
    is told how to show a wrapper: as the environment within shows itself. A wrapper with a form of its own keeps it,
    and wrappers of other environments are shown as before. Nothing is imported.
    """
    python: Any = sys.modules.get("IPython")
    formatter: Any = getattr(python and python.get_ipython(), "display_formatter", None)
    if formatter is not None:
        formatter.formatters["text/html"].for_type_by_name("gymnasium.core", "Wrapper", html_within)


def html_within(wrapper: object) -> str | None:
    """The card of the environment within a wrapper; None if it has none.

    Examples
    --------
    >>> import gymnasium, rlsuite_envs
    >>> html_within(gymnasium.make("rlsuite/Tiger-v0")).count("<svg") > 0, html_within(gymnasium.make("Taxi-v4"))
    (True, None)
    """
    own: Any = getattr(type(wrapper), "_repr_html_", None)
    if own is not None:
        return own(wrapper)
    base: object = getattr(wrapper, "unwrapped", None)
    from rlsuite.plotting.cards import html_of

    return html_of(base) if isinstance(base, ShowsItself) else None


def frame_of(columns: dict[str, Any]) -> DataFrame:
    """Make a DataFrame of columns, each a sequence or an array of one dimension.

    Raises
    ------
    MissingPackage
        If pandas is not installed.
    """
    try:
        pandas: Any = import_module("pandas")
    except ImportError as error:
        raise MissingPackage(
            "to_frame needs pandas, which is not installed: pip install 'rlsuite[pandas]', or write a file with to_csv"
        ) from error
    return pandas.DataFrame(columns)
