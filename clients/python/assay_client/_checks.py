"""Checks what a caller passes, before it is sent.

Python keeps an attribute that a class does not know. A misspelt expectation that were ignored would
make the evidence of any app VALID.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from datetime import timedelta
from enum import IntEnum
from typing import Any, Dict, List, Optional, Tuple, Type

from .messages import ABSENT, Message

_TYPES: Dict[Any, Tuple[Tuple[type, ...], str]] = {
    "string": ((str,), "a str"), "bytes": ((bytes, bytearray), "bytes"), "bool": ((bool,), "a bool"),
}
_BITS = {"int32": (-1 << 31, 1 << 31), "int64": (-1 << 63, 1 << 63), "uint32": (0, 1 << 32), "uint64": (0, 1 << 64)}
_fields: Dict[Type[Message], Dict[str, Tuple[Any, bool]]] = {}


def check(value: Any, kind: Type[Message], path: str) -> None:
    """Raises TypeError for what is no such message, or has a member that the message does not have
    or cannot have; ValueError for a number out of range, or an expectation that is empty."""
    if not isinstance(value, kind):
        fields = [name for name, _, _ in kind.FIELDS.values()]
        raise wrong(path, value, with_article(kind.__name__), _construction(value, kind.__name__, fields))
    fields_of_kind = _fields.get(kind)
    if fields_of_kind is None:
        fields_of_kind = _fields[kind] = {name: (of, repeated) for name, of, repeated in kind.FIELDS.values()}
    for name, member in vars(value).items():
        location = f"{path}.{name}" if path else name
        if name not in fields_of_kind:
            raise unknown(location, name, list(fields_of_kind))
        if getattr(kind, name, None) is ABSENT:
            if member is ABSENT:
                continue
            _check_given(member, location)
        elif member is None:
            continue
        of, repeated = fields_of_kind[name]
        if not repeated:
            _check_value(member, of, location)
        elif isinstance(member, (list, tuple)):
            for index, one in enumerate(member):
                if getattr(kind, name, None) is ABSENT:
                    _check_given(one, f"{location}[{index}]")
                _check_value(one, of, f"{location}[{index}]")
        else:
            hint = f"write [{member!r}]" if isinstance(member, (str, IntEnum)) else ""
            raise wrong(location, member, "a list", hint)


def _check_given(expected: Any, location: str) -> None:
    """Refuses an expectation that is given and is empty: a user without an account token, or a list
    of which nothing is left, would accept the purchases of all others."""
    remedy = "give a value, or leave it out to accept any"
    if expected is None:
        raise TypeError(f"{location} is None: {remedy}")
    if isinstance(expected, (str, bytes, bytearray, list, tuple)) and not expected:
        raise ValueError(f"{location} is empty: {remedy}")


def check_names(value: Any, names: List[str], path: str) -> None:
    """Raises TypeError for an attribute that an object has beside these."""
    for name in vars(value):
        if name not in names:
            raise unknown(f"{path}.{name}", name, names)


def check_bool(name: str, value: Any) -> None:
    """A text such as "no" would count as true."""
    if not isinstance(value, bool):
        raise wrong(name, value, "a bool")


def check_text(name: str, value: Any) -> None:
    if not isinstance(value, str):
        raise wrong(name, value, "a str", "decode them" if isinstance(value, (bytes, bytearray)) else "")


def check_seconds(name: str, value: Any) -> None:
    if isinstance(value, timedelta):
        raise wrong(name, value, "a number of seconds", "write its total_seconds()")
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise wrong(name, value, "a number of seconds")
    if value != value:
        raise ValueError(f"{name} is not a number: {value}")


def check_count(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(name, value, "an int")
    if value < 1:
        raise ValueError(f"{name} is not above 0: {value}")


def wrong(location: str, value: Any, what: str, hint: str = "") -> TypeError:
    """The error of an argument of the wrong type."""
    return TypeError(f"{location} is {described(value)}, not {what}{': ' + hint if hint else ''}")


def unknown(location: str, name: str, names: List[str]) -> TypeError:
    """The error of a name that there is not."""
    near = _nearest(name, names)
    if near is not None:
        return TypeError(f"{location}: do you mean {near}?")
    return TypeError(f"{location}: unknown; there are {', '.join(names)}")


def described(value: Any) -> str:
    """The type of a value, with its article."""
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, IntEnum):
        return f"{type(value).__name__}.{value.name}"
    name = type(value).__name__
    return name if name in ("bytes", "kwargs") else with_article(name)


def with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOaeiou' else 'a'} {name}"


def _check_value(value: Any, of: Any, location: str) -> None:
    if of == "string":
        check_text(location, value)
    elif of in _TYPES:
        types, what = _TYPES[of]
        if not isinstance(value, types):
            raise wrong(location, value, what)
    elif of in _BITS:
        if not isinstance(value, int) or isinstance(value, (bool, IntEnum)):
            raise wrong(location, value, "an int")
        _check_range(value, of, location)
    elif issubclass(of, IntEnum):
        # A number that this version does not know can be an enumerator of a newer one.
        is_other = isinstance(value, (bool, IntEnum)) and not isinstance(value, of)
        if is_other or not isinstance(value, int):
            raise wrong(location, value, with_article(of.__name__), _enumerators(value, of))
        _check_range(value, "int32", location)
    else:
        check(value, of, location)


def _check_range(value: int, of: str, location: str) -> None:
    low, high = _BITS[of]
    if not low <= value < high:
        raise ValueError(f"{location} is out of range: {int(value)}")


def _enumerators(value: Any, of: Type[IntEnum]) -> str:
    """What to write instead of a text, and all that there are."""
    names = [one.name for one in of if one.value]
    near = _nearest(value, names) if isinstance(value, str) else None
    there = f"there are {', '.join(names)}"
    return f"write {of.__name__}.{near}; {there}" if near is not None else f"{there} of {of.__name__}"


def _construction(value: Any, name: str, fields: List[str]) -> str:
    """How to write a message instead of a dict of its members."""
    if not isinstance(value, Mapping):
        return f"write {name}({fields[0]}=...)" if fields else ""
    known = [_nearest(key, fields) or key for key in value if isinstance(key, str)] or fields[:1]
    return f"write {name}({', '.join(f'{one}=...' for one in known)})"


def _nearest(name: str, names: List[str]) -> Optional[str]:
    plain = {known.replace("_", "").lower(): known for known in names}
    wanted = name.replace("_", "").replace("-", "").replace(" ", "").lower()
    near = difflib.get_close_matches(wanted, list(plain), 1, 0.7)
    return plain[near[0]] if near else None
