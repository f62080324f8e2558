"""The agents of `rlsuite.agents` with features, under the names that S&B2 gives them.

============================= ====================== ==============================
name                          the rule of            S&B2
============================= ====================== ==============================
`SemiGradientSarsa`           `Sarsa`                section 10.1
`SemiGradientQLearning`       `QLearning`            section 11.1
`SemiGradientExpectedSarsa`   `ExpectedSarsa`        eq. 11.5
`SemiGradientNStepSarsa`      `NStepSarsa`           section 10.2, box on p. 247
`SemiGradientSarsaLambda`     `SarsaLambda`          section 12.7, box on p. 305
`SemiGradientQLambda`         `WatkinsQLambda`       section 12.10
`TrueOnlineLinearSarsaLambda` `TrueOnlineSarsaLambda` section 12.7, box on p. 307
`SemiGradientTD`              `TD`                   section 9.3, box on p. 203
`SemiGradientTDLambda`        `TDLambda`             section 12.2, box on p. 293
`SemiGradientNStepTD`         `NStepTD`              section 9.4, box on p. 209
`TrueOnlineLinearTDLambda`    `TrueOnlineTDLambda`   section 12.5, box on p. 300
`GradientMonteCarlo`          `EveryVisitMonteCarlo` section 9.3, box on p. 202
============================= ====================== ==============================

`Sarsa` with `features=` is `SemiGradientSarsa`, and so on; an agent here has features even if none are given, and calls
`initial_weight` what is `initial_value` there. With one-hot features it learns what the table learns, to the last bit.

Examples
--------
The mountain car (S&B2 example 10.1), whose first episode takes a thousand steps:

>>> import rlsuite as rl
>>> from rlsuite.approximation import SemiGradientSarsa, TileCoding
>>> tiles, greedy = TileCoding(n_tilings=8, bins=8), rl.EpsilonGreedy(0.0)
>>> agent = SemiGradientSarsa(features=tiles, gamma=1.0, learning_rate=0.5 / 8, exploration=greedy)
>>> agent = agent.learn("MountainCar-v0", steps=30_000, seed=7)
>>> bool(agent.episodes_["length"][-20:].mean() < 200)
True
"""

import dataclasses
import inspect
import re
from typing import TypeVar, dataclass_transform

from rlsuite.agents.agent import Agent
from rlsuite.agents.control.eligibility import SarsaLambda, TrueOnlineSarsaLambda, WatkinsQLambda
from rlsuite.agents.control.expected_sarsa import ExpectedSarsa
from rlsuite.agents.control.n_step import NStepSarsa
from rlsuite.agents.control.q_learning import QLearning
from rlsuite.agents.control.sarsa import Sarsa
from rlsuite.agents.prediction.monte_carlo import EveryVisitMonteCarlo
from rlsuite.agents.prediction.n_step import NStepTD
from rlsuite.agents.prediction.td import TD
from rlsuite.agents.prediction.td_lambda import TDLambda, TrueOnlineTDLambda
from rlsuite.agents.schedules import Schedule
from rlsuite.approximation.linear.linear_agent import LinearAgent, LinearPredictor, OffPolicyPredictor

Named = TypeVar("Named", bound=Agent)

ENTRY = re.compile(r"^(\w+) : .*\n(?: {4}.*\n?)+", re.MULTILINE)
"""A parameter or an attribute in a docstring."""


@dataclass_transform(eq_default=False, kw_only_default=True)
def named(kind: type[Named]) -> type[Named]:
    """Make a dataclass of an agent with features, whose parameters are described as in its bases."""
    made = dataclasses.dataclass(eq=False, kw_only=True)(kind)
    described: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        described |= {entry[1]: entry[0].rstrip() for entry in ENTRY.finditer(inspect.getdoc(base) or "")}
    given = [described[field.name] for field in dataclasses.fields(made) if field.init and field.name in described]
    lines = ["Parameters", "----------", *given, "", "Attributes", "----------", described["weights_"]]
    made.__doc__ = "\n".join([inspect.getdoc(kind) or "", "", *lines, ""])
    return made


@named
class SemiGradientSarsa(LinearAgent, Sarsa):
    """Episodic semi-gradient Sarsa (S&B2 section 10.1) with values that are linear in features."""


