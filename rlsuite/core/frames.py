"""Tables of results as pandas DataFrames; pandas is optional, and is imported here only."""

from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any, TypeAlias

from rlsuite.errors import MissingPackage

DataFrame: TypeAlias = Annotated[Any, "pandas.DataFrame"]
"""A table of pandas, which type checkers know only where it is installed."""


def frame_of(columns: Mapping[str, object]) -> DataFrame:
    """Make a DataFrame of columns, each a sequence or an array of one dimension.

    Raises
    ------
    MissingPackage
        If pandas is not installed.
    """
    try:
        pandas: Any = import_module("pandas")
    except ImportError as error:
        raise MissingPackage(
            "to_frame needs pandas, which is not installed: pip install 'rlsuite[pandas]', or write a file with to_csv"
        ) from error
    return pandas.DataFrame(dict(columns))
