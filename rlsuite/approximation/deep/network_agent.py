"""The base of agents with a network: action values, actions, and files."""

from dataclasses import asdict, dataclass, fields
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.agents.learner import Learner
from rlsuite.agents.storage import EPISODE, take_episodes, whole
from rlsuite.approximation.deep.inputs import Inputs
from rlsuite.approximation.deep.network import answers, check_maker, device_of, named, put_weights, reading, write_file
from rlsuite.approximation.deep.q_learner import QLearner
from rlsuite.core.checks import legal_actions, row_of_id
from rlsuite.core.declared import Array, check_array
from rlsuite.core.described import build_part, describe
from rlsuite.core.npz import Npz
from rlsuite.models.aliases import AnyArray

OWN = "network"
"""Parameter that holds a network of the user's own, of which files keep the name."""
ANSWERS = "answers"
"""Array of a file: what such a network says about a few fixed inputs."""


@dataclass(eq=False, kw_only=True)
class NetworkAgent(Learner):
    """Base of agents that keep action values in a network: they act, return values, save and load.

    Attributes
    ----------
    episodes_ : ndarray, shape (n_episodes,)
        Fields ``return`` (float64) and ``length`` (int64, steps) of all episodes learned from so far.
    seed_ : int
        The seed that was used, given or drawn.
    first_action_ : int
        The smallest action.
    """

    network: object

    def __post_init__(self) -> None:
        self.seed_: int
        self.first_action_: int
        self._learner: QLearner | None = None
        self._episodes: list[NDArray[np.void]] = []
        self._clock = np.zeros(2, dtype=np.int64)

    def make_learner(self, inputs: Inputs, n_actions: int, rng: np.random.Generator) -> QLearner:
        """Make new networks for observations and actions like these."""
        raise NotImplementedError

    @property
    def learner_(self) -> QLearner:
        """The two networks."""
        if self._learner is None:
            raise errors.NotLearned(f"this {type(self).__name__} has not learned yet; call learn(env, steps=...) first")
        return self._learner

    @property
    def episodes_(self) -> NDArray[np.void]:
        """Return and length of all finished episodes, shape (n_episodes,), fields "return" and "length"."""
        return np.concatenate([np.zeros(0, dtype=EPISODE), *self._episodes])

    def q(self, observations: object) -> NDArray[np.float64]:
        """Learned action values (n, n_actions) of n observations, shape (n, *shape of one), or (n,) ids.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observations have another shape or are not finite.
        """
        return self.learner_.q(self.learner_.inputs.stored(observations))

    def act(self, observation: object, action_mask: AnyArray | None = None) -> int:
        """Take the best action learned so far, among those that the mask (n_actions,) allows.

        Raises
        ------
        NotLearned
            Before the first `learn`.
        ParameterError
            If the observation has another shape or is not finite, the mask is not one 0 or 1 for each action, or no
            action is legal.
        """
        learner = self.learner_
        if learner.inputs.n_ids:
            row_of_id(observation, learner.inputs.first_id, learner.inputs.n_ids)
        stored = learner.inputs.stored([observation])
        mask = np.ones(learner.n_actions) if action_mask is None else action_mask
        legal = legal_actions("action_mask", mask, learner.n_actions)
        if not legal.any():
            raise errors.ParameterError(f"no action is legal at observation {observation!r}")
        return learner.best(stored, legal) + self.first_action_

    def __getstate__(self) -> dict[str, object]:
        """Copy and pickle what was learned, not the state of the run: a copy's next run begins with a new episode."""
        return {**self.__dict__, "_run": None, "_asked_for": None}

    def save(self, path: str | PathLike[str]) -> None:
        """Write parameters, both networks and episodes to an .npz file; `load` reads it. The replay is left out.

        Of a network of your own, the arrays of its ``state_dict`` are kept, and the name of what made it.

        Raises
        ------
        NotLearned
            If there is nothing to save yet.
        FileError
            If the file cannot be written.
        """
        learner = self.learner_
        header: dict[str, Any] = {
            "parameters": {each.name: describe(getattr(self, each.name)) for each in fields(self) if each.name != OWN},
            OWN: None if self.network is None else named(self.network),
            "inputs": asdict(learner.inputs),
            "n_actions": learner.n_actions,
            "first_action": self.first_action_,
            "seed": str(self.seed_),
        }
        arrays: dict[str, AnyArray] = {"episodes": self.episodes_, "clock": self._clock}
        if self.network is not None:
            arrays[ANSWERS] = self._answers(learner)
        write_file(path, _format(type(self)), header, arrays, learner.networks)

    @classmethod
    def load(cls, path: str | PathLike[str], device: str = "cpu", network: object = None) -> Self:
        """Read an agent that was written by `save`.

        Learning continues with what it knows; its next run begins with a new episode and an empty replay.

        Parameters
        ----------
        path : str or path
            The file.
        device : str
            Device of the networks.
        network : torch.nn.Module, callable or str, optional
            If the agent has a network of your own: what it was made with. A file does not say what is to be imported.

        Raises
        ------
        FileError
            If the file is missing, damaged, or written by something else; or if it has the weights of a network of
            your own, and `network` is missing, or another one.
        ParameterError
            If there is no such device here, or `network` can be no network.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> from rlsuite.approximation.deep import DQN
        >>> agent = DQN(hidden=(8,)).learn("CartPole-v1", steps=10, seed=1)
        >>> with TemporaryDirectory() as folder:
        ...     agent.save(f"{folder}/agent.npz")
        ...     again = DQN.load(f"{folder}/agent.npz")
        >>> bool((again.q([[0.1, 0.2, 0.3, 0.4]]) == agent.q([[0.1, 0.2, 0.3, 0.4]])).all())
        True
        """
        device_of(device)
        if network is not None:
            check_maker(network)
        with reading(path, _format(cls)) as (header, arrays):
            own = header.get(OWN)
            if (own is None) != (network is None):
                raise errors.FileError(_wants(path, cls, own))
            plain = header["parameters"] | {"device": device}
            agent = cls(**{name: build_part(name, value) for name, value in plain.items()}, network=network)
            inputs = header["inputs"] | {name: tuple(header["inputs"][name]) for name in ("shape", "low", "high")}
            seen, n_actions = Inputs(**inputs), whole(header, "n_actions")
            seen.check()
            if n_actions < 1:
                raise ValueError(f"n_actions={n_actions} is less than 1")
            try:
                learner = agent.make_learner(seen, n_actions, np.random.default_rng(0))
                put_weights(learner.networks, arrays)
                agent._check_answers(learner, arrays)
            except (ValueError, errors.ParameterError) as error:
                if own is None:
                    raise
                raise errors.FileError(
                    f"{path} holds the weights of the network {own}, and network={named(network)} is another one: "
                    f"{error}"
                ) from error
            clock = arrays.take("clock", agent._clock.dtype, agent._clock.shape)
            check_array("clock", clock, Array(at_least=0), {})
            agent._clock[:] = clock
            agent._episodes = [take_episodes(arrays)]
            agent._learner, agent.first_action_ = learner, whole(header, "first_action")
            agent.seed_ = int(header["seed"])
        return agent

    def _answers(self, learner: QLearner) -> NDArray[np.float32]:
        """What the user's own network says about a few fixed inputs: what has no weights is seen in it, too."""
        return answers(learner.online, learner.inputs.network_shape, learner.device, f"network={named(self.network)}")

    def _check_answers(self, learner: QLearner, arrays: Npz) -> None:
        """Raise ValueError unless the user's own network says what it did when it was saved."""
        if self.network is None:
            return
        found = self._answers(learner)
        known = arrays.take(ANSWERS, found.dtype, found.shape)
        if not np.allclose(found, known, rtol=1e-3, atol=1e-3 * float(np.abs(known).max())):
            raise ValueError(f"with these weights it answers {found[0]}, not {known[0]}")


def _wants(path: str | PathLike[str], kind: type, own: str | None) -> str:
    """Sentence about a network that was given where none is wanted, or the other way round."""
    if own is None:
        return f"{path} holds a network of rlsuite, {kind.__name__}.load(path) without network= reads it"
    return (
        f"{path} holds the weights of the network {own}, and no code: import it, and write "
        f"{kind.__name__}.load(path, network={own.rpartition('.')[2]})"
    )


def _format(kind: type) -> str:
    return f"rlsuite {kind.__name__} 1"
