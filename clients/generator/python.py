"""The messages as Python dataclasses."""
from contract import NOTICE, wrapped

TYPES = {"string": "str", "bytes": "bytes", "bool": "bool", "int32": "int", "int64": "int", "uint32": "int",
         "uint64": "int"}
HEADER = '''"""The messages of the contract, with its field names and comments.

%s A field that is
absent is None; a repeated one is an empty list. An expectation that is absent is ABSENT: None and
what is empty are values, which a client refuses. The value of an enumeration that this version does
not know is an int.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, ClassVar, Dict, List, Optional, Tuple, Union

__all__ = [
%s]


class Enumeration(IntEnum):
    """What all enumerations have in common: a number that print() and f-strings write as its name."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        # A number's type, as in f"{verdict:d}", formats the number.
        return int.__format__(self, spec) if spec[-1:] in tuple("bcdoxXneEfFgG%%") else format(self.name, spec)


class Absent(Enum):
    """The value of an expectation that is not given."""

    ABSENT = "ABSENT"

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return self.name


ABSENT = Absent.ABSENT


class Message:
    """What all messages have in common."""

    # By field number: name, type on the wire (a class for a message or an enumeration), repeated.
    FIELDS: ClassVar[Dict[int, Tuple[str, Any, bool]]] = {}
'''
COLUMNS = 99


def docstring(comment):
    lines = wrapped('"""' + comment.replace("\\", "\\\\"), "    ", COLUMNS)
    line = lines.pop()
    if len(line) + 3 > COLUMNS:
        return "\n".join([*lines, line, '    """\n'])
    return "\n".join([*lines, line + '"""\n'])


class Python:
    def __init__(self, contract):
        self.contract = contract

    def files(self):
        enums, messages = self.contract.enums, self.contract.messages
        names = sorted(["ABSENT", "Absent", *(one.name for one in [*enums, *messages])])
        parts = [HEADER % (NOTICE, "".join(f'    "{name}",\n' for name in names))]
        parts += map(self.enumeration, enums)
        parts += map(self.message, messages)
        parts.append("\n\n")
        parts += [self.table(message) for message in messages if message.fields]
        return {"clients/python/assay_client/messages.py": "".join(parts)}

    @staticmethod
    def enumeration(enum):
        lines = [f"\n\nclass {enum.name}(Enumeration):\n", docstring(enum.comment), "\n"]
        for name, number, comment in enum.values:
            lines += [f"    {name} = {number}\n", docstring(comment)]
        return "".join(lines)

    def message(self, message):
        lines = [f"\n\n@dataclass\nclass {message.name}(Message):\n", docstring(message.comment)]
        if message.fields:
            lines.append("\n")
        for field in message.fields:
            shown = TYPES.get(field.kind, field.kind)
            if self.contract.is_enum(field):
                shown = f"Union[{field.kind}, int]"
            if self.contract.is_expectation(message, field):
                shown = f"List[{shown}]" if field.repeated else shown
                lines.append(f"    {field.name}: Union[{shown}, Absent] = ABSENT\n")
            elif field.repeated:
                lines.append(f"    {field.name}: List[{shown}] = field(default_factory=list)\n")
            else:
                lines.append(f"    {field.name}: Optional[{shown}] = None\n")
            lines.append(docstring(field.comment))
        return "".join(lines)

    @staticmethod
    def table(message):
        lines = [f"{message.name}.FIELDS = {{\n"]
        for field in message.by_number():
            kind = f'"{field.kind}"' if field.kind in TYPES else field.kind
            lines.append(f'    {field.number}: ("{field.name}", {kind}, {field.repeated}),\n')
        return "".join(lines) + "}\n"
