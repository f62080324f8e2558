import pytest

from rlsuite.cli.options import keywords, literal
from rlsuite.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("1e-3", 1e-3),
        ("7", 7),
        ("True", True),
        ("false", False),
        ("None", None),
        ("stay", "stay"),
        ("[1, 2]", [1, 2]),
        ("'7'", "7"),
        ("maps/x.txt", "maps/x.txt"),
        ("", ""),
    ],
)
def test_values_are_read_as_python_would(text, value):
    read = literal(text)
    assert read == value
    assert type(read) is type(value)


HINT = ": an environment itself is written without --env"


def test_mistakes_in_keywords():
    for pair in ("slip", "=3", "a b=3"):
        with pytest.raises(ParameterError) as caught:
            keywords("--env", [pair])
        assert str(caught.value) == f"--env {pair!r} is not of the form key=value" + (pair == "slip") * HINT
