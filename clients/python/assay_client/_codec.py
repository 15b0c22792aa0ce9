"""Encodes and decodes the contract's messages, and finds their frames."""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any, Callable, Dict, List, Optional, Tuple, Type, TypeVar

from .errors import ProtocolError, RequestTooLarge
from .messages import ABSENT, Message, RequestHead, ResponseHead

M = TypeVar("M", bound=Message)

FRAME_BYTES = 32 * 1024 * 1024
"""The largest frame, in bytes after its length field."""
HEAD_BYTES = 64 * 1024
"""The largest head of a request. That of a response can be as long as its frame."""

_PREFIX = struct.Struct(">II")
_BITS = {"int32": 32, "int64": 64, "uint32": 32, "uint64": 64}


def encode_frame(head: RequestHead, body: bytes, frame_bytes: int = FRAME_BYTES) -> bytes:
    data = encode(head)
    length = 4 + len(data) + len(body)
    if length > frame_bytes or len(data) > HEAD_BYTES:
        raise RequestTooLarge(f"a request of {length} bytes, {len(data)} of them its head, is above the limit")
    return b"".join((_PREFIX.pack(length, len(data)), data, body))


def decode_frame(buffer: bytearray, start: int) -> Optional[Tuple[ResponseHead, bytes, int]]:
    """Returns the head, the body and the end of the frame that begins at `start`; None if it has
    not arrived. Raises ProtocolError as soon as the bytes that are there cannot become a frame."""
    available = len(buffer) - start
    if available < 4:
        return None
    length = int.from_bytes(buffer[start : start + 4], "big")
    if not 4 <= length <= FRAME_BYTES:
        foreign = _foreign_protocol(bytes(buffer[start : start + 4]))
        if foreign:
            raise ProtocolError(f"the peer is not an Assay server: {foreign}")
        raise ProtocolError(f"not a frame: its length would be {length}")
    if available < 8:
        return None
    head_length = int.from_bytes(buffer[start + 4 : start + 8], "big")
    if head_length > length - 4:
        raise ProtocolError(f"not a frame: a head of {head_length} bytes in a frame of {length}")
    end = start + 4 + length
    if len(buffer) < end:
        return None
    middle = start + 8 + head_length
    with memoryview(buffer) as view:
        head = decode(ResponseHead, bytes(view[start + 8 : middle]))
        return head, bytes(view[middle:end]), end


def _foreign_protocol(first: bytes) -> Optional[str]:
    """Names another protocol by its first four bytes. Read as a length, they exceed the largest frame."""
    if first == b"HTTP":
        return ("this is HTTP: the port of --listen http://; a client needs that of --listen tcp://, tls:// "
                "or unix:")
    # RFC 8446, section 5.1: an alert or a handshake, and the version 3.x.
    if first[:2] in (b"\x15\x03", b"\x16\x03"):
        return "this is TLS: write tls://HOST:PORT as the address"
    return None


# ---- Messages ------------------------------------------------------------------------------------

Convert = Callable[[Any], Any]


class _Table:
    """What the codec has to know of a message's class."""

    def __init__(self, kind: Type[Message]) -> None:
        self.lists = [name for name, _, repeated in kind.FIELDS.values() if repeated]
        # By the tag that a field begins with: name, conversion, repeated; None for a packed list.
        self.decoding: Dict[int, Tuple[str, Convert, Optional[bool]]] = {}
        # In the order of their numbers: tag, name, conversion to bytes after the tag, repeated, packed.
        self.encoding: List[Tuple[bytes, str, Callable[[Any], bytes], bool, bool]] = []
        for number, (name, of, repeated) in sorted(kind.FIELDS.items()):
            is_number = of in _BITS or of == "bool" or _is_enum(of)
            wire = 0 if is_number else 2
            self.decoding[number << 3 | wire] = (name, _decoder(of), repeated)
            if is_number and repeated:
                self.decoding[number << 3 | 2] = (name, _packed_decoder(of), None)
            is_packed = is_number and repeated
            tag = _varint(number << 3 | (2 if is_packed else wire))
            self.encoding.append((tag, name, _encoder(of), repeated, is_packed))


_tables: Dict[Type[Message], _Table] = {}


def _table(kind: Type[Message]) -> _Table:
    table = _tables.get(kind)
    if table is None:
        table = _tables[kind] = _Table(kind)
    return table


