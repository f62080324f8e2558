import numpy as np
import pytest

from rlsuite import errors
from rlsuite.approximation.deep.inputs import Inputs
from rlsuite.approximation.deep.network import arrays_of, build_network, one_thread
from rlsuite.approximation.deep.q_learner import QLearner, targets
from rlsuite.approximation.deep.replay import Transitions

torch = pytest.importorskip("torch")

KNOWN = Transitions(
    observation=np.zeros((4, 2), dtype=np.float32),
    action=np.zeros(4, dtype=np.int64),
    reward=np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32),
    next_observation=np.zeros((4, 2), dtype=np.float32),
    discount=np.array([0.5, 0.25, 0.0, 0.5], dtype=np.float32),  # an end has no future
    next_legal=np.array([[True, True], [True, True], [False, False], [True, False]]),
)
Q_TARGET = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 60.0], [70.0, 80.0]], dtype=np.float32)
Q_ONLINE = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)


def learner(double=False, dueling=False, hidden=(), seed=1, error_clip=np.inf, gradient_clip=np.inf):
    network = build_network((2,), 3 + dueling, hidden, (), np.random.default_rng(seed))
    clips = {"error_clip": error_clip, "gradient_clip": gradient_clip}
    made = QLearner(Inputs((2,)), 3, network, double=double, dueling=dueling, **clips)
    with torch.no_grad():  # a target network of its own, which prefers other actions
        for tensor in made.target.parameters():
            tensor.mul_(-1.0).add_(0.5)
    return made


def batch(n=4, seed=2, reward=1.0, gamma=0.9):
    rng = np.random.default_rng(seed)
    return Transitions(
        observation=rng.normal(size=(n, 2)).astype(np.float32),
        action=rng.integers(3, size=n),
        reward=np.full(n, reward, dtype=np.float32),
        next_observation=rng.normal(size=(n, 2)).astype(np.float32),
        discount=np.where(np.arange(n) % 2 == 1, 0.0, gamma).astype(np.float32),
        next_legal=np.ones((n, 3), dtype=np.bool_),
    )


def test_targets_by_hand():
    # the best legal action by the target network's own values
    found = targets(KNOWN, Q_TARGET, Q_TARGET)
    assert found.tolist() == [1 + 10, 2 + 10, 3, 4 + 35]
    # the online network chooses the first action in the first row: the target network's value of it counts
    found = targets(KNOWN, Q_TARGET, Q_ONLINE)
    assert found.tolist() == [1 + 5, 2 + 10, 3, 4 + 35]


@pytest.mark.parametrize("weight", [None, [1.0, 0.25, 0.5, 0.0]])
@pytest.mark.parametrize("double", [False, True])
def test_one_lesson_by_hand(double, weight):
    """Weights after a step of a linear network equal Adam's first step down the gradient of the mean squared error."""
    rate, some = 0.01, batch()
    counts = np.ones(4, dtype=np.float32) if weight is None else np.array(weight, dtype=np.float32)
    pupil = learner(double)
    online, target = arrays_of(pupil.online), arrays_of(pupil.target)

    def q(arrays, x):
        return x.astype(np.float64) @ arrays["1.weight"].T.astype(np.float64) + arrays["1.bias"]

    choices = [q(network, some.next_observation).argmax(axis=1) for network in (target, online)]
    assert (choices[0] != choices[1])[some.discount > 0].any()
    choice = choices[double]
    future = q(target, some.next_observation)[np.arange(4), choice]
    error = q(online, some.observation)[np.arange(4), some.action] - (some.reward + some.discount * future)
    gradient = {"1.weight": np.zeros((3, 2)), "1.bias": np.zeros(3)}
    for i in range(4):
        gradient["1.weight"][some.action[i]] += 2 * counts[i] * error[i] * some.observation[i] / 4
        gradient["1.bias"][some.action[i]] += 2 * counts[i] * error[i] / 4
    found = pupil.improve(some, rate, None if weight is None else counts)
    np.testing.assert_allclose(found, error, rtol=1e-5, atol=1e-6)
    for name, array in arrays_of(pupil.online).items():
        # the moments of Adam's first step, corrected for their bias, are g and g^2
        wanted = online[name] - rate * gradient[name] / (np.abs(gradient[name]) + 1e-8)
        np.testing.assert_allclose(array, wanted, atol=1e-6)
    for name, array in arrays_of(pupil.target).items():
        np.testing.assert_array_equal(array, target[name])


