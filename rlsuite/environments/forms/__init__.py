"""How an environment can be run: asked here, in the order of `FORMS`, and nowhere else."""

import warnings

from rlsuite import errors
from rlsuite.environments.facts import EnvironmentFacts
from rlsuite.environments.finding import namesake
from rlsuite.environments.forms.dynamics import Dynamics
from rlsuite.environments.forms.form import Form, Refusal, Wish
from rlsuite.environments.forms.stepwise import Stepwise
from rlsuite.environments.forms.table import DeclaredTable, KnownTable
from rlsuite.environments.forms.tabulated import Tabulated

FORMS = (KnownTable, Tabulated, DeclaredTable, Dynamics, Stepwise)
"""In the order in which they are tried; what was asked for goes before what an unknown class declares."""


def form_of(facts: EnvironmentFacts, wish: Wish) -> Form:
    """Find how an environment can be run.

    Parameters
    ----------
    facts : EnvironmentFacts
        Of an environment that has been reset; it is left untouched.
    wish : Wish
        With ``loop="compiled"`` it is an error if there is no compiled form that can be used; with "auto" there is a
        warning if there is one that cannot be used.

    Raises
    ------
    UnsuitableEnvironment
        With ``loop="compiled"``, if there is no compiled form that can be used.
    """
    refused: dict[type, Refusal] = {}
    form = Form(facts, "")
    for kind in FORMS:
        offer = kind.offer(facts, wish)
        if isinstance(offer, Form):
            form = offer
            break
        refused[kind] = offer
    asking = refused.get(Tabulated, Refusal())
    if form.mdp is not None and asking.n_states > form.mdp.n_states:
        raise errors.UntrustedTable(
            f"{facts.name} has a table with {form.mdp.n_states:,} states, but {asking.reason}"
        ) from asking.reason
    if form.adapter is not None or wish.loop == "stepwise":
        return form
    found = [refused[kind].reason for kind in (DeclaredTable, Dynamics) if kind in refused]
    complaint = form.complaint or next(filter(None, found), None)
    if complaint is not None and form.complaint is None:
        form.reason = str(complaint)
    if wish.loop == "compiled":
        raise _no_compiled_form(facts, wish, complaint, asking) from complaint
    if complaint is not None:
        message = f"{complaint}. Learning stepwise."
        warnings.warn(message, errors.StepwiseWarning, stacklevel=errors.level_of_the_caller())
    return form


def _no_compiled_form(
    facts: EnvironmentFacts, wish: Wish, complaint: errors.UnsuitableEnvironment | None, asking: Refusal
) -> errors.UnsuitableEnvironment:
    """Describe why an environment has no compiled form, although the user wants it."""
    if complaint is not None:
        if asking.reason is None:
            return complaint
        return type(complaint)(f"{complaint}; and it cannot be tabulated: {asking.reason}")
    what = "transition table (env.unwrapped.P or .model)"
    if wish.encode is not None:
        what += " and no compiled dynamics (env.unwrapped.dynamics)"
    hint = f", and cannot be tabulated: {asking.reason}{namesake(facts.name, anywhere=True)}" if asking.reason else ""
    return errors.UnsuitableEnvironment(
        f"{facts.name} has no {what}, which loop='compiled' and tabulate=True need{hint}; use loop='stepwise'"
    )
