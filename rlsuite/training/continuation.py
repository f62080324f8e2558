"""How a run becomes one that a file keeps, and how it continues in another process (`rlsuite.training.kept_run`)."""

import numpy as np

from rlsuite import errors
from rlsuite.environments.observation_view import NONE, ObservationView
from rlsuite.models import MDP
from rlsuite.models.aliases import BoolArray
from rlsuite.training.kept_run import KeptRun, check_position, difference, identity_of, set_generator
from rlsuite.training.kernels import ELAPSED, OBSERVATION
from rlsuite.training.run import Run


def kept(run: Run) -> KeptRun:
    """Return a run as it is kept in a file; or why it cannot be."""
    learner = run.learner
    position = tuple(learner.run_state.position.tolist())
    try:
        keeper = run.form.keeper()
        state = None
        if position[OBSERVATION] != NONE or keeper.kind == "hooks":
            state = keeper.keep()
        rng = keeper.generator()
        saved = KeptRun(
            lost="",
            identity=identity_of(run.facts, run.form),
            position=position,
            totals=tuple(learner.run_state.totals.tolist()),
            agent_generator=dict(learner.rng.bit_generator.state),
            env_generator=None if rng is None else dict(rng.bit_generator.state),
            kind=keeper.kind,
            state=state,
            regret=bool(run.optima is not None),
            vectors=learner.view.vectors if isinstance(learner.view, ObservationView) else np.zeros((0, 0)),
        )
        saved.packed()
    except (errors.UnsuitableEnvironment, TypeError, NotImplementedError) as error:
        return KeptRun(f"the state of its environment cannot be kept. {error}")
    return saved


def go_on(run: Run, kept: KeptRun, legal: BoolArray) -> str:
    """Continue a run that was kept; or return why that cannot be done, as a sentence.

    Parameters
    ----------
    run : Run
        One that has just begun.
    kept : KeptRun
        The run.
    legal : ndarray of bool
        The legal actions that were known then.

    Raises
    ------
    FileError
        If the run contradicts itself or its environment: it was not kept by `kept`.
    """
    learner = run.learner
    if other := difference(kept.identity, identity_of(run.facts, run.form)):
        return f"the run that was kept is one in another environment: {other}"
    try:
        keeper = run.form.keeper()
    except errors.UnsuitableEnvironment as error:
        return f"the state of its environment cannot be set. {error}"
    if keeper.kind != kept.kind:
        return f"the state of {run.name} was kept by its {kept.kind}, and can be set by its {keeper.kind} only"
    position, view = kept.position, learner.view
    try:
        check_position(position, learner.legal, kept.vectors)
        vectors = view.vectors if isinstance(view, ObservationView) else np.zeros((0, 0))
        if kept.vectors.shape != vectors.shape:
            raise ValueError(f"its vectors have shape {kept.vectors.shape}, not {vectors.shape}")
        n_ids = 0 if run.encode is None else run.encode.n_ids
        if n_ids and not np.isin(kept.vectors, np.arange(float(n_ids))).all():
            raise ValueError("it observes an id that does not exist")
        if position[OBSERVATION] != NONE or keeper.kind == "hooks":
            keeper.put_back(kept.state)
        if run.mask_info is not None or run.encode is not None:
            learner.legal[...] = legal
        if keeper.kind == "table" and position[OBSERVATION] != NONE:
            _check_legal(run, position[OBSERVATION], int(run.facts.base.s))
        rng = keeper.generator()
        if rng is not None:
            set_generator(rng, kept.env_generator)
    except ValueError as error:
        raise errors.FileError(f"the run that was kept cannot continue in {run.name}: {error}") from error
    set_generator(learner.rng, kept.agent_generator)
    vectors[...] = kept.vectors
    if isinstance(view, ObservationView) and position[OBSERVATION] != NONE:
        view.arrived[...] = vectors[position[OBSERVATION]]
    learner.run_state.position[:], learner.run_state.totals[:] = position, kept.totals
    for layer in run.facts.time_limits:
        layer._elapsed_steps = position[ELAPSED]
    run.use(run.loop)
    return ""


def _check_legal(run: Run, observation: int, state: int) -> None:
    """Raise ValueError if a state is not the one observed, or has not the actions that are legal then."""
    mdp = run.form.mdp
    other = isinstance(run.form.model, MDP) and run.encode is None and observation != state
    if mdp is not None and (other or (run.learner.legal[observation] & ~mdp.legal[state]).any()):
        raise ValueError(f"observation {observation} does not belong to state {state}")
