"""Settings that are known to learn well: the winners of a sweep of ours, and what they are worth with other seeds.

`python benchmarks/known_settings.py` writes the table beside this module: the winners of `runs/known_settings.toml`.
"""

import csv
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

from rlsuite.core.described import Plain
from rlsuite.errors import ParameterError, unknown
from rlsuite.experiments.lookup import find_agent_class
from rlsuite.experiments.sweeping import with_setting

if TYPE_CHECKING:
    from rlsuite.agents import Agent

TABLE: Final = "known_settings.csv"

NUMBERS: Final = ("value", "low", "high", "optimum")


class KnownSetting(NamedTuple):
    """The best setting of an agent in an environment, of those that the sweep tried."""

    environment: str
    """Id of the environment."""
    agent: str
    """Class of the agent."""
    setting: Plain
    """Its parameters that are not defaults; those of its parts have dots in their names."""
    steps: int
    """Length of a run."""
    seeds: int
    """Number of seeds, none of which chose the setting."""
    value: float
    """Discounted value of the greedy policy that it learned, mean over the seeds."""
    low: float
    """Lower end of the 95 % interval."""
    high: float
    """Upper end."""
    optimum: float
    """Value of the optimal policy."""
    version: str
    """Version of rlsuite."""

    @property
    def share(self) -> float | None:
        """``value / optimum``; None if one of them is negative."""
        return self.value / self.optimum if self.optimum > 0.0 <= self.value else None

    def make(self) -> "Agent":
        """A new agent with these parameters.

        Examples
        --------
        >>> (known,) = known_settings("CliffWalking-v1", "Sarsa")
        >>> known.make().learn("CliffWalking-v1", steps=1_000, seed=0).steps_
        1000
        """
        return with_setting(find_agent_class(self.agent)(), self.setting)


def known_settings(environment: str | None = None, agent: str | None = None) -> list[KnownSetting]:
    """The best known settings, of an environment the best agent first.

    Every agent was swept over the settings of ``runs/known_settings.toml``, with ``gamma`` 0.99; the setting whose
    greedy policies were worth most was run again with other seeds, whose mean is `KnownSetting.value`. Of settings that
    are worth the same, that with the least regret was chosen.

    Parameters
    ----------
    environment : str, optional
        Id of an environment; by default all that are known.
    agent : str, optional
        Class of an agent, ``"q-learning"`` or ``"QLearning"``; by default all that are known.

    Returns
    -------
    list of KnownSetting
        In the order of the table; those of one environment with the best first.

    Raises
    ------
    ParameterError
        If nothing is known of the environment or the agent; the message lists what is.

    Examples
    --------
    >>> import rlsuite as rl
    >>> best = rl.experiments.known_settings("CliffWalking-v1")[0]
    >>> best.value == best.optimum
    True
    """
    known, name = _read(), None if agent is None else find_agent_class(agent).__name__
    for what, asked in (("environment", environment), ("agent", name)):
        names = dict.fromkeys(getattr(one, what) for one in known)
        if asked is not None and asked not in names:
            raise ParameterError(
                f"no settings are known: {unknown(what, asked, names)}; find some yourself: rlsuite sweep "
                f"{agent or 'q-learning'} {environment or 'ENV'} --learning-rate 0.03,0.1,0.3,1"
            )
        known = [one for one in known if asked in (None, getattr(one, what))]
    return sorted(known, key=lambda one: -one.value) if environment is not None else known


def _read() -> list[KnownSetting]:
    text = files("rlsuite.experiments").joinpath(TABLE).read_text(encoding="utf-8")
    return [_row(row) for row in csv.DictReader(text.splitlines())]


def _row(row: Mapping[str, str]) -> KnownSetting:
    value, low, high, optimum = (float(row[name]) for name in NUMBERS)
    where, agent, setting = row["environment"], row["agent"], json.loads(row["setting"])
    steps, seeds = int(row["steps"]), int(row["seeds"])
    return KnownSetting(where, agent, setting, steps, seeds, value, low, high, optimum, row["version"])