def _is_enum(of: Any) -> bool:
    return isinstance(of, type) and issubclass(of, IntEnum)


def encode(message: Message) -> bytes:
    output: List[bytes] = []
    for tag, name, convert, repeated, is_packed in _table(type(message)).encoding:
        value = getattr(message, name)
        if value is None or value is ABSENT:
            continue
        if not repeated:
            output += (tag, convert(value))
        elif is_packed and value:
            output += (tag, _with_length(b"".join(map(convert, value))))
        else:
            for one in value:
                output += (tag, convert(one))
    return b"".join(output)


def _encoder(of: Any) -> Callable[[Any], bytes]:
    if of in _BITS or of == "bool" or _is_enum(of):
        return lambda value: _varint(int(value))
    if of == "string":
        return lambda value: _with_length(value.encode())
    return _with_length if of == "bytes" else lambda value: _with_length(encode(value))


def _with_length(data: bytes) -> bytes:
    return _varint(len(data)) + data


def _varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return bytes((value,))
    value &= 0xFFFF_FFFF_FFFF_FFFF  # a negative number has ten bytes
    output = bytearray()
    while value > 0x7F:
        output.append(value & 0x7F | 0x80)
        value >>= 7
    output.append(value)
    return bytes(output)


def decode(kind: Type[M], data: bytes) -> M:
    """Decodes a message. Skips unknown fields. Raises ProtocolError for what is no message."""
    try:
        return _decode(kind, data)
    except IndexError:
        raise ProtocolError("not a message: it ends within a number") from None
    except UnicodeDecodeError as error:
        raise ProtocolError(f"not a message: text that is not UTF-8: {error}") from None


def _decode(kind: Type[M], data: bytes) -> M:
    table = _table(kind)
    # Absent fields have the class's value, None or ABSENT. So the time depends on what is there.
    message = kind.__new__(kind)
    members = message.__dict__
    for name in table.lists:
        members[name] = []
    decoding, index, end = table.decoding, 0, len(data)
    while index < end:
        tag = data[index]
        index += 1
        if tag > 0x7F:
            tag, index = _read_varint(data, index - 1)
        field = decoding.get(tag)
        if tag & 7 == 2:
            length = data[index]
            index += 1
            if length > 0x7F:
                length, index = _read_varint(data, index - 1)
            value: Any = data[index : index + length]
            index += length
        elif tag & 7 == 0:
            value, index = _read_varint(data, index)
        else:
            index = _skip(tag, index)
        if index > end or not 0 < tag >> 3 < 1 << 29:
            raise ProtocolError("not a message: a field reaches beyond its end, or has no number")
        if field is not None:
            name, convert, repeated = field
            if repeated:
                members[name].append(convert(value))
            elif repeated is None:
                members[name] += convert(value)
            else:
                members[name] = convert(value)
    return message


def _skip(tag: int, index: int) -> int:
    """Returns the end of a field of fixed width, which the contract does not have."""
    if tag & 7 not in (1, 5):
        raise ProtocolError(f"not a message: wire type {tag & 7}")
    return index + (8 if tag & 7 == 1 else 4)


def _decoder(of: Any) -> Convert:
    if of == "string":
        return bytes.decode
    if of == "bytes":
        return bytes
    if of == "bool":
        return bool
    if of in _BITS:
        bits = _BITS[of]
        mask, sign = (1 << bits) - 1, (1 << bits - 1 if of[0] == "i" else 0)
        return lambda value: ((value & mask) ^ sign) - sign
    if _is_enum(of):
        known = of._value2member_map_
        number = _decoder("int32")
        return lambda value: known.get(value) or number(value) if value else known[0]
    return lambda value: _decode(of, value)


def _packed_decoder(of: Any) -> Convert:
    convert = _decoder(of)

    def decode_packed(data: bytes) -> List[Any]:
        values, index = [], 0
        while index < len(data):
            value, index = _read_varint(data, index)
            values.append(convert(value))
        return values

    return decode_packed


def _read_varint(data: bytes, index: int) -> Tuple[int, int]:
    byte = data[index]
    if byte < 0x80:
        return byte, index + 1
    value, shift = 0, 0
    while byte > 0x7F:
        value |= (byte & 0x7F) << shift
        index += 1
        shift += 7
        if shift > 63:
            raise ProtocolError("not a message: a number without an end")
        byte = data[index]
    return (value | byte << shift) & 0xFFFF_FFFF_FFFF_FFFF, index + 1
