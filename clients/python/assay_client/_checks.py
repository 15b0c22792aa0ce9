"""Checks what a caller passes, before it is sent.

Python keeps an attribute that a class does not know. A misspelt expectation that were ignored would
make the evidence of any app VALID.
"""

from __future__ import annotations

import difflib
from enum import IntEnum
from typing import Any, Dict, List, Tuple, Type

from .messages import Message

_TYPES: Dict[Any, Tuple[Tuple[type, ...], str]] = {
    "string": ((str,), "a str"), "bytes": ((bytes, bytearray), "bytes"), "bool": ((bool,), "a bool"),
}
_BITS = {"int32": (-1 << 31, 1 << 31), "int64": (-1 << 63, 1 << 63), "uint32": (0, 1 << 32), "uint64": (0, 1 << 64)}
_fields: Dict[Type[Message], Dict[str, Tuple[Any, bool]]] = {}


def check(value: Any, kind: Type[Message], path: str) -> None:
    """Raises TypeError for what is no such message, or has a member that the message does not have
    or cannot have; ValueError for a number out of range."""
    if not isinstance(value, kind):
        raise TypeError(f"{path} is a {type(value).__name__}, not a {kind.__name__}")
    fields = _fields.get(kind)
    if fields is None:
        fields = _fields[kind] = {name: (of, repeated) for name, of, repeated in kind.FIELDS.values()}
    for name, member in vars(value).items():
        if name not in fields:
            raise _unknown(f"{path}.{name}" if path else name, name, list(fields))
        if member is None:
            continue
        of, repeated = fields[name]
        place = f"{path}.{name}" if path else name
        if not repeated:
            _check_value(member, of, place)
        elif isinstance(member, (list, tuple)):
            for index, one in enumerate(member):
                _check_value(one, of, f"{place}[{index}]")
        else:
            raise TypeError(f"{place} is a {type(member).__name__}, not a list")


def _check_value(value: Any, of: Any, place: str) -> None:
    if of in _TYPES:
        types, what = _TYPES[of]
        if not isinstance(value, types):
            raise TypeError(f"{place} is a {type(value).__name__}, not {what}")
    elif of in _BITS or issubclass(of, IntEnum):
        if not isinstance(value, int) or isinstance(value, bool):
            shown = "an int" if of in _BITS else f"one of {of.__name__}"
            raise TypeError(f"{place} is a {type(value).__name__}, not {shown}")
        low, high = _BITS.get(of, _BITS["int32"])
        if not low <= value < high:
            raise ValueError(f"{place} is out of range: {value}")
    else:
        check(value, of, place)


def _unknown(place: str, name: str, names: List[str]) -> TypeError:
    plain = {known.replace("_", ""): known for known in names}
    near = difflib.get_close_matches(name.replace("_", "").lower(), list(plain), 1, 0.7)
    if near:
        return TypeError(f"{place}: do you mean {plain[near[0]]}?")
    return TypeError(f"{place}: unknown; there are {', '.join(names)}")
