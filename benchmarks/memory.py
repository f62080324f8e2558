"""Peak memory of a process; imports nothing heavy, which would itself be counted."""

import re
import resource
import sys
from pathlib import Path

STATUS = Path("/proc/self/status")


def peak() -> float:
    """Peak memory of this process so far, in GB."""
    if STATUS.exists():  # on Linux, where ru_maxrss begins with the size of the process that started this one
        (kilobytes,) = re.findall(r"VmHWM:\s*(\d+) kB", STATUS.read_text())
        return int(kilobytes) / 1e6
    return from_rusage(resource.getrusage(resource.RUSAGE_SELF))


def from_rusage(usage: resource.struct_rusage) -> float:
    """Peak memory in GB, of what the system reports of a process that has ended."""
    return usage.ru_maxrss / (1e9 if sys.platform == "darwin" else 1e6)
