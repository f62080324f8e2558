"""Readers of all kinds of files, with files that were damaged at random: a value that can be used, or an error of ours.

The damages are drawn with a fixed seed, so every run has the same cases. What such cases have found stands below as
cases of their own.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import warnings
import zipfile
import zlib
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import rlsuite as rl
import rlsuite_envs.gridworld as gridworld
from rlsuite.agents.values import Table
from rlsuite.approximation import (
    Chain,
    Clusters,
    FourierBasis,
    MixtureResponsibilities,
    Nystroem,
    Polynomial,
    PrincipalComponents,
    RadialBasis,
    RandomFourier,
    SemiGradientSarsa,
    Standardization,
    StateAggregation,
    TileCoding,
)
from rlsuite.environments.finding import find_env
from rlsuite.errors import FileError, ParameterError, RlsuiteError, RlsuiteWarning
from rlsuite.experiments import Experiment, load_results
from rlsuite.experiments.segments import FORMAT
from rlsuite.inference import emissions
from rlsuite.registry import agent_classes
from rlsuite.training.legality import every_action

PROBLEMS = Path(__file__).parent / "problems"
NUMBERS = [
    "-1",
    "0",
    "1",
    "2",
    "3",
    "1.5",
    "1e400",
    "-1e300",
    "1e-320",
    "nan",
    "inf",
    "99999999",
    "9" * 20,
    "1_0",
    "''",
]
MARKS = ["*", ":", "#", "=", "[", "]", "{", "}"]
TOKENS = re.compile(rb"\s+|[\w.+-]+|[^\w\s]")


# ------------------------------------------------------------------------------------------------------------ damages


def shuffled(parts, rng):
    """Parts of a text with one of them deleted, doubled, swapped with another, or put elsewhere."""
    parts = list(parts) or [b""]
    i, j = rng.integers(len(parts), size=2)
    how = rng.integers(4)
    if how == 0:
        del parts[i]
    elif how == 1:
        parts.insert(i, parts[i])
    elif how == 2:
        parts[i], parts[j] = parts[j], parts[i]
    else:
        parts.insert(j, parts.pop(i))
    return parts


def damaged_text(content, rng):
    """Bytes, tokens or lines are changed, once to three times."""
    for _ in range(rng.integers(1, 4)):
        how = rng.integers(6)
        if how == 0:
            content = b"".join(bytes([one]) for one in b"".join(shuffled([bytes([b]) for b in content], rng)))
        elif how == 1:
            content = b"".join(shuffled(TOKENS.findall(content), rng))
        elif how == 2:
            content = b"".join(shuffled(content.splitlines(keepends=True), rng))
        elif how == 3 and content:
            flipped = bytearray(content)
            flipped[rng.integers(len(flipped))] ^= 1 << int(rng.integers(8))
            content = bytes(flipped)
        elif how == 4:
            content = content[: rng.integers(len(content) + 1)]
        else:
            tokens = TOKENS.findall(content) or [b""]
            tokens[rng.integers(len(tokens))] = str(rng.choice(NUMBERS + MARKS)).encode()
            content = b"".join(tokens)
    return content


def damaged_array(array, rng):
    """Another type, another shape, or one number that is another."""
    how = rng.integers(8)
    if how == 0:
        kinds = ["int8", "int32", "int64", "uint8", "uint64", "float32", "float64", "bool", "complex128", "U3", "M8[s]"]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return array.astype(str(rng.choice(kinds)))
            except (TypeError, ValueError):
                return np.zeros(array.shape)
    if how == 1:
        return array[..., None]
    if how == 2:
        return np.stack([array, array])
    if how == 3:
        return array.ravel()[:-1]
    if how == 4:
        return np.asfortranarray(np.atleast_1d(array).T)
    changed = np.array(array)
    if not changed.size:
        return np.zeros(1, changed.dtype)
    place = rng.integers(changed.size)
    if changed.dtype.kind == "f":
        large = float(np.finfo(changed.dtype).max)
        changed.flat[place] = rng.choice([np.nan, np.inf, -np.inf, -1.0, 0.0, 1.5, large, -large, 1e-40, 2.0**53])
    elif changed.dtype.kind == "i":
        info = np.iinfo(changed.dtype)
        changed.flat[place] = rng.choice([info.min, info.max, -1, 0, 1, 2, 3, 17, 64])
    elif changed.dtype.kind in "Uu":  # text
        if changed.dtype.kind == "U":
            return np.array(damaged_text(str(array).encode(), rng).decode(errors="replace"))
        return np.frombuffer(damaged_text(changed.tobytes(), rng), dtype=np.uint8)
    else:
        changed.view(np.uint8).flat[rng.integers(changed.nbytes)] = rng.integers(256)
    return changed


def damaged_npz(content, rng):
    """Arrays are changed, missing, unknown or exchanged; members lie about themselves; bytes of the archive change."""
    how = rng.integers(10)
    if how == 0:
        return content[: rng.integers(len(content))]
    if how == 1:
        flipped = bytearray(content)
        for place in rng.integers(len(flipped), size=rng.integers(1, 5)):
            flipped[place] = rng.integers(256)
        return bytes(flipped)
    if how == 2:
        return _with_damaged_member(content, rng)
    with np.load(io.BytesIO(content)) as file:
        arrays = dict(file)
    name, other = rng.choice(sorted(arrays), size=2)
    if how == 3:
        del arrays[name]
    elif how == 4:
        arrays[str(rng.choice(["more", "learned.more", f"{name}.0", "../q", ""]))] = arrays[other]
    elif how == 5:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        arrays[name] = damaged_array(arrays[name], rng)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
    return file.getvalue()


def _with_damaged_member(content, rng):
    """One member has other bytes, but the archive is right about them."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as whole, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        chosen = rng.integers(len(whole.namelist()))
        for number, name in enumerate(whole.namelist()):
            held = whole.read(name)
            if number == chosen:
                end = held.index(b"\n") + 1
                held = damaged_text(held[:end], rng) + held[end:] if rng.integers(2) else damaged_text(held, rng)
            archive.writestr(name, held)
    return file.getvalue()


