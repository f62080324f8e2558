"""Q-learning with a network in the place of the table: targets, and one step of gradient descent towards them."""

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.inputs import Inputs
from rlsuite.approximation.deep.network import action_values, pytorch, slope_of_outputs
from rlsuite.approximation.deep.replay import Transitions
from rlsuite.models.aliases import AnyArray


def targets(batch: Transitions, q_target: NDArray[np.float32], q_choice: NDArray[np.float32]) -> NDArray[np.float32]:
    """Compute r + discount Q_target(x', argmax_a' Q_choice(x', a')), shape (n,); the discount is 0 after an end.

    Q-learning chooses by the target network itself (Mnih et al. 2015); double Q-learning by the network that learns
    (van Hasselt, Guez & Silver 2016, eq. 4), and does not take the luckiest error for the best action. Where x' is n
    steps later, r is what these paid together, and the discount gamma^n (Sutton & Barto 2018, eq. 7.1).

    Parameters
    ----------
    batch : Transitions
        n transitions.
    q_target, q_choice : ndarray of float32, shape (n, n_actions)
        Values of the actions in x' by which they are counted, and by which one is chosen.

    Examples
    --------
    >>> one = Transitions(*([[0.0]], [0], np.array([10.0]), [[0.0]], np.array([0.5]), np.array([[True, True]])))
    >>> q_target, q_choice = np.array([[1.0, 5.0]]), np.array([[3.0, 2.0]])
    >>> targets(one, q_target, q_target), targets(one, q_target, q_choice)
    (array([12.5]), array([10.5]))
    """
    choice = np.where(batch.next_legal, q_choice, -np.inf).argmax(axis=1)
    future: NDArray[np.float32] = batch.discount * q_target[np.arange(len(choice)), choice]
    return batch.reward + future


class QLearner:
    """Two networks: one learns; the other, a slow copy of it, computes its targets.

    Parameters
    ----------
    inputs : Inputs
        What observations look like.
    n_actions : int
        Number of actions.
    network : torch.nn.Module
        The one that learns.
    double, dueling : bool
        See `targets` and `action_values`.
    error_clip, gradient_clip : float
        See `improve`.
    """

    def __init__(
        self,
        inputs: Inputs,
        n_actions: int,
        network: Any,
        *,
        double: bool,
        dueling: bool,
        error_clip: float = math.inf,
        gradient_clip: float = math.inf,
    ):
        self.inputs, self.n_actions = inputs, n_actions
        self.double, self.dueling = double, dueling
        self.error_clip, self.gradient_clip = error_clip, gradient_clip
        self.online, self.target = network, copy.deepcopy(network)
        self.weights = list(self.online.parameters())
        self.copied_weights = list(self.target.parameters())
        self.device = self.weights[0].device
        self.optimizer = pytorch().optim.Adam([each for each in self.weights if each.requires_grad], fused=True)

    @property
    def networks(self) -> dict[str, Any]:
        """Both networks by name: "online" learns, "target" follows."""
        return {"online": self.online, "target": self.target}

    def outputs(self, network: Any, stored: AnyArray) -> Any:
        """The outputs of a network for stored observations, as a tensor (n, n_outputs)."""
        return network(self.inputs.tensor(stored, self.device))

    def values(self, network: Any, stored: AnyArray) -> NDArray[np.float32]:
        """Action values (n, n_actions) that a network gives to stored observations."""
        with pytorch().inference_mode():
            return action_values(self.outputs(network, stored).cpu().numpy(), self.dueling)

    def q(self, stored: AnyArray) -> NDArray[np.float64]:
        """Action values (n, n_actions) of stored observations."""
        return self.values(self.online, stored).astype(np.float64)

    def best(self, stored: AnyArray, legal: NDArray[np.bool_]) -> int:
        """The action, counted from 0, with the highest value in one stored observation (1, *shape)."""
        return int(np.where(legal, self.q(stored)[0], -np.inf).argmax())

    def improve(
        self, batch: Transitions, learning_rate: float, weight: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Take one step of Adam (Kingma & Ba 2015) on the mean squared temporal-difference error; return the errors.

        Errors beyond `error_clip` count as large as this: there the loss is the absolute error (Huber 1964), which
        learns medians, and nearly ignores rare transitions whose errors are large. A gradient longer than
        `gradient_clip` is made so long. By default nothing is clipped.

        Parameters
        ----------
        batch : Transitions
            What is learned from, n transitions.
        learning_rate : float
            Step size.
        weight : ndarray of float32, shape (n,), optional
            How much each squared error counts.

        Returns
        -------
        ndarray of float32, shape (n,)
            Value minus target, before the step.

        Raises
        ------
        LearningError
            If the loss or its gradient is not finite; the weights stay what they were.
        """
        rows = np.arange(len(batch.action)), batch.action
        with np.errstate(all="ignore"):  # what is not finite is refused below
            q_target = self.values(self.target, batch.next_observation)
            q_choice = self.values(self.online, batch.next_observation) if self.double else q_target
            outputs = self.outputs(self.online, batch.observation)
            q = action_values(outputs.detach().cpu().numpy(), self.dueling)
            error = q[rows] - targets(batch, q_target, q_choice)
            counted = error.clip(-self.error_clip, self.error_clip)
            weighted = counted if weight is None else weight * counted
            loss = float((weighted * error).mean())
            slope = np.zeros_like(q)
            slope[rows] = 2.0 / len(error) * weighted
        if not (math.isfinite(loss) and math.isfinite(length := self._differentiate(outputs, slope))):
            raise errors.LearningError(
                f"learning diverges: the loss is {loss:g}; the weights from before this update are kept. "
                "Give a smaller learning_rate=, or divide the rewards by their largest size"
            )
        if length > self.gradient_clip:
            slopes = [weight.grad for weight in self.weights if weight.grad is not None]
            pytorch()._foreach_mul_(slopes, self.gradient_clip / length)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        return error

    def _differentiate(self, outputs: Any, slope: NDArray[np.float32]) -> float:
        """Find the gradient of a loss that has this slope in action values (n, n_actions); return its length."""
        torch = pytorch()
        self.optimizer.zero_grad()
        outputs.backward(torch.from_numpy(slope_of_outputs(slope, self.dueling)).to(self.device))
        lengths = [each.grad.norm() for each in self.weights if each.grad is not None]
        return torch.stack(lengths).norm().item()

    def copy(self) -> list[Any]:
        """The weights of the network that learns, as they are now."""
        return [weight.detach().clone() for weight in self.weights]

    def put_back(self, weights: list[Any]) -> None:
        """Set the weights of both networks to those that `copy` has returned."""
        with pytorch().no_grad():
            for known in (self.weights, self.copied_weights):
                for own, kept in zip(known, weights, strict=True):
                    own.copy_(kept)

    def follow(self, rate: float) -> None:
        """Move the target network towards the one that learns by a share `rate` of the way (Lillicrap et al. 2016)."""
        torch = pytorch()
        with torch.no_grad():
            torch._foreach_lerp_(self.copied_weights, self.weights, rate)
