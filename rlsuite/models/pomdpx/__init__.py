"""The XML format of APPL, the toolkit of SARSOP: ``.pomdpx``, with several variables of states and observations.

`document` reads elements, `variables` what is declared, `functions` tables and decision diagrams; `reading` leads from
them to the model whose states are all combinations of values, and `writing` back, with one variable each.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.models.pomdpx.reading import read_observed_pomdpx as read_observed_pomdpx
from rlsuite.models.pomdpx.reading import read_pomdpx as read_pomdpx
from rlsuite.models.pomdpx.writing import write_pomdpx as write_pomdpx

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
