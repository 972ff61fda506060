"""Codec: tuples and patterns as bytes.

A value travels as msgpack, never as pickle, so nothing that arrives can run. Beside the values each tuple
has one key per field, by which the server matches without looking into the values: a letter for the kind,
then bytes that are equal exactly when the values are.

>>> decode(encode_tuple(("task", 7, (1, [2.5])))["payload"])
('task', 7, (1, [2.5]))
>>> encode_tuple((1, True, 1.0))["keys"]
[b'i\\x01', b'b\\xc3', b'f\\xcb?\\xf0\\x00\\x00\\x00\\x00\\x00\\x00']
"""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, NamedTuple
from uuid import uuid4

import msgpack

from tutorial_lib.patterns import ANY, Pattern, Where, pattern_text, shown
from tutorial_lib.store import Fields

__all__ = ["Wanted", "decode", "decode_pattern", "encode_pattern", "encode_tuple"]

KINDS: Final[dict[type, bytes]] = {
    type(None): b"n",
    bool: b"b",
    int: b"i",
    float: b"f",
    str: b"s",
    bytes: b"y",
    list: b"l",
    tuple: b"t",
    dict: b"d",
}
"""The kinds of values that travel, and the letter of each."""

LONGEST_KEY: Final = 48  # bytes; a longer one is replaced by its digest, which is longer still
DIGEST_SIZE: Final = 64

# The kinds that msgpack lacks, as its extension types.
_TUPLE, _BIG_INT, _ANY, _CLASS, _WHERE = range(1, 6)


class Wanted(NamedTuple):
    """A pattern as the server matches it. ``tests`` tells whether a ``where`` is left to the client."""

    shape: str
    keys: list[bytes]
    tests: bool


def encode_tuple(fields: Fields) -> dict[str, Any]:
    """Return the payload and the keys of a tuple.

    Raises `TypeError`, naming the field, for a value that is none of the kinds that travel.
    """
    packed = [_packed_field(fields, number) for number in range(len(fields))]
    payload = msgpack.Packer().pack_array_header(len(fields)) + b"".join(packed)
    return {"payload": payload, "keys": list(map(_key, fields, packed))}


def encode_pattern(pattern: Pattern) -> Wanted:
    """Return what the server is asked for. Raises `TypeError` for a value or class that never travels."""
    shape, keys = "", []
    for number, wanted in enumerate(pattern):
        if wanted is ANY or isinstance(wanted, Where):
            shape, key = shape + "-", b""
        elif isinstance(wanted, type):
            if wanted not in KINDS:
                raise TypeError(
                    f"Field {number + 1} of {pattern_text(pattern)}: a space on a server matches the classes "
                    f"{_kinds_text()}, got {wanted.__name__}. Write ANY or where(...) instead."
                )
            shape, key = shape + "t", KINDS[wanted]
        else:
            shape, key = shape + "v", _key(wanted, _packed_field(pattern, number))
        keys.append(key)
    return Wanted(shape, keys, any(isinstance(wanted, Where) for wanted in pattern))


def decode(payload: bytes) -> Fields:
    """Return the tuple of a payload. Raises `ValueError` if nobody could have written it."""
    try:
        return tuple(_unpacked(payload))
    except Exception as error:
        raise ValueError(f"The server holds a tuple that is damaged: {shown(payload)} ({error}).") from None


def pattern_payload(pattern: Pattern) -> bytes:
    """Return a pattern for others to look at, as in `waiters`."""
    return _packed(list(pattern), _pack_pattern)


def decode_pattern(payload: bytes) -> Pattern:
    """Return a pattern to look at. Its tests stayed behind in the program that wrote them."""
    return tuple(_unpacked(payload))


# ---------------------------------------------------------------------------------------------------
# What travels, and what does not


def _kinds_text() -> str:
    return "None, " + ", ".join(kind.__name__ for kind in KINDS if kind is not type(None))


def _packed_field(fields: Fields, number: int) -> bytes:
    try:
        return _packed(fields[number], _pack_value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise TypeError(
            f"Field {number + 1} of {pattern_text(fields)} cannot be sent to a server ({error}). "
            f"What travels is {_kinds_text()}."
        ) from None


def _packed(value: Any, other: Callable[[Any], msgpack.ExtType]) -> bytes:
    """Pack a value. ``other`` packs what msgpack itself does not know."""
    packed: bytes = msgpack.packb(value, default=other, strict_types=True, unicode_errors="surrogatepass")
    return packed


def _pack_value(value: Any) -> msgpack.ExtType:
    """Pack a tuple, or a whole number of over 64 bits."""
    if type(value) is tuple:
        return msgpack.ExtType(_TUPLE, _packed(list(value), _pack_value))
    if type(value) is int:
        return msgpack.ExtType(_BIG_INT, value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))
    raise TypeError(f"{shown(value)} is of class {type(value).__name__}")


def _pack_pattern(value: Any) -> msgpack.ExtType:
    if value is ANY:
        return msgpack.ExtType(_ANY, b"")
    if isinstance(value, type):
        return msgpack.ExtType(_CLASS, KINDS[value])
    if isinstance(value, Where):
        return msgpack.ExtType(_WHERE, value.text.encode("utf-8", "surrogatepass"))
    return _pack_value(value)


def _unpacked(data: bytes) -> Any:
    return msgpack.unpackb(data, ext_hook=_unpack_other, strict_map_key=False, unicode_errors="surrogatepass")


def _unpack_other(code: int, data: bytes) -> Any:
    if code == _TUPLE:
        return tuple(_unpacked(data))
    if code == _BIG_INT:
        return int.from_bytes(data, "big", signed=True)
    if code == _ANY:
        return ANY
    if code == _CLASS:
        return next(kind for kind, letter in KINDS.items() if letter == data)
    if code == _WHERE:
        return Where(_elsewhere, data.decode("utf-8", "surrogatepass"))
    raise ValueError(f"unknown extension type {code}")


def _elsewhere(value: Any) -> bool:
    raise RuntimeError("The test of this where() is in another program.")


# ---------------------------------------------------------------------------------------------------
# Keys


def _key(value: Any, packed: bytes) -> bytes:
    """Return the key of a field. It begins with the kind, so 1, True and 1.0 have three different keys."""
    kind = type(value)
    if kind is float:
        packed = _packed(_nan_apart(value), _pack_value)
    elif kind in (list, tuple, dict):
        packed = _packed(_alike(value), _pack_value)
    if len(packed) > LONGEST_KEY:
        packed = blake2b(packed, digest_size=DIGEST_SIZE).digest()
    return KINDS[kind] + packed


def _nan_apart(value: float) -> Any:
    """Return a float for comparing: 0.0 equals -0.0, and a nan equals nothing, itself included."""
    return uuid4().bytes if math.isnan(value) else value + 0.0


def _alike(value: Any) -> Any:
    """Return a value in a form that is the same for all values that are equal by ``==``."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else _nan_apart(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_alike(item) for item in value)
    if isinstance(value, dict):
        pairs = [(_alike(name), _alike(item)) for name, item in value.items()]
        return {"dict": sorted(_packed(pair, _pack_value) for pair in pairs)}
    return value
