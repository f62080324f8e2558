"""rlsuite and its peers behind one signature: rows in, a function that solves them out.

``prepare(rows, gamma, tol)`` builds what the solver wants to be given, which is not timed, and returns a function that
is called once and timed. Repeats prepare anew: mdpsolver starts from its last answer when a model is solved twice, and
whatever rlsuite might keep with a model must not help it. Every peer is called as its documentation says.
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from planning_models import ACTIONS, Rows


class Answer(NamedTuple):
    """What a solver returns."""

    value: NDArray[np.float64]  # (S,)
    claimed: float | None = None  # the error that it certifies, if it certifies one
    iterations: int | None = None
    method: str = ""


Prepare = Callable[[Rows, float, float], Callable[[], Answer]]


def rlsuite(rows: Rows, gamma: float, tol: float) -> Callable[[], Answer]:
    """Whatever `rlsuite.solve` does if it is not told how."""
    import rlsuite as rl

    mdp = model(rows, gamma)

    def solve() -> Answer:
        solution = rl.solve(mdp, tol=tol)
        return Answer(solution.value, solution.error_bound, solution.iterations, solution.method)

    return solve


def model(rows: Rows, gamma: float) -> Any:
    """Return the rows as an `rlsuite.MDP`, which takes read-only arrays as they are."""
    import rlsuite as rl

    terminated = np.zeros(rows.next_state.size, dtype=np.bool_)
    terminated.setflags(write=False)
    return rl.MDP.from_rows(
        rows.indptr,
        rows.next_state,
        rows.probability,
        rows.reward,
        n_actions=ACTIONS,
        gamma=gamma,
        terminated=terminated,
        start=0,
    )


def quantecon(rows: Rows, gamma: float, tol: float, *, method: str, k: int = 20) -> Callable[[], Answer]:
    """`quantecon.markov.DiscreteDP` in its form for sparse problems; it compiles its loops with numba, on one core."""
    from quantecon.markov import DiscreteDP
    from scipy.sparse import csr_matrix

    pairs = rows.reward.size
    pointers = rows.indptr.astype(np.int32 if rows.next_state.size < 2**31 else np.int64)
    transitions = csr_matrix((rows.probability, rows.next_state, pointers), shape=(pairs, rows.n_states))
    states, actions = np.divmod(np.arange(pairs), ACTIONS)
    problem = DiscreteDP(rows.reward, transitions, gamma, states, actions)

    def solve() -> Answer:
        result = problem.solve(method=method, epsilon=tol, max_iter=10_000_000, k=k)
        return Answer(result.v, None, int(result.num_iter))

    return solve


def mdpsolver(rows: Rows, gamma: float, tol: float, *, patient: bool = False, **how: Any) -> Callable[[], Answer]:
    """`mdpsolver`, whose loops are in C++ with OpenMP; it takes nested lists.

    Threads of OpenMP that wait keep their core busy, which costs a lot if another process needs it; ``patient`` ones
    give it away. Left out: value iteration with Gauss-Seidel updates, which does not come to an end on Garnet problems.
    """
    if patient:
        os.environ["OMP_WAIT_POLICY"] = "passive"  # read when the package is loaded
    import mdpsolver as package

    def nested(values: NDArray[Any]) -> list[list[list[Any]]]:
        flat, ends = values.tolist(), rows.indptr.tolist()
        each = [flat[first:last] for first, last in pairwise(ends)]
        return [each[pair : pair + ACTIONS] for pair in range(0, len(each), ACTIONS)]

    problem = package.model()
    problem.mdp(
        discount=gamma,
        rewards=rows.reward.reshape(-1, ACTIONS).tolist(),
        tranMatProbs=nested(rows.probability),
        tranMatColumns=nested(rows.next_state),
    )

    def solve() -> Answer:
        problem.solve(tolerance=tol, **how)
        return Answer(np.asarray(problem.getValueVector()))

    return solve


def pymdptoolbox(rows: Rows, gamma: float, tol: float, *, method: str) -> Callable[[], Answer]:
    """`pymdptoolbox` on one sparse matrix per action.

    `ValueIteration` replaces any limit on its iterations by a guess of its own. The limit of `PolicyIterationModified`
    is on the sweeps that evaluate one policy, and stays as it is.
    """
    from mdptoolbox import mdp
    from scipy.sparse import csr_matrix

    shape = (rows.reward.size, rows.n_states)
    every = csr_matrix((rows.probability, rows.next_state, rows.indptr), shape=shape)
    problem = getattr(mdp, method)(
        [every[action::ACTIONS] for action in range(ACTIONS)],
        rows.reward.reshape(-1, ACTIONS),
        gamma,
        epsilon=tol,
        **({"max_iter": 1_000_000} if method == "ValueIteration" else {}),
    )

    def solve() -> Answer:
        problem.run()
        return Answer(np.asarray(problem.V), None, problem.iter)

    return solve


OURS = "rlsuite"
SOLVERS: dict[str, Prepare] = {
    OURS: rlsuite,
    "quantecon mpi": partial(quantecon, method="mpi"),
    "quantecon mpi k=5": partial(quantecon, method="mpi", k=5),  # sweeps that evaluate one policy; 20 unless told
    "quantecon mpi k=50": partial(quantecon, method="mpi", k=50),
    "quantecon vi": partial(quantecon, method="vi"),
    "quantecon pi": partial(quantecon, method="pi"),
    "mdpsolver mpi": partial(mdpsolver, algorithm="mpi", parallel=True),
    "mdpsolver mpi patient": partial(mdpsolver, algorithm="mpi", parallel=True, patient=True),
    "mdpsolver mpi gs": partial(mdpsolver, algorithm="mpi", update="gs"),
    "mdpsolver vi": partial(mdpsolver, algorithm="vi", parallel=True),
    "mdpsolver vi patient": partial(mdpsolver, algorithm="vi", parallel=True, patient=True),
    "mdpsolver vi 1 thread": partial(mdpsolver, algorithm="vi", parallel=False),
    "pymdptoolbox vi": partial(pymdptoolbox, method="ValueIteration"),
    "pymdptoolbox mpi": partial(pymdptoolbox, method="PolicyIterationModified"),
}
PEERS = ("quantecon", "mdpsolver", "pymdptoolbox")
QUICK = (OURS, "quantecon mpi", "mdpsolver vi patient", "pymdptoolbox vi")
