"""The infos of a vector environment, in the form that ``gymnasium.vector.SyncVectorEnv`` gives them."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Report: TypeAlias = dict[str, tuple[NDArray[Any], NDArray[np.bool_]]]
"""Infos of the copies: per key the values (N, ...) and the copies (N,) that have one."""


def publish(infos: dict[str, Any], report: Report, copies: NDArray[np.bool_]) -> None:
    """Add the infos of some copies.

    Parameters
    ----------
    infos : dict
        Changed in place: ``infos[key]`` (N, ...) holds the values, zeros where nothing is reported, and
        ``infos["_" + key]`` (N,) bool says which copies reported one. A key that no copy reports is left out.
    report : Report
        The values; the arrays may be kept.
    copies : ndarray (N,) bool
        The copies whose infos may be added.

    Examples
    --------
    >>> infos = {}
    >>> publish(infos, {"prob": (np.array([0.5, 1.0]), np.array([True, True]))}, np.array([False, True]))
    >>> infos
    {'prob': array([0., 1.]), '_prob': array([False,  True])}
    """
    for key, (values, reported) in report.items():
        reporting = copies & reported
        if reporting.all():
            infos[key] = values
            infos[f"_{key}"] = reporting
        elif reporting.any():
            infos.setdefault(key, np.zeros_like(values))[reporting] = values[reporting]
            infos.setdefault(f"_{key}", np.zeros_like(reporting))[reporting] = True