@named
class SemiGradientQLearning(LinearAgent, QLearning):
    """Semi-gradient Q-learning (S&B2 section 11.1) with values that are linear in features.

    With features that are not one-hot there is no guarantee that it converges: it learns off-policy, from its own
    estimates, and with shared weights, which is the deadly triad (S&B2 section 11.3). Mostly it works, if the policy
    that is followed stays close to the greedy one.
    """


@named
class SemiGradientExpectedSarsa(LinearAgent, ExpectedSarsa):
    """Semi-gradient Expected Sarsa (S&B2 eq. 11.5, for the policy that is followed) with values linear in features."""


@named
class SemiGradientNStepSarsa(LinearAgent, NStepSarsa):
    """Episodic semi-gradient n-step Sarsa (S&B2 section 10.2, the box on p. 247), with values linear in features.

    With an n that no episode reaches it is `GradientMonteCarloControl`.
    """


@named
class SemiGradientSarsaLambda(LinearAgent, SarsaLambda):
    """Semi-gradient Sarsa with eligibility traces (S&B2 section 12.7, the box on p. 305 and its variants).

    A visit with the features x makes the traces e of its action, which include the step size, e + alpha x, alpha x
    where x is not 0, or e + alpha (1 - e . x) x. Accumulating traces need small step sizes where the same features are
    active for long; the others bear larger ones, and `TrueOnlineLinearSarsaLambda` follows the lambda-return exactly.
    """


@named
class SemiGradientQLambda(LinearAgent, WatkinsQLambda):
    """Semi-gradient Watkins' Q(lambda) (S&B2 section 12.10) with values that are linear in features.

    What is said of the convergence of `SemiGradientQLearning` holds here too.
    """


@named
class TrueOnlineLinearSarsaLambda(LinearAgent, TrueOnlineSarsaLambda):
    """True online Sarsa(lambda) with values that are linear in features (S&B2 section 12.7, the box on p. 307).

    Its weights equal those of the online lambda-return algorithm (S&B2 section 12.4) after every step, for any features
    and any step sizes (van Seijen et al. 2016).
    """


@named
class SemiGradientTD(OffPolicyPredictor, TD):
    """Semi-gradient TD(0) prediction (S&B2 section 9.3, the box on p. 203; off-policy: eq. 11.2).

    On-policy it converges, with vanishing step sizes, to the TD fixed point, whose mean squared error is at most
    1 / (1 - gamma) times the least there is (Tsitsiklis & Van Roy 1997; S&B2 eq. 9.14). Off-policy it may
    diverge (S&B2 section 11.2): use `TDC`.
    """


@named
class SemiGradientTDLambda(OffPolicyPredictor, TDLambda):
    """Semi-gradient TD(lambda) prediction (S&B2 section 12.2, the box on p. 293; off-policy: eq. 12.25).

    On-policy it converges, with vanishing step sizes, to a fixed point whose mean squared error is at most
    (1 - gamma lambda) / (1 - gamma) times the least there is (S&B2 eq. 12.8). Off-policy it may diverge, the less so
    the larger lambda is.
    """


@named
class SemiGradientNStepTD(LinearPredictor, NStepTD):
    """Semi-gradient n-step TD prediction (S&B2 section 9.4, the box on p. 209), with values linear in features.

    With an n that no episode reaches it is `GradientMonteCarlo`.
    """


@named
class TrueOnlineLinearTDLambda(LinearPredictor, TrueOnlineTDLambda):
    """True online TD(lambda) with values linear in features (S&B2 section 12.5, the box on p. 300).

    Its weights equal those of the online lambda-return algorithm (S&B2 section 12.4) after every step (van Seijen et
    al. 2016).
    """


@named
class GradientMonteCarlo(LinearPredictor, EveryVisitMonteCarlo):
    """Gradient Monte Carlo prediction (S&B2 section 9.3, the box on p. 202) with values linear in features.

    It climbs down the mean squared error of the values, weighted by how often each state is visited: with vanishing
    step sizes it converges to the least there is, for any features.
    """

    learning_rate: float | Schedule = 0.1  # there are no visits to count