# ------------------------------------------------------------------------------------------------------------ readers


def use_mdp(mdp):
    assert abs(mdp.start.sum() - 1.0) < 1e-9
    rl.solve(mdp, method="value_iteration", max_iterations=20)


def use_pomdp(pomdp):
    use_mdp(pomdp.mdp)
    assert pomdp.observation.shape == (pomdp.n_actions, pomdp.n_states, pomdp.n_observations)
    for observation in range(pomdp.n_observations):
        with suppress(ParameterError):  # it cannot be made there
            assert abs(pomdp.update_belief(pomdp.start, 0, observation).sum() - 1.0) < 1e-9


def use_grid(problem):
    use_mdp(problem.model)


def use_hmm(hmm):
    observations, states = hmm.sample(5, seed=0)
    assert len(states) == 5
    assert hmm.smooth(observations).shape == (5, len(hmm.start))


def use_agent(agent):
    assert agent.act(agent.first_observation_ + 3) - agent.first_action_ in range(4)


def use_features(agent):
    point = np.full((1, agent.features_.n_features_in_), 0.25)
    assert agent.features_.transform(point).shape == (1, agent.features_.n_features_out_)


def use_network(agent):
    agent.act(np.full(agent.learner_.inputs.shape, 0.25) if not agent.learner_.inputs.n_ids else 3)


def use_experiment(experiment):
    """Everything but learning."""
    experiment.cells()


def use_results(results):
    for record in (record for group in results.values() for one in group for record in one.records):
        assert (record.episode_length >= 0).all()
        assert len(record.time) == len(record.cumulative_reward)


def ready(agent):
    """An agent that has met an environment and learned nothing; no rule is compiled for it."""
    table = isinstance(agent, rl.TabularAgent) and isinstance(agent.values_, Table)
    agent.bind_environment(find_env("FrozenLake-v1" if table else "MountainCar-v0"))
    n = (16, 4) if table else (2, 3)
    agent._memory = agent.init_memory(np.ones(n, dtype=np.bool_), every_action)
    agent.seed_, agent.first_action_, agent.generator_ = 0, 0, np.random.default_rng(0)
    return agent


