"""Refuse a commit that nobody can review: too many lines added at once, or a large file.

Run by pre-commit on what is staged; ``SKIP=commit-size git commit ...`` lets one commit pass.
"""

import subprocess
import sys

MOST_LINES = 1_500
"""Added lines of text in one commit; what is only moved does not count."""
MOST_BYTES = 500_000
"""Size of one file."""


def git(*arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def complaints() -> list[str]:
    """Return what is wrong with the commit that is staged."""
    found: list[str] = []
    lines = 0
    for row in git("diff", "--cached", "--numstat", "--find-renames", "--diff-filter=d").splitlines():
        added = row.split("\t")[0]
        lines += int(added) if added != "-" else 0  # "-" stands for a file that is not text
    if lines > MOST_LINES:
        found.append(f"{lines} lines are added, more than {MOST_LINES}: make several commits, each of which is green")
    for name in filter(None, git("diff", "--cached", "--name-only", "-z", "--diff-filter=d").split("\0")):
        size = int(git("cat-file", "-s", f":{name}"))
        if size > MOST_BYTES:
            found.append(f"{name} has {size} bytes, more than {MOST_BYTES}: leave it out, or make it smaller")
    return found


if __name__ == "__main__":
    found = complaints()
    for complaint in found:
        print(complaint, file=sys.stderr)
    sys.exit(bool(found))
