"""The hash of a function is that of what it does, not of where it comes from."""

import types

import numpy as np
import pytest

from rlsuite.core.fingerprints import fingerprint_of


def made(source, name="a_module", **values):
    """The function `f` of a module that holds these values."""
    module = types.ModuleType(name)
    vars(module).update(values)
    exec(source, vars(module))
    return module.f


def test_the_name_of_the_module_does_not_matter():
    source = "def f(x):\n    return TABLE[0] * x\n"
    one, other = (made(source, name, TABLE=(1, np.ones(2))) for name in ("one", "other"))
    assert fingerprint_of(one) == fingerprint_of(other)
    assert fingerprint_of(one)[1] == "rlsuite.core.fingerprints"


def constants(value):
    module = types.ModuleType("constants")
    module.VALUE = value
    return module


@pytest.mark.parametrize(
    ("source", "values"),
    [
        ("return VALUE", [{"VALUE": value} for value in (1, 1.0, True, "1", (1,), (1.0,), [1], None, 1j, np.int8(1))]),
        ("return VALUE[0]", [{"VALUE": np.array(value)} for value in ([1], [2], [1.0], [[1]])]),
        ("return x.VALUE + constants.VALUE", [{"constants": constants(value)} for value in (1, 2)]),
        ("return [VALUE for _ in range(3)]", [{"VALUE": value} for value in (1, 2)]),
        ("return VALUE(1)", [{"VALUE": made(f"def f(x):\n    return {number}")} for number in (1, 2)]),
        ("return VALUE(1)", [{"VALUE": function} for function in (np.sin, np.cos, len)]),
    ],
    ids=[
        "constants",
        "arrays",
        "attributes of modules",
        "inside a comprehension",
        "functions",
        "functions of libraries",
    ],
)
def test_whatever_it_refers_to_matters(source, values):
    hashes = [fingerprint_of(made(f"def f(x):\n    {source}\n", **given))[0] for given in values]
    assert len(set(hashes)) == len(hashes)


def test_defaults_matter():
    assert fingerprint_of(made("def f(x, n=1):\n    return n")) != fingerprint_of(made("def f(x, n=2):\n    return n"))


@pytest.mark.parametrize("source", ["with objmode(y=int):\n        y = x", "return STRANGE.value"])
def test_what_cannot_be_compared_goes_by_the_name_of_the_module(source):
    values = {"STRANGE": object(), "objmode": len}
    one, other = (made(f"def f(x):\n    {source}\n", name, **values) for name in ("one", "other"))
    assert fingerprint_of(one)[0] != fingerprint_of(other)[0]
    assert [fingerprint_of(function)[1] for function in (one, other)] == ["one", "other"]
