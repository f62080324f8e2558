"""A run on a table that its environment declares, or that was made by asking it: verified by steps of the run itself.

Nobody calls an environment beforehand. The first steps of the run are taken in the environment, and compared with what
the table says (`rlsuite.environments.followers`). Then the run continues in the compiled loop. From time to time a
stretch of it is taken in the environment again: after half as many steps as have been taken until then, before the
end, and where a step has an outcome that none had before. Both loops give the same bytes, so this does not change
the results.

At the first difference everything is made what it was after the last stretch that agreed, and the run continues
stepwise from there. If the environment did something else between two stretches and agrees in all of them, that is not
found.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from rlsuite import errors
from rlsuite.core.aliases import Info, Observation
from rlsuite.environments.compiled_env import CompiledDynamics
from rlsuite.environments.facts import EnvironmentFacts
from rlsuite.environments.followers import Follower
from rlsuite.environments.forms.form import Form
from rlsuite.environments.observation_view import Encoding
from rlsuite.environments.side_effects import Surroundings
from rlsuite.models import MDP, POMDP
from rlsuite.models.aliases import IndexArray
from rlsuite.models.gymnasium_table import table_in
from rlsuite.training.engines import CHUNK, Advance, CompiledEngine, Learner
from rlsuite.training.first_steps import Snapshot
from rlsuite.training.kernels import ALL_STEPS, ELAPSED, FRESH, OBSERVATION
from rlsuite.training.seen import NOTHING_SEEN, SeenOutcomes, memory_of
from rlsuite.training.stepping import EnvironmentEngine

FIRST, STRETCH, FEW = 1_000, 50, 10
"""Steps in the environment: the first of a run, of each stretch, and where something is done for the first time."""

AT_ONCE, EACH = 200, 20_000
"""How often a run may stop for first times: so often, and once more every so many steps."""


class VerifiedEngine:
    """Learn on what an environment declares, and compare.

    Parameters
    ----------
    facts, learner, mask_info, encode, info
        As for `EnvironmentEngine`.
    form : Form
        The form that is verified.
    follower : Follower
        Made by the form.
    loop : {"compiled", "stepwise"}
        With "stepwise" all steps are taken in the environment, because the user wants that; some are compared all the
        same, as the table says which actions are legal, and what the optimum is.
    """

    def __init__(
        self,
        facts: EnvironmentFacts,
        form: Form,
        follower: Follower,
        learner: Learner,
        mask_info: Info | None,
        encode: Encoding | None,
        info: Info,
        loop: Literal["compiled", "stepwise"],
    ):
        assert form.adapter is not None
        self.facts, self.learner, self.mask_info, self.encode, self.info = facts, learner, mask_info, encode, info
        self.loop: Literal["compiled", "stepwise"] = loop
        self.stop: Sequence[int] = ()
        self.end: int | None = None
        """Of the run, in steps, if that is known."""
        self._form = form
        self._follower = follower
        self._compiled = None
        self._seen = None if encode is not None else SeenOutcomes(learner.legal.shape, form.draws_rewards())
        self._latest: tuple[int, int, float, bool] | None = None  # its outcome is seen when the step has been learned
        if loop == "compiled":
            self._compiled = CompiledEngine(facts, form.adapter, learner)
        self._stepping: EnvironmentEngine | None = None
        self._following = False
        self._real = FIRST  # steps left of this stretch
        self._until_next = 0  # steps left until the next one
        self._point: _Point | None = None  # after the last stretch that agreed
        self._done, self._stops = 0, 0
        self._few = False  # whether this stretch is one of a few steps
        self._surroundings: Surroundings | None = None

    def prepare(self) -> None:
        """Compile the loop."""
        if self._compiled is not None:
            self._compiled.prepare()

    def resume(self, facts: EnvironmentFacts) -> None:
        """Continue, in another call of `learn`: it begins with a stretch in the environment."""
        self.facts = facts
        self._follower = self._form.follower(facts) or self._follower
        self._stepping, self._point, self._following, self._few = None, None, False, False
        self._real = max(self._real, STRETCH)
        before, self._surroundings = self._surroundings, None
        if before is not None and not before.same(self._look_around()):  # somebody has edited something
            if self._seen is not None:
                self._seen.forget()
            self._real, self._done, self._stops = FIRST, 0, 0
        if self._compiled is not None:
            self._compiled.resume(facts)

    def advance(self, clock: int, times: IndexArray, most: int = CHUNK) -> Advance:
        """Learn until the clock shows the last time, or for at most this many steps; or until something differs."""
        before = int(self.learner.run_state.position[ALL_STEPS])
        if not self._real and self.end is not None and self.end - before <= STRETCH:
            self._real = STRETCH
        outcome = self._in_environment(clock, times, most) if self._real else self._on_table(clock, times, most)
        self._done += int(self.learner.run_state.position[ALL_STEPS]) - before
        return outcome

    def finish(self) -> str:
        """End the run; return what differs after all, if its last steps were in the environment."""
        if self._following and self._real and not self._follower.difference:
            self._compare(self._end)
        return self._follower.difference

    def after_reset(self, observation: Observation, info: Info) -> None:
        """Compare the answer of `reset`."""
        self._record_outcome()
        self._compare(self._follower.after_reset, observation, info)

    def _compare(self, compare: Callable[..., object], *arguments: object) -> None:
        """Compare; what cannot be compared is a difference, and not an error of the run."""
        try:
            compare(*arguments)
        except Exception as error:  # of the declared table or dynamics, or of what an answer consists of
            self._follower.difference = f"it cannot be compared with what it declares ({type(error).__name__}: {error})"

    def after_step(self, action: int, answer: tuple[Any, ...]) -> None:
        """Compare the answer of `step`."""
        self._record_outcome()
        self._compare(self._follower.after_step, action, answer)
        if not self._follower.difference:
            self._latest = int(self.learner.run_state.position[OBSERVATION]), action, float(answer[1]), bool(answer[2])

    def _record_outcome(self) -> None:
        """Record the outcome of the latest step in the environment."""
        if self._latest is not None and self._seen is not None:
            observation, action, reward, terminated = self._latest
            following = int(self.learner.run_state.position[OBSERVATION])
            self._seen.add(observation, action, following, reward, terminated)
        self._latest = None

    def _look_around(self) -> Surroundings:
        """Record what the methods of the environment refer to; what cannot be compared is a doubt."""
        self._surroundings = Surroundings(self.facts.base)
        if self._surroundings.unknown and not self._follower.difference:
            unknown = self._surroundings.unknown
            self._follower.difference = f"its step or its reset may depend on {unknown}, which cannot be compared"
        return self._surroundings

    def _in_environment(self, clock: int, times: IndexArray, most: int) -> Advance:
        """Take steps of a stretch, and compare."""
        position = self.learner.run_state.position
        if self._stepping is None:
            self._stepping = EnvironmentEngine(self.facts, self.learner, self.mask_info, self.encode, self.info, None)
            self._stepping.at_first.stay_interpreted()
            self._following = False
        engine = self._stepping
        engine.stop, engine.witness = self.stop, self
        if self._surroundings is None:
            self._compare(self._look_around)
        if not self._following:
            self._compare(self._follower.begin, int(position[ELAPSED]))
            self._following = True
        before = int(position[ALL_STEPS])
        try:
            outcome = engine.advance(clock, times, min(most, self._real))
        except (KeyboardInterrupt, SystemExit):
            self._stepping = None
            raise
        except Exception as error:  # of whatever kind: the run itself has not come here
            if self._point is None or not self._point.left:
                raise
            return self._other(f"its step raised {type(error).__name__}: {error}")
        self._real -= int(position[ALL_STEPS]) - before
        self._record_outcome()
        if self._follower.difference:
            return self._other(self._follower.difference, outcome)
        return outcome if self._real else self._agreed(outcome)

    def _agreed(self, outcome: Advance) -> Advance:
        """End a stretch."""
        if not self._few:
            self._compare(self._end)
        if self._follower.difference:
            return self._other(self._follower.difference, outcome)
        self._following = False
        self.info = {}
        if self._compiled is None:
            assert self._stepping is not None
            self._stepping.witness = None
            self._until_next = self._gap()
            return outcome
        self._stepping = None
        if self._few:
            self._few = False
            self._compiled.resume(self.facts)
            return outcome
        try:
            self._point = _Point(self.facts, self.learner)
        except Exception as error:  # whatever a class of another package raises
            reason = f"it cannot be copied ({type(error).__name__}: {error}), so that a run could not go back"
            return self._other(reason, outcome)
        self._until_next = self._gap()
        self._compiled.resume(self.facts)
        if self._seen is not None and memory_of(self._compiled.env_rng) is None:
            bits = type(self._compiled.env_rng.bit_generator).__name__
            return self._other(f"it draws from a {bits}, which the loop cannot put back (PCG64 can be)", outcome)
        return outcome._replace(verified=True)

    def _end(self) -> None:
        """Compare what the steps of a stretch may have changed."""
        self._follower.end()
        changed = "" if self._surroundings is None else self._surroundings.changed()
        if changed and not self._follower.difference:
            self._follower.difference = f"its step or its reset changes {changed}, which its table does not have"

    def _gap(self) -> int:
        """Steps until the next stretch."""
        return max(STRETCH, (self._done + FIRST) // 2)

    def _on_table(self, clock: int, times: IndexArray, most: int) -> Advance:
        """Take steps without comparing."""
        position = self.learner.run_state.position
        before = int(position[ALL_STEPS])
        most = min(most, self._until_next)
        if self.end is not None:
            most = min(most, self.end - STRETCH - before)
        if self._compiled is None:
            assert self._stepping is not None
            outcome = self._stepping.advance(clock, times, most)
        else:
            assert self._point is not None
            stops = AT_ONCE + self._done // EACH - self._stops
            looks = self._seen if stops > 0 else None
            self._compiled.seen = NOTHING_SEEN if looks is None else looks.of(self._compiled.env_rng)
            self._point.left = True
            outcome = self._compiled.advance(clock, times, most if stops > 0 else min(most, EACH))
            if self._compiled.code == FRESH:
                self._real, self._few = FEW, True
                self._stops += 1
        self._until_next -= int(position[ALL_STEPS]) - before
        if not self._until_next:
            self._real, self._few = STRETCH, False
        return outcome

    def _other(self, difference: str, outcome: Advance | None = None) -> Advance:
        """End the verification; go back unless all steps since the last stretch that agreed were in the environment."""
        if self._point is None or not self._point.left:
            assert outcome is not None
            return outcome._replace(difference=difference)
        self._point.restore()
        return Advance(np.empty((0, 3)), np.empty((0, 2)), difference=difference, back=True)


class _Point:
    """A point of a run to which one can go back."""

    def __init__(self, facts: EnvironmentFacts, learner: Learner):
        self.left = False
        self._learner = Snapshot((learner.memory, learner.view, learner.legal, learner.rng, learner.run_state))
        self._layers = [*facts.wrappers, facts.base]
        base: Any = facts.base
        shared: list[Any] = [*self._layers, base.observation_space, base.action_space, table_in(base)]
        for layer in self._layers:
            shared += [value for value in vars(layer).values() if isinstance(value, MDP | POMDP | CompiledDynamics)]
        if any("__slots__" in vars(kind) and vars(kind)["__slots__"] for kind in type(base).__mro__):
            raise errors.UnsuitableEnvironment("its class has __slots__")
        self._own = copy.deepcopy([dict(vars(layer)) for layer in self._layers], {id(one): one for one in shared})

    def restore(self) -> None:
        """Make everything what it was."""
        self._learner.restore()
        for layer, own in zip(self._layers, self._own, strict=True):
            vars(layer).clear()
            vars(layer).update(own)