def written(thing, name, folder):
    path = folder / name
    (thing.save if hasattr(thing, "save") else thing.write)(path)
    return path.read_bytes()


POINTS = np.random.default_rng(0).uniform((-1.2, -0.07), (0.6, 0.07), (30, 2))
MAPS = {
    "tiles": TileCoding(n_tilings=2, bins=3),
    "bumps": RadialBasis(3),
    "waves": FourierBasis(2),
    "groups": StateAggregation(4),
    "powers": Polynomial(2).fit(POINTS),
    "components": PrincipalComponents(1).fit(POINTS),
    "kernels": Nystroem(n_components=4, seed=0).fit(POINTS),
    "random waves": RandomFourier(4, seed=0).fit(POINTS),
    "clusters": Clusters(3, seed=0).fit(POINTS),
    "mixture": MixtureResponsibilities(2, seed=0).fit(POINTS),
    "chain": Chain([Standardization(), Polynomial(2)]).fit(POINTS),
}
EMISSIONS = {
    "symbols": emissions.Categorical(np.array([[0.7, 0.3], [0.1, 0.9]])),
    "normal": emissions.Gaussian(np.array([0.0, 1.0]), np.array([1.0, 2.0])),
    "counts": emissions.Poisson(np.array([1.0, 3.0])),
}
AGENTS = ("QLearning", "DynaQ", "PrioritizedSweeping", "UCRL2", "RMax", "SarsaLambda", "DoubleQLearning")

MAP = b"""+++
title = "mine"
slip = 0.5
step_cost = 2
gamma = 0.7
legend = { m = "free" }
rewards = { m = -3.0, G = 9 }
+++
SmG
.#.
X..
"""
MDP = b"""discount: 0.9
values: reward
states: left right
actions: stay go
start: left
T: stay identity
T: go : left : right 1
T: go : right uniform
R: * : right : * 5
"""
EXPERIMENT = b"""steps = 40
seeds = 2
record_every = 20
loop = "stepwise"
figures = ["cumulative_reward"]
[[environments]]
id = "FrozenLake-v1"
label = "dry lake"
parameters = { is_slippery = false }
[[agents]]
name = "QLearning"
gamma = 0.9
exploration = { name = "EpsilonGreedy", epsilon = { name = "Inverse", start = 1.0, scale = 10.0 } }
[[agents]]
name = "q-learning"
label = "fast"
learning_rate = 0.5
"""


def check(seeds, n_cases, name, read, use, damaged, tmp_path, seed=0):
    """Read `n_cases` damaged files, and use what is read."""
    rng = np.random.default_rng(seed)
    path = tmp_path / name
    n_read = 0
    for case in range(n_cases):
        content = damaged(seeds[case % len(seeds)], rng)
        path.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RlsuiteWarning)
                use(read(path))
            n_read += 1
        except RlsuiteError:
            pass
        except BaseException as error:
            shown = content if len(content) < 4000 else f"{len(content)} bytes"
            error.add_note(f"case {case} of {path.name}, drawn with seed {seed}: {shown}")
            raise
    return n_read


@pytest.mark.cases("QLearning", "DynaQ")
@pytest.mark.parametrize("name", AGENTS)
def test_files_of_agents(name, tmp_path):
    whole = written(ready(agent_classes()[name]()), "agent.npz", tmp_path)
    assert 0 < check([whole], 120, "agent.npz", rl.load, use_agent, damaged_npz, tmp_path) < 80


@pytest.mark.cases("powers")
@pytest.mark.parametrize("name", MAPS)
def test_files_of_feature_maps(name, tmp_path):
    whole = written(ready(SemiGradientSarsa(features=MAPS[name])), "agent.npz", tmp_path)
    assert check([whole], 120, "agent.npz", rl.load, use_features, damaged_npz, tmp_path) < 90


