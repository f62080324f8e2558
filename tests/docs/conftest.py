import re
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def project_files() -> list[Path]:
    """Every file that somebody wrote: no caches, no results, nothing that git or uv keep for themselves."""

    def written(path: Path) -> bool:
        inner = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") and part not in {".ci", ".gitignore"} for part in inner)
        made = "__pycache__" in inner or inner[0] in {"build", "dist", "uv.lock"}
        made |= inner[0] == "runs" and len(inner) > 2
        return path.is_file() and not hidden and not made

    return sorted(path for path in ROOT.rglob("*") if written(path))


@pytest.fixture(scope="session")
def blocks(root: Path) -> Callable[..., list[str]]:
    """Contents of the fenced blocks of a page in a language: `blocks(language, page="README.md")`."""

    def fenced(language: str, page: str = "README.md") -> list[str]:
        text = (root / page).read_text(encoding="utf-8")
        return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)

    return fenced


@pytest.fixture(scope="session")
def listed(root: Path) -> Callable[[str], set[str]]:
    """Names in code marks on a page."""
    return lambda page: set(re.findall(r"`(\w+)`", (root / page).read_text(encoding="utf-8")))
