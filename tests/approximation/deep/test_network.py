import gymnasium
import numpy as np
import pytest

from rlsuite import errors
from rlsuite.approximation.deep.inputs import Inputs
from rlsuite.approximation.deep.network import (
    Convolution,
    action_values,
    build_network,
    check_layers,
    device_of,
    one_thread,
)
from rlsuite.reference import duelling_values

torch = pytest.importorskip("torch")


def rows(*values):
    return torch.tensor(values, dtype=torch.float32)


def test_a_network_of_rectified_units_computes_the_exclusive_or():
    # the network of the notes (Goodfellow, Bengio & Courville 2016, section 6.1), with b = (0, -1)
    network = build_network((2,), 1, (2,), (), np.random.default_rng(1))
    hidden, output = network[1], network[3]
    with torch.no_grad():
        hidden.weight[:], hidden.bias[:] = 1.0, rows(0.0, -1.0)
        output.weight[:], output.bias[:] = rows([1.0, -2.0]), 0.0
        assert network(rows([0, 0], [0, 1], [1, 0], [1, 1])).ravel().tolist() == [0, 1, 1, 0]


def test_a_convolution_is_a_sum_over_windows():
    rng = np.random.default_rng(1)
    network = build_network((2, 5, 6), 3, (), [Convolution(4, kernel=2, stride=2)], rng)
    layer = network[0]
    image = rng.normal(size=(2, 5, 6)).astype(np.float32)
    weight, bias = (tensor.detach().numpy() for tensor in (layer.weight, layer.bias))
    by_hand = np.array(
        [
            [[(weight[f] * image[:, i : i + 2, j : j + 2]).sum() + bias[f] for j in (0, 2, 4)] for i in (0, 2)]
            for f in range(4)
        ]
    )
    with torch.no_grad():
        found = layer(torch.from_numpy(image[None]))[0].numpy()
    np.testing.assert_allclose(found, by_hand, atol=1e-6)
    # (2 * 2 * 2 + 1) * 4 weights look at patches, (4 * 2 * 3 + 1) * 3 at what they found
    assert sum(tensor.numel() for tensor in network.parameters()) == 36 + 75


def test_sizes_of_the_lecture_notes():
    """Six patterns of 5 x 5 on 32 x 32: 28 x 28 places, 156 weights whatever the size of the image."""
    layer = build_network((32, 32), 1, (), [(6, 5, 1)], np.random.default_rng(1))[1]
    assert layer(torch.zeros(1, 1, 32, 32)).shape == (1, 6, 28, 28)
    assert sum(tensor.numel() for tensor in layer.parameters()) == 156


def test_an_image_without_planes_has_one():
    network = build_network((5, 6), 3, (7,), [(2, 3, 1), (4, 2, 1)], np.random.default_rng(1))
    assert network(torch.zeros(8, 5, 6)).shape == (8, 3)


def test_weights_depend_on_the_generator_alone_and_leave_torch_alone():
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    built = [build_network((3,), 2, (4,), (), np.random.default_rng(5)) for _ in range(2)]
    for first, second in zip(*(network.parameters() for network in built), strict=True):
        assert torch.equal(first, second)
    bound = 1 / np.sqrt(3)
    assert built[0][1].weight.abs().max().item() <= bound
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_the_advantages_of_a_duelling_network_cancel():
    outputs = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    q = action_values(outputs, dueling=True)
    np.testing.assert_allclose(q.mean(axis=1), outputs[:, 0], rtol=1e-5)  # the mean is V
    np.testing.assert_allclose(q, duelling_values(outputs[:, 0], outputs[:, 1:]), rtol=1e-5)
    assert action_values(outputs, dueling=False) is outputs


