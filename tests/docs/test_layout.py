"""Which file of tests is about which module, by name: `tests/a/b/test_c.py` about `rlsuite/a/b/c.py`."""

import re
from pathlib import Path

import pytest

FAMILIES = {
    "agents/bandits/test_linear": "agents/bandits: lin_ucb linear_thompson",
    "agents/control/test_actor_critic": "agents/control: softmax_agent",
    "agents/control/test_n_step": "agents/control: n_step_buffer",
    "agents/control/test_tree_backup": "agents/control: target_policies",
    "agents/prediction/test_learning": "agents/prediction: policies",
    "agents/prediction/test_predictors": "agents: predictor state_value_agent episode_buffer",
    "agents/test_own_agent": "agents: action_value_agent memory tabular",
    "agents/test_storage": "registry",
    "agents/test_traces": "agents/control: eligibility",
    "approximation/batch/test_batch_learner": "agents: learner; approximation: experience",
    "agents/test_fit_features": "features: learned",
    "agents/test_value_agent": "agents/values: feature_values features linear representation table",
    "agents/values/test_network": "agents/values: layers",
    "approximation/batch/test_batch": "approximation/batch: sources",
    "approximation/batch/test_fitted_iteration": "approximation/batch: regressors",
    "approximation/batch/test_lstd": "approximation/batch: lspi observed_features",
    "approximation/deep/test_dqn": "approximation/deep: network_agent run",
    "approximation/linear/test_formulas": "approximation/linear: gradient_td",
    "cli/test_face": "cli: load output",
    "cli/test_filtering": "cli: filter_table",
    "core/test_compilation": "core: machine_code refusals",
    "environments/test_tabulated_model": "environments: found_model",
    "environments/test_vector_observation": "environments: wrappers",
    "experiments/test_experiment": "experiments: runs writing",
    "features/test_check_estimator": "features: aggregation chain estimators identity kernel scaling",
    "features/test_feature_map": "features: bounded checks",
    "inference/controlled_hmm/test_learn_pomdp": "inference/controlled_hmm: episode_em episode_passes",
    "inference/emissions/test_emissions": (
        "inference/emissions: base before_learning categorical gaussian mixture poisson product"
    ),
    "inference/test_hsmm": "inference: durations segment_passes segments; reference: hsmm",
    "inference/test_estimators": "inference: hmm_estimator",
    "inference/test_baum_welch": "inference: expectation_maximisation",
    "inference/test_from_complete_data": "inference: model_selection",
    "inference/test_hmm": "inference: sequences",
    "inference/test_hmm_enumeration": "inference: forward_backward smoothing viterbi",
    "inference/test_simd": "inference: simd_instructions",
    "models/test_cassandra": "models/cassandra: entries grammar names reading text writing",
    "models/test_door": "models: mdp_fields pomdp_fields policies row_checks validation",
    "models/test_from_env": "models: environments gymnasium_table",
    "models/test_layouts": "models: arrays constructors transformations",
    "models/test_pomdp": "models: aliases belief_kernels beliefs pomdp_constructors",
    "planning/mdp/test_stochastic_shortest_path": (
        "planning/total_reward: end_components endings improvement value_bounds"
    ),
    "planning/pomdp/exact/test_exact": (
        "planning/pomdp/exact: enumeration incremental_pruning infinite_horizon value_iteration_stages witness"
    ),
    "planning/pomdp/exact/test_pruning": "planning/pomdp/exact: pruning_kernels simplex_kernels",
    "planning/pomdp/online/test_aems2": "planning/pomdp/online: bound_tree",
    "planning/pomdp/point_based/test_point_based": (
        "planning/pomdp/point_based: pbvi perseus sarsop search search_kernel search_memory; "
        "planning/pomdp/bounds: blind fast_informed_bound initial_bounds linear_bounds point_tables qmdp"
    ),
    "planning/pomdp/test_brackets": "planning/pomdp: solution",
    "planning/questions/test_constrained": "planning/questions: pareto",
    "planning/questions/test_reach": "planning/questions: answers goals long_run_average until",
    "planning/test_average_reward": "planning/mdp: average_reward_policy_iteration",
    "planning/test_kernels": "planning: policy_rows",
    "planning/test_oracles": (
        "planning/mdp: gauss_seidel linear_programming modified_policy_iteration value_iteration"
    ),
    "planning/test_policy_value": "planning: policy_chain",
    "plotting/test_alpha_vectors": "plotting: belief_values",
    "plotting/test_belief_trace": "plotting: time_rows",
    "plotting/test_curves": "plotting: figure_list intervals",
    "plotting/test_pyplot": "plotting: colour_scale",
    "plotting/test_cards": "core: shown",
    "plotting/test_value_surface": "plotting: plane",
    "plotting/test_values": "plotting: squares",
    "rendering/test_grid": "rendering: canvas painting",
    "training/test_engines": "training: kernels run run_log step_buffer",
    "training/test_train": "training: budget evaluation results",
    "training/test_stepping": "environments/forms: form stepwise",
    "training/test_trust": "environments: facts part_pickles; environments/forms: table tabulated",
    "training/test_verification": "environments: followers; environments/forms: known_kinds",
}
"""Files that test a family of modules on purpose, as kernels by way of what runs them: the modules of each."""


@pytest.fixture(scope="module")
def modules(root: Path) -> set[str]:
    """All modules of rlsuite that have functions or classes of their own."""
    found = set[str]()
    for path in (root / "rlsuite").rglob("*.py"):
        if not path.stem.startswith("__") and re.search(r"^(def|class) ", path.read_text(encoding="utf-8"), re.M):
            found.add(path.relative_to(root / "rlsuite").with_suffix("").as_posix())
    return found


@pytest.fixture(scope="module")
def named(root: Path, modules: set[str]) -> set[str]:
    """The modules with a file of tests that has their name."""
    return {
        module
        for module in modules
        if (root / "tests" / module).with_name(f"test_{module.rpartition('/')[2]}.py").is_file()
    }


@pytest.fixture(scope="module")
def in_families() -> list[str]:
    """The modules of all families."""
    found = list[str]()
    for members in FAMILIES.values():
        for part in members.split("; "):
            folder, _, names = part.rpartition(": ")
            found += [f"{folder}/{name}".lstrip("/") for name in names.split()]
    return found


def test_every_module_has_a_file_of_tests(modules: set[str], named: set[str], in_families: list[str]) -> None:
    assert sorted(modules - named - set(in_families)) == []


def test_families_have_no_members_but_those_without_a_file_of_their_own(
    modules: set[str], named: set[str], in_families: list[str], root: Path
) -> None:
    assert len(in_families) == len(set(in_families)), "a module is in one family"
    assert sorted(set(in_families) - (modules - named)) == []
    assert [file for file in FAMILIES if not (root / "tests" / f"{file}.py").is_file()] == []
