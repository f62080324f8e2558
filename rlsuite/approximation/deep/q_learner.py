"""Q-learning with a network in the place of the table: targets, and one step of gradient descent towards them."""

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.inputs import Inputs
from rlsuite.approximation.deep.network import action_values
from rlsuite.approximation.deep.pytorch import pytorch
from rlsuite.approximation.deep.replay import Transitions
from rlsuite.models.aliases import AnyArray


def targets(reward: Any, discount: Any, legal: Any, q_target: Any, q_choice: Any) -> Any:
    """Compute r + discount Q_target(x', argmax_a' Q_choice(x', a')); the discount is 0 where the episode ended.

    Q-learning chooses by the target network itself (Mnih et al. 2015); double Q-learning by the network that learns
    (van Hasselt, Guez & Silver 2016, eq. 4), and does not take the luckiest error for the best action. Where x' is n
    steps later, r is what these paid together, and the discount gamma^n (Sutton & Barto 2018, eq. 7.1).

    Parameters
    ----------
    reward, discount : torch.Tensor of float32, shape (n,)
        See `Transitions`.
    legal : torch.Tensor of bool, shape (n, n_actions)
        The actions that exist in x'.
    q_target, q_choice : torch.Tensor of float32, shape (n, n_actions)
        Values of the actions in x' by which they are counted, and by which one is chosen.

    Returns
    -------
    torch.Tensor of float32, shape (n,)

    Examples
    --------
    >>> row = pytorch().tensor
    >>> q_target, q_choice = row([[1.0, 5.0]]), row([[3.0, 2.0]])
    >>> reward, discount, legal = row([10.0]), row([0.5]), row([[True, True]])
    >>> targets(reward, discount, legal, q_target, q_target).item()
    12.5
    >>> targets(reward, discount, legal, q_target, q_choice).item()
    10.5
    """
    choice = q_choice.masked_fill(~legal, -math.inf).argmax(dim=1, keepdim=True)
    return reward + discount * q_target.gather(1, choice)[:, 0]


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
    """

    def __init__(self, inputs: Inputs, n_actions: int, network: Any, *, double: bool, dueling: bool):
        self.inputs, self.n_actions = inputs, n_actions
        self.double, self.dueling = double, dueling
        self.online, self.target = network, copy.deepcopy(network)
        self.weights = list(self.online.parameters())
        self.copied_weights = list(self.target.parameters())
        self.device = self.weights[0].device
        self.optimizer = pytorch().optim.Adam([each for each in self.weights if each.requires_grad], fused=True)

    @property
    def networks(self) -> dict[str, Any]:
        """Both networks by name: "online" learns, "target" follows."""
        return {"online": self.online, "target": self.target}

    def values(self, network: Any, stored: AnyArray) -> Any:
        """Action values (n, n_actions) that a network gives to stored observations, as a tensor."""
        return action_values(network(self.inputs.tensor(stored, self.device)), self.dueling)

    def q(self, stored: AnyArray) -> NDArray[np.float64]:
        """Action values (n, n_actions) of stored observations."""
        with pytorch().inference_mode():
            return self.values(self.online, stored).cpu().numpy().astype(np.float64)

    def best(self, stored: AnyArray, legal: NDArray[np.bool_]) -> int:
        """The action, counted from 0, with the highest value in one stored observation (1, *shape)."""
        return int(np.where(legal, self.q(stored)[0], -np.inf).argmax())

    def improve(
        self, batch: Transitions, learning_rate: float, weight: NDArray[np.float32] | None = None
    ) -> NDArray[np.float32]:
        """Take one step of Adam (Kingma & Ba 2015) on the mean squared temporal-difference error; return the errors.

        The absolute error that is often used where the difference is large would learn medians: it nearly ignores the
        rare transitions that end an episode, which matter most. Gradients are not clipped for the same reason.

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
        torch = pytorch()
        action, reward, discount, legal = (
            torch.from_numpy(column).to(self.device)
            for column in (batch.action, batch.reward, batch.discount, batch.next_legal)
        )
        with torch.no_grad():
            q_target = self.values(self.target, batch.next_observation)
            q_choice = self.values(self.online, batch.next_observation) if self.double else q_target
            wanted = targets(reward, discount, legal, q_target, q_choice)
        error = self.values(self.online, batch.observation).gather(1, action[:, None])[:, 0] - wanted
        squared = error.square()
        loss = squared.mean() if weight is None else (torch.from_numpy(weight).to(self.device) * squared).mean()
        self.optimizer.zero_grad()
        loss.backward()
        # squares of gradients that are not finite are not finite, nor is then their sum
        size, lengths = loss.item(), [each.grad.norm() for each in self.weights if each.grad is not None]
        if not (math.isfinite(size) and math.isfinite(torch.stack(lengths).norm().item())):
            raise errors.LearningError(
                f"learning diverges: the loss is {size:g}; the weights from before this update are kept. "
                "Give a smaller learning_rate=, or divide the rewards by their largest size"
            )
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        return error.detach().cpu().numpy()

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
