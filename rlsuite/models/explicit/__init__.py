"""The explicit files of the model checkers PRISM and Storm: ``.tra``, ``.lab`` and reward files, ``.drn``.

`reading` leads from the columns and labels of the files to the model, and `writing` back; `chains` does both for Markov
chains, which have no choices; `drn` writes what Storm reads.
"""

from typing import TYPE_CHECKING

from rlsuite.core.public_names import loaded_on_first_use as _loaded_on_first_use
from rlsuite.models.explicit.chains import read_chain as read_chain
from rlsuite.models.explicit.chains import write_chain as write_chain
from rlsuite.models.explicit.drn import write_chain_drn as write_chain_drn
from rlsuite.models.explicit.drn import write_mdp_drn as write_mdp_drn
from rlsuite.models.explicit.reading import read_explicit as read_explicit
from rlsuite.models.explicit.writing import Dialect as Dialect
from rlsuite.models.explicit.writing import write_explicit as write_explicit

if not TYPE_CHECKING:
    __getattr__, __dir__, __all__ = _loaded_on_first_use(__name__)