@pytest.mark.parametrize(("dueling", "error_clip"), [(False, np.inf), (True, np.inf), (False, 0.8)])
def test_the_gradient_is_that_of_the_mean_squared_error(dueling, error_clip):
    """As PyTorch finds it, from the error to the weights; with a clip it is that of Huber's loss, doubled."""
    pupil, some = learner(dueling=dueling, hidden=(8,), error_clip=error_clip), batch(n=6)
    error = pupil.improve(some, 0.0)
    assert (np.abs(error) > error_clip).sum() in range(1, 6) or np.isinf(error_clip)
    rows = np.arange(6), some.action
    wanted = torch.from_numpy(pupil.values(pupil.online, some.observation)[rows] - error)
    found = [weight.grad.clone() for weight in pupil.weights]
    pupil.optimizer.zero_grad()
    outputs = pupil.outputs(pupil.online, some.observation)
    q = outputs[:, :1] + outputs[:, 1:] - outputs[:, 1:].mean(dim=1, keepdim=True) if dueling else outputs
    if np.isinf(error_clip):
        torch.nn.functional.mse_loss(q[rows], wanted).backward()
    else:
        (2.0 * torch.nn.functional.huber_loss(q[rows], wanted, delta=error_clip)).backward()
    for weight, slope in zip(pupil.weights, found, strict=True):
        torch.testing.assert_close(slope, weight.grad)


@pytest.mark.parametrize("clip", [1e-3, 1e3])
def test_long_gradients_are_shortened_as_pytorch_does(clip):
    some = batch(n=6)
    free, clipped = learner(hidden=(8,)), learner(hidden=(8,), gradient_clip=clip)
    free.improve(some, 0.0)
    clipped.improve(some, 0.0)
    torch.nn.utils.clip_grad_norm_(free.weights, clip)
    for one, other in zip(free.weights, clipped.weights, strict=True):
        torch.testing.assert_close(other.grad, one.grad, rtol=1e-3, atol=0.0)
    assert torch.stack([weight.grad.norm() for weight in clipped.weights]).norm() <= 1.001 * clip


def test_the_target_network_follows_by_its_rate():
    pupil = learner(hidden=(4,))
    online, target = arrays_of(pupil.online), arrays_of(pupil.target)
    pupil.follow(0.25)
    for name, array in arrays_of(pupil.target).items():
        np.testing.assert_allclose(array, 0.75 * target[name] + 0.25 * online[name], rtol=1e-6)
        np.testing.assert_array_equal(arrays_of(pupil.online)[name], online[name])


@pytest.mark.parametrize("spoilt", ["reward", "observation"])
def test_a_diverging_lesson_leaves_the_weights_alone(spoilt):
    pupil, some = learner(dueling=True, hidden=(4,)), batch()
    pupil.improve(some, 0.01)
    before = arrays_of(pupil.online)
    getattr(some, spoilt)[2] = np.inf
    with pytest.raises(
        errors.LearningError, match=r"learning diverges: the loss is .*; the weights from before this update are kept"
    ):
        pupil.improve(some, 0.01)
    for name, array in arrays_of(pupil.online).items():
        np.testing.assert_array_equal(array, before[name])


def test_a_duelling_network_learns_values_given_by_a_table():
    """Fitted to the rewards of steps that end, its values are those rewards: the two streams can say anything."""
    rng = np.random.default_rng(3)
    table = np.array([[1.0, -2.0, 0.5], [3.0, 3.0, -1.0]])
    pupil = learner(double=True, dueling=True)
    ids = rng.integers(2, size=64)
    x, action = np.eye(2, dtype=np.float32)[ids], rng.integers(3, size=64)
    ended = np.zeros(64, dtype=np.float32)
    some = Transitions(x, action, table[ids, action].astype(np.float32), x, ended, np.ones((64, 3), dtype=np.bool_))
    with one_thread():
        for t in range(400):
            pupil.improve(some, 0.2 * 0.98**t)
    np.testing.assert_allclose(pupil.q(np.eye(2, dtype=np.float32)), table, atol=1e-3)
    assert pupil.best(np.eye(2, dtype=np.float32)[1:], np.array([False, False, True])) == 2
