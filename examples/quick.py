"""Run an example with few seeds and steps: ``python examples/quick.py 20_cliff.py [figure.png]``.

Its figure shows what the example draws, and proves nothing. Where nothing is compiled, this is the size to begin with.
"""

import re
import sys
from pathlib import Path

FEWER = {r"\bseeds=\d+": "seeds=2", r"(?<=for seed in )range\(\d+\)": "range(2)"}
"""What is made smaller in every numbered example."""

SIDE_BY_SIDE = {"2_000, 1_000": "20, 50"}
SMALLER = {
    "02": {"300_000": "5_000"},
    "05": {"steps=3_000": "steps=300"},
    "06": {"500_000": "2_000", "25_000": "1_000"},
    "07": {"500_000": "2_000", "25_000": "1_000"},
    "08": {"38": "6", "39": "7", "40": "8"},
    "10": {"range(100)": "range(10)"},
    "12": {"largest, 12": "largest, 4"},
    "13": {"largest, 12": "largest, 3", "range(10)": "range(2)"},
    "14": {"largest, 12": "largest, 4"},
    "20": {"=500": "=50"},
    "23": {"10_000, 500_000": "200, 1_000"},
    "24": {"5_000_000": "2_000"},
    "31": {"12_000": "600"},
    "32": {"200_000": "2_000"},
    "34": {"s, 50": "s, 1", "s, 20": "s, 1", "e, 20": "e, 1", "=5_000": "=200", "workers=2": "workers=1"},
    "35": {"episodes=20": "episodes=1", "i in range(10)": "i in range(2)", "=1_000": "=200"},
    "43": {"(1, 2, 3, 4)": "(1, 2)"},
    "44": {"100_000": "2_000"},
    "50": SIDE_BY_SIDE,
    "51": SIDE_BY_SIDE,
    "52": SIDE_BY_SIDE,
    "53": SIDE_BY_SIDE,
    "54": {"10, 100, 1_000": "2, 5, 50"},
    "55": {"4.7, 40": "2.5, 10"},
    "60": {"400_000": "2_000", "20_000": "1_000"},
    "61": {"200_000": "2_000"},
    "67": {'"incremental_pruning"': '"incremental_pruning", horizon=3', "steps=30": "steps=3"},
    "70": {"10_000": "100", "episodes=200": "episodes=2"},
    "71": {'"episodes": 1_000': '"episodes": 5', "episodes=100": "episodes=3"},
    "76": {"iterations=5": "iterations=2", "episodes=10": "episodes=2", "candidates=12": "candidates=4"},
    "77": {"2_000": "300", "=500": "=100"},
    "79": {"episodes=100": "episodes=2"},
    "80": {"(5, 10, 20)": "(2, 3)", "episodes=500": "episodes=5", "range(24)": "range(2)", "episodes=50": "episodes=2"},
}
"""What is made smaller in an example, by its number."""


def smaller(example: Path) -> str:
    """Return the code of an example with smaller numbers."""
    code = example.read_text(encoding="utf-8")
    if not example.stem[:2].isdigit():  # those of the notes assert their numbers
        return code
    for pattern, fewer in FEWER.items():
        code = re.sub(pattern, fewer, code)
    for text, less in SMALLER.get(example.stem[:2], {}).items():
        assert text in code, f"{example.name} has no {text}"
        code = code.replace(text, less)
    return code


if __name__ == "__main__":
    example = Path(__file__).parent / sys.argv.pop(1)
    exec(compile(smaller(example), example, "exec"))
