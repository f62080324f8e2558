"""Models as environments: the method `to_env` of `rlsuite.models.MDP` and `rlsuite.models.POMDP`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from rlsuite.core.keywords import says_what_to_write
from rlsuite.core.shown import ShowsItself

if TYPE_CHECKING:
    from rlsuite.core.aliases import Env
    from rlsuite.environments.tabular_env import TabularEnv
    from rlsuite.rendering import Drawing


class Playable(ShowsItself):
    """A model that an agent can act in."""

    @overload
    def to_env(
        self, *, drawing: Drawing | None = None, render_mode: str | None = None, observe: None = None
    ) -> TabularEnv: ...

    @overload
    def to_env(self, *, drawing: Drawing | None = None, render_mode: str | None = None, observe: str) -> Env: ...

    @says_what_to_write
    def to_env(
        self, *, drawing: Drawing | None = None, render_mode: str | None = None, observe: str | None = None
    ) -> TabularEnv | Env:
        """Return an environment whose dynamics are this model.

        Parameters
        ----------
        drawing, render_mode
            As for `TabularEnv`.
        observe : str, optional
            What it shows of its state, in a wrapper: one of the words of `rlsuite.environments.observing`.

        Raises
        ------
        ParameterError
            If an argument is outside its allowed values.
        UnsuitableEnvironment
            If it cannot show what is asked for.
        """
        from rlsuite.environments.observing import observing
        from rlsuite.environments.tabular_env import TabularEnv

        model: Any = self  # an MDP or a POMDP
        env = TabularEnv(model, drawing=drawing, render_mode=render_mode)
        return env if observe is None else observing(env, observe)
