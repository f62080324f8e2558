"""Q-learning with a network in the place of the table: targets, and one step of gradient descent towards them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlsuite import errors
from rlsuite.approximation.deep.inputs import Inputs
from rlsuite.approximation.deep.network import Convolution, action_values, build_network
from rlsuite.approximation.deep.pytorch import device_of, pytorch
from rlsuite.approximation.deep.replay import Transitions
from rlsuite.models.aliases import AnyArray


def targets(reward: Any, terminated: Any, legal: Any, q_target: Any, q_choice: Any, gamma: float) -> Any:
    """Compute r + gamma Q_target(x', argmax_a' Q_choice(x', a')), and r where the episode ended.

    Q-learning chooses by the target network itself (Mnih et al. 2015); double Q-learning by the network that learns
    (van Hasselt, Guez & Silver 2016, eq. 4), and does not take the luckiest error for the best action.

    Parameters
    ----------
    reward : torch.Tensor of float32, shape (n,)
        Rewards.
    terminated : torch.Tensor of bool, shape (n,)
        Whether the episode ended there.
    legal : torch.Tensor of bool, shape (n, n_actions)
        The actions that exist in x'.
    q_target, q_choice : torch.Tensor of float32, shape (n, n_actions)
        Values of the actions in x' by which they are counted, and by which one is chosen.
    gamma : float
        Discount per step.

    Returns
    -------
    torch.Tensor of float32, shape (n,)

    Examples
    --------
    >>> row = pytorch().tensor
    >>> q_target, q_choice = row([[1.0, 5.0]]), row([[3.0, 2.0]])
    >>> ended, legal = row([False]), row([[True, True]])
    >>> targets(row([10.0]), ended, legal, q_target, q_target, gamma=0.5).item()
    12.5
    >>> targets(row([10.0]), ended, legal, q_target, q_choice, gamma=0.5).item()
    10.5
    """
    choice = q_choice.masked_fill(~legal, -math.inf).argmax(dim=1, keepdim=True)
    future = q_target.gather(1, choice)[:, 0]
    return reward + gamma * future.masked_fill(terminated, 0.0)


class QLearner:
    """Two networks: one learns; the other, a slow copy of it, computes its targets.

    Parameters
    ----------
    inputs : Inputs
        What observations look like.
    n_actions : int
        Number of actions.
    hidden, convolutions
        Layers; see `build_network`.
    double, dueling : bool
        See `targets` and `action_values`.
    rng : numpy.random.Generator
        Where the first weights come from.
    device : str
        Device of the networks.
    """

    def __init__(
        self,
        inputs: Inputs,
        n_actions: int,
        *,
        hidden: tuple[int, ...],
        convolutions: tuple[Convolution, ...],
        double: bool,
        dueling: bool,
        rng: np.random.Generator,
        device: str,
    ):
        self.inputs, self.n_actions = inputs, n_actions
        self.double, self.dueling = double, dueling
        self.device = device_of(device)
        shape, n_outputs = inputs.network_shape, n_actions + dueling
        self.online, self.target = (
            build_network(shape, n_outputs, hidden, convolutions, rng, self.device) for _ in range(2)
        )
        self.target.load_state_dict(self.online.state_dict())
        self.weights = list(self.online.parameters())
        self.copied_weights = list(self.target.parameters())
        self.optimizer = pytorch().optim.Adam(self.weights, fused=True)

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

    def improve(self, batch: Transitions, gamma: float, learning_rate: float) -> float:
        """Take one step of Adam (Kingma & Ba 2015) on the mean squared temporal-difference error; return the error.

        The absolute error that is often used where the difference is large would learn medians: it nearly ignores the
        rare transitions that end an episode, which matter most. Gradients are not clipped for the same reason.

        Raises
        ------
        LearningError
            If the loss or its gradient is not finite; the weights stay what they were.
        """
        torch = pytorch()
        action, reward, terminated, legal = (
            torch.from_numpy(column).to(self.device)
            for column in (batch.action, batch.reward, batch.terminated, batch.next_legal)
        )
        with torch.no_grad():
            q_target = self.values(self.target, batch.next_observation)
            q_choice = self.values(self.online, batch.next_observation) if self.double else q_target
            wanted = targets(reward, terminated, legal, q_target, q_choice, gamma)
        present = self.values(self.online, batch.observation).gather(1, action[:, None])[:, 0]
        loss = torch.nn.functional.mse_loss(present, wanted)
        self.optimizer.zero_grad()
        loss.backward()
        length = torch.nn.utils.clip_grad_norm_(self.weights, math.inf)  # an infinite limit: only computes the norm
        size = loss.item()
        if not (math.isfinite(size) and math.isfinite(length.item())):
            raise errors.LearningError(
                f"learning diverges: the loss is {size:g}; the weights from before this update are kept. "
                "Give a smaller learning_rate=, or divide the rewards by their largest size"
            )
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.optimizer.step()
        return size

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
