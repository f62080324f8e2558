"""Ctrl-C waits for the end of what must not be left half done."""

import signal

import pytest

from rlsuite.core.interrupts import uninterrupted


def test_ctrl_c_waits_until_the_block_is_left():
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012 - the block is what is tested
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_one_does_not_wait():
    done = []
    with pytest.raises(KeyboardInterrupt), uninterrupted():  # noqa: PT012 - the block is what is tested
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        done.append(1)
    assert not done