@pytest.mark.slow
def test_files_of_models(tmp_path):
    model = rl.MDP.from_env("FrozenLake-v1", gamma=0.9)
    assert check([written(model, "m.npz", tmp_path)], 250, "m.npz", rl.MDP.read, use_mdp, damaged_npz, tmp_path) > 0
    hidden = rl.POMDP.read(PROBLEMS / "cups.pomdp")
    assert (
        check([written(hidden, "p.npz", tmp_path)], 250, "p.npz", rl.POMDP.read, use_pomdp, damaged_npz, tmp_path) > 0
    )


@pytest.mark.parametrize("name", EMISSIONS)
def test_files_of_hidden_markov_models(name, tmp_path):
    model = rl.HMM(np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.2, 0.8]]), EMISSIONS[name])
    assert check([written(model, "h.npz", tmp_path)], 150, "h.npz", rl.HMM.read, use_hmm, damaged_npz, tmp_path) > 0


def test_text_of_models(tmp_path):
    texts = [(PROBLEMS / name).read_bytes() for name in ("cups.pomdp", "two-doors.pomdp", "machine.pomdp")]
    assert check(texts, 500, "p.pomdp", rl.POMDP.read, use_pomdp, damaged_text, tmp_path) > 0
    assert check([MDP], 400, "m.mdp", rl.MDP.read, use_mdp, damaged_text, tmp_path) > 0


@pytest.mark.slow
def test_markov_chains(tmp_path):
    chain = rl.MarkovChain([[0.5, 0.5, 0], [0, 0, 1], [1, 0, 0]], [1, 0, 2], labels={"init": [0], "goal": [2]})
    for name, damaged in ((".npz", damaged_npz), (".drn", damaged_text)):
        chain.write(tmp_path / f"c{name}")
        whole = (tmp_path / f"c{name}").read_bytes()
        assert 0 < check([whole], 150, f"c{name}", rl.MarkovChain.read, use_chain, damaged, tmp_path) < 150, name


@pytest.mark.slow
def test_explicit_files_of_storm(tmp_path):
    rl.MDP.from_env("FrozenLake-v1", gamma=0.9).write(tmp_path / "m.drn")
    whole = (tmp_path / "m.drn").read_bytes()
    read = partial(rl.MDP.read, gamma=0.9)
    assert 0 < check([whole], 600, "m.drn", read, use_mdp, damaged_text, tmp_path) < 500


def use_chain(chain):
    assert chain.absorption_probabilities().shape[0] == chain.n_states == len(chain.reward)


@pytest.mark.slow
def test_programs_for_storm(tmp_path):
    pytest.importorskip("stormpy")
    texts = [path.read_bytes() for path in (PROBLEMS / "prism").glob("*.prism") if b"\nmdp" in path.read_bytes()]
    values = {"GOAL": 8, "win": 0.4, "K": 2, "MOST": 1, "SIZE": 3}

    def read(path):
        names = re.findall(r"const \w+ (\w+);", path.read_text(errors="replace"))
        given = {name: values[name] for name in names if name in values}
        return rl.MDP.read(path, constants=given, reward=[], gamma=0.9, max_states=2000)

    assert 0 < check(texts, 30, "m.prism", read, use_mdp, damaged_text, tmp_path) < 30


def test_maps(tmp_path):
    assert check([MAP], 600, "map.txt", gridworld.grid_world, use_grid, damaged_text, tmp_path) > 0


def test_experiments(tmp_path):
    assert check([EXPERIMENT], 500, "e.toml", Experiment.read, use_experiment, damaged_text, tmp_path) > 0


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "e.toml").write_bytes(EXPERIMENT)
    Experiment.read(tmp_path / "e.toml").run(tmp_path / "results")
    return tmp_path / "results"


def sealed(file):
    """Make the checksums of a segment those of its content, as a forger would."""
    first, _, rest = file.read_bytes().partition(b"\n")
    index, _, data = rest.partition(b"\n")
    index += b"\n"
    first = f"{FORMAT} {hashlib.sha256(index).hexdigest()} {len(index)} {len(data)}\n"
    with suppress(ValueError, KeyError, TypeError, IndexError, RecursionError):
        content = json.loads(index)
        for cell in content["cells"]:
            cell[6] = zlib.crc32(data[cell[4] : cell[4] + cell[5]])
        for array in content["arrays"]:
            array[2] = zlib.crc32(data[array[0] : array[0] + array[1]])
        index = json.dumps(content, separators=(",", ":")).encode() + b"\n"
        first = f"{FORMAT} {hashlib.sha256(index).hexdigest()} {len(index)} {len(data)}\n"
    file.write_bytes(first.encode() + index + data)


