"""Tuples and patterns as bytes."""

from __future__ import annotations

import pytest

from tutorial_lib import ANY, where
from tutorial_lib.engine.codec import (
    decode,
    decode_pattern,
    encode_pattern,
    encode_tuple,
    pattern_payload,
)

VALUES = (
    None,
    False,
    0,
    -1,
    2**63,
    -(2**300),
    0.5,
    float("-inf"),
    "",
    "\ud800",
    b"\xff",
    [],
    (),
    {},
    {(1,): [(2,)]},
)


@pytest.mark.parametrize("value", VALUES)
def test_a_value_comes_back_as_it_was(value: object) -> None:
    """Whole numbers of any size, half of a surrogate pair, and keys of a dictionary that are tuples."""
    (found,) = decode(encode_tuple((value,))["payload"])
    assert (found, type(found)) == (value, type(value))


def test_a_key_is_short_however_long_the_value_is() -> None:
    """It stands in the names of the server's keys, and is compared with every write."""
    for value in ("x" * 1_000_000, b"x" * 1_000_000, ["x"] * 1_000, 2**10_000):
        (key,) = encode_tuple((value,))["keys"]
        assert len(key) <= 65


def test_a_long_value_has_no_twin_that_is_short() -> None:
    """The digest of a long value is the key of no short one, however that was chosen."""
    (key,) = encode_tuple(("x" * 1_000,))["keys"]
    assert encode_tuple((key[1:].decode("latin-1"),))["keys"] != [key]
    assert encode_tuple((key[3:],))["keys"] != [key]


def test_a_pattern_binds_values_and_kinds() -> None:
    """A letter for each field; a test is left to the client."""
    wanted = encode_pattern(("task", int, ANY))
    assert (wanted.shape, wanted.tests) == ("vt-", False)
    assert encode_pattern(("task", where(bool))).tests


def test_a_pattern_can_be_shown_elsewhere() -> None:
    """With the words of its tests; the tests themselves do not travel."""
    pattern = decode_pattern(pattern_payload(("task", int, ANY, where(bool, "true"))))
    assert repr(pattern) == "('task', <class 'int'>, ANY, where(true))"
    with pytest.raises(RuntimeError, match="another program"):
        pattern[3].test(1)


def test_a_damaged_payload_is_told() -> None:
    """Whoever can reach the server can write there; nothing of it is run."""
    for payload in (b"", b"\xc1", b"\x91", b"\xd4\x63\x00", b"\x01"):
        with pytest.raises(ValueError, match="damaged"):
            decode(payload)