def test_ids_are_one_hot_and_pixels_are_fractions():
    cpu = device_of("cpu")
    ids = Inputs((1,), n_ids=3, first_id=5)
    assert ids.tensor(ids.stored([7, 5]), cpu).tolist() == [[0, 0, 1], [1, 0, 0]]
    pixels = Inputs((2,), pixels=True)
    assert pixels.tensor(pixels.stored([[0, 255]]), cpu).tolist() == [[0, 1]]
    flags = Inputs.of(gymnasium.spaces.Box(0, 1, (2,), dtype=np.bool_))
    assert flags.dtype == np.uint8
    assert flags.tensor(flags.stored([[False, True]]), cpu).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("shape", "planes"),
    [
        ((10, 10, 4), 4),  # MinAtar: Breakout, Asterix, Space Invaders, Freeway
        ((10, 10, 6), 6),
        ((10, 10, 7), 7),
        ((4, 84, 84), 4),  # the last four grey pictures of an Atari game
        ((84, 84, 4), 4),
        ((84, 84, 1), 1),
        ((210, 160, 3), 3),  # ALE, CarRacing, MiniGrid
        ((96, 96, 3), 3),
        ((7, 7, 3), 3),
        ((12, 210, 160), 12),  # four pictures of three colours
        ((1, 3, 5), 1),
    ],
)
def test_planes_are_found(shape, planes):
    inputs = Inputs.of(gymnasium.spaces.Box(0, 255, shape, dtype=np.uint8), "auto")
    assert inputs.network_shape[0] == planes
    image = np.arange(np.prod(shape)).reshape(1, *shape) % 256
    entered = inputs.tensor(inputs.stored(image), device_of("cpu")).numpy()
    assert entered.shape == (1, *inputs.network_shape)
    np.testing.assert_allclose(np.moveaxis(entered, 1, shape.index(planes) + 1) * 255.0, image, atol=1e-4)


def test_numbers_between_bounds_are_brought_to_one():
    space = gymnasium.spaces.Box(np.array([-1.2, -0.07, -np.inf]), np.array([0.6, 0.07, np.inf]), dtype=np.float64)
    found = Inputs.of(space).stored([[-1.2, 0.07, 5.0], [-0.3, 0.035, -5.0]])
    np.testing.assert_allclose(found, [[-1.0, 1.0, 5.0], [0.0, 0.5, -5.0]], atol=1e-7)
    image = Inputs.of(gymnasium.spaces.Box(0.0, 1.0, (1, 2, 2)))
    assert (image.low, image.high) == ((0.0,), (1.0,))
    assert image.stored(np.full((3, 1, 2, 2), 0.75)).tolist() == np.full((3, 1, 2, 2), 0.5).tolist()


@pytest.mark.parametrize(
    ("inputs", "observations", "message"),
    [
        (Inputs((2,)), [[1.0, np.nan]], "nan is not a finite number"),
        (Inputs((2,)), [[1.0, 2.0, 3.0]], r"shape \(3,\); this network takes observations of shape \(2,\)"),
        (Inputs((2,)), [1.0, 2.0], r"shape \(\);"),
        (Inputs((2,)), ["a"], "must be an array of numbers"),
        (Inputs((2,)), [[0.0, 1e300]], "1e.300 is not a finite number"),
        (Inputs((1,), n_ids=3, first_id=5), [np.nan], r"nan is not in 5\.\.7"),
        (Inputs((1,), n_ids=3, first_id=5), [8], r"8 is not in 5\.\.7"),
        (Inputs((1,), n_ids=3, first_id=5), [5.5], r"5\.5 is not in 5\.\.7"),
    ],
)
def test_bad_observations_are_named(inputs, observations, message):
    with pytest.raises(errors.ParameterError, match=message):
        inputs.stored(observations)


def test_bad_layers_are_named():
    for hidden, message in [((64, 0), r"hidden\[1\]=0"), (64, "hidden=64")]:
        with pytest.raises(errors.ParameterError, match=message):
            check_layers(hidden, ())
    with pytest.raises(errors.ParameterError, match=r"convolutions\[0\].stride=0"):
        check_layers((), [(16, 3, 0)])
    with pytest.raises(errors.UnsuitableEnvironment, match=r"observations have \(4,\)"):
        build_network((4,), 2, (), [Convolution(8)], np.random.default_rng(1))
    with pytest.raises(errors.UnsuitableEnvironment, match="a kernel of 3 x 3 does not fit into 5 x 2 numbers"):
        build_network((1, 5, 2), 2, (), [Convolution(8)], np.random.default_rng(1))


def test_threads_are_given_back_by_the_last_one():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with one_thread():
            with one_thread():
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(errors.ParameterError, match="device='abacus' cannot be used here; 'cpu' always can"):
        device_of("abacus")
