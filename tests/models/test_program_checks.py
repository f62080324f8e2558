"""What would end the process, or take Storm hours, is refused; what is harmless is not."""

import json

import pytest

from rlsuite.errors import FileError
from rlsuite.models.program_checks import check_jani, check_program

PROGRAM = """mdp
const int n; // 1 / 0
const int m = n - 2;
const double p = 0.5;
formula half = (n + m) / 2;
module one
  x : [0..3] init 0;
  [] x < 3 -> HERE;
endmodule
"""


def refused(divisor, **given):
    try:
        check_program("p.prism", PROGRAM.replace("HERE", divisor), given)
    except FileError as error:
        return str(error)
    return ""


def test_programs():
    for divisor, shown in {
        "1/0 : (x'=1)": "0",
        "1 / m : (x'=1)": "m",
        "1/(n-2) : true": "(n-2)",
        "1/(1 - p * 2) : true": "(1 - p * 2)",
        "1/-0.0 : true": "-0.0",
        "1/0e5 : true": "0e5",
        "1/(half - 1) : true": "(half - 1)",
        "1/min(n, m, 3) : true": "min(n, m, 3)",
        "1/floor(p) : true": "floor(p)",
        "(x' = mod(x + (1), m))": "m",
        "(x' = mod(3, 2 * m))": "2 * m",
    }.items():
        assert refused(divisor, n=2) == f"p.prism:8: it divides by {shown!r}, which is 0", divisor
        assert refused(divisor, n=2.0)
    for harmless in ("1/n : true", "1/(x-0) : true", "1/(2*m+1) : true", "1/p", "1/0.001", "1/(1/0+", "mod(", "mod(x;"):
        assert refused(harmless, n=2) == "" or "1/0+" in harmless, harmless
    for number in ("1e-999999999", "1.E+10000", "0.5e1000"):
        assert "p.prism:8: the exponent of " in refused(f"{number} : true", n=2)
    assert refused("1/m : true") == ""  # n is not known
    circle = PROGRAM.replace("n - 2", "p / 3").replace("= 0.5", "= m + 1")
    check_program("p.prism", circle.replace("HERE", "1/m : true"), {"n": 2})
    check_program("p.prism", PROGRAM.replace("HERE", "1/" + "(" * 5000 + "0" + ")" * 5000), {"n": 2})


@pytest.mark.slow
def test_jani():
    model = {
        "constants": [{"name": "n"}, {"name": "m", "value": {"op": "-", "left": "n", "right": 2}}],
        "automata": [{"edges": [{"value": {"op": "/", "left": 1, "right": {"op": "*", "left": 3, "right": "m"}}}]}],
    }
    check_jani("m.jani", json.dumps(model), {"n": 3})
    with pytest.raises(FileError, match=r'm\.jani: it divides by .*"right": "m"}, which is 0'):
        check_jani("m.jani", json.dumps(model), {"n": 2})
    with pytest.raises(FileError, match=r"m\.jani:2: the exponent of '1e-99999' is too large"):
        check_jani("m.jani", '{"a":\n 1e-99999}', {})
    for text in (
        "{",
        "[]",
        "[" * 100_000,
        '{"constants": [3, {"name": "a", "value": "a"}], "x": {"op": "/", "right": "a"}}',
    ):
        check_jani("m.jani", text, {})