@pytest.mark.parametrize("name", ["run.json", "00000.cells"])
@pytest.mark.parametrize("forged", [False, True], ids=["damaged", "forged"])
def test_results(name, forged, folder):
    path = next(folder.rglob(name))

    def read(path):
        if forged and path.name != "run.json":
            sealed(path)
        return load_results(folder)

    check([path.read_bytes()], 150, str(path.relative_to(folder)), read, use_results, damaged_text, folder)


@pytest.mark.slow
def test_networks(tmp_path):
    pytest.importorskip("torch")
    from rlsuite.approximation import DQN

    agent = DQN(hidden=(4,)).learn("MountainCar-v0", steps=3, seed=0)
    whole = written(agent, "n.npz", tmp_path)
    assert check([whole], 150, "n.npz", DQN.load, use_network, damaged_npz, tmp_path) > 0


# --------------------------------------------------------------------------------------------------- what was found


@pytest.mark.parametrize(
    "header",
    [
        b"{'descr'{ '<f8', 'fortran_order': False, 'shape': (16, 4), }",  # tokenize.TokenError
        b"{{desc': '<f8', 'fortran_order': False, 'shape': (16, 4), }",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (16L, 4), }",  # of Python 2; NumPy warns of them
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (16, 4L), }",
    ],
)
def test_headers_of_arrays(header, tmp_path):
    path = tmp_path / "agent.npz"
    whole = written(ready(rl.QLearning()), "agent.npz", tmp_path)
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            held = old.read(name)
            if name == "q.npy":
                end = held.index(b"\n") + 1
                held = held[:10] + header.ljust(end - 11) + b"\n" + held[end:]
            new.writestr(name, held)
    with pytest.raises(FileError, match="damaged"):
        rl.load(path)


CHECKED = """
import sys
from pathlib import Path
import numpy as np
import rlsuite as rl
sys.path.insert(0, sys.argv[2])
from test_reader_fuzz import damaged_npz
path = Path(sys.argv[1])
rl.PrioritizedSweeping(n=3).learn("FrozenLake-v1", steps=203, seed=1).save(path)
whole = path.read_bytes()
rng = np.random.default_rng(0)
read = 0
for _ in range(200):
    path.write_bytes(damaged_npz(whole, rng))
    try:
        rl.load(path).learn("FrozenLake-v1", steps=50, seed=rng.choice([2, None]))  # a new run, or the same
        read += 1
    except rl.errors.RlsuiteError:
        pass
print(read)
"""


@pytest.mark.slow
def test_learning_goes_on_inside_the_arrays(tmp_path):
    """Every agent that is read learns, while numba checks each index."""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", CHECKED, str(tmp_path / "agent.npz"), str(Path(__file__).parent)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert 5 < int(done.stdout) < 150


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPS)
def test_each_array_of_a_feature_map(name, tmp_path):
    """Refused, or not taken from the file: a map of a box computes it again from its bounds."""
    path = tmp_path / "agent.npz"
    agent = ready(SemiGradientSarsa(features=MAPS[name]))
    agent.save(path)
    with np.load(path) as file:
        content = dict(file)
    for array in [key for key in content if key.startswith("features.")]:
        kept = content[array]
        changes = [kept[..., None], kept.astype(np.float32), np.full_like(kept, -(2**31))]
        changes += [np.full_like(kept, np.nan)] if kept.dtype.kind == "f" else [np.full_like(kept, 2**62)]
        for changed in changes:
            np.savez(path, **content | {array: changed})
            try:
                found = rl.load(path).features_.fitted_
            except FileError:
                continue
            assert changed.dtype == kept.dtype, (array, changed)
            assert np.isfinite(found[array.removeprefix("features.")]).all()
