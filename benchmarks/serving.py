"""One side of a comparison, in a process of its own: does a piece of work when it is told to, and says what it cost.

`sides.py` starts it and exchanges lines with it. Only the standard library is imported, and only old Python is used,
because it runs under the Python of the library that is compared.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from memory import from_rusage, peak


def serve(
    work: Callable[..., "int | None"],
    prepare: "Callable[[], tuple[Any, ...]] | None" = None,
    facts: "Callable[[], dict[str, Any]] | None" = None,
) -> None:
    """Do the work once, so that all is compiled, and then once for each line "go", until a line "end" comes.

    Parameters
    ----------
    work : function
        Returns how many steps it has done.
    prepare : function, optional
        Makes the arguments of `work`; the time for it is not counted.
    facts : function, optional
        Something to tell before the first run that counts.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is not an answer
    sys.stdout = sys.stderr

    def answer(**content: Any) -> None:
        print(json.dumps(content), file=answers, flush=True)

    prepare = prepare or tuple
    work(*prepare())
    answer(**(facts() if facts else {"ready": True}))
    for line in sys.stdin:
        if line.strip() == "end":
            answer(gb=peak(), gb_of_children=from_rusage(resource.getrusage(resource.RUSAGE_CHILDREN)))
            return
        arguments = prepare()
        wall, processor = time.perf_counter(), time.process_time()
        steps = work(*arguments)
        answer(seconds=time.perf_counter() - wall, processor=time.process_time() - processor, steps=steps)
