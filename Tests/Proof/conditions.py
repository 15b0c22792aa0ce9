"""Bits that are not known: conditions about words, and numbers made of such bits."""
from values import UNKNOWN, Word


class Condition:
    """A claim about words. `key` is its normal form: an atom, or "and" or "or" of a set, or "not".
    """

    __slots__ = ("key",)
    def __init__(self, key):
        self.key = key

    def __eq__(self, other):
        return isinstance(other, Condition) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def __repr__(self):
        return f"<{self.key}>"


def is_bit(a):
    return a is UNKNOWN or isinstance(a, (int, Condition))


def negation(a):
    if isinstance(a, int):
        return 1 - a
    if a is UNKNOWN:
        return UNKNOWN
    return Condition(a.key[1]) if a.key[0] == "not" else Condition(("not", a.key))


def joined(op, zero, a, b):
    """`and` with zero 0, `or` with zero 1."""
    if zero in (a, b):
        return zero
    if isinstance(a, int):
        return b
    if isinstance(b, int):
        return a
    if UNKNOWN in (a, b):
        return UNKNOWN
    keys = frozenset().union(*(
        x.key[1] if x.key[0] == op else frozenset([x.key]) for x in (a, b)))
    return Condition((op, keys)) if len(keys) > 1 else a


def conjunction(a, b):
    return joined("and", 0, a, b)


def disjunction(a, b):
    return joined("or", 1, a, b)


def exclusive(a, b):
    for x, y in ((a, b), (b, a)):
        if isinstance(x, int):
            return negation(y) if x else y
    if UNKNOWN in (a, b):
        return UNKNOWN
    return Condition(("xor", frozenset([a.key, b.key]))) if a != b else 0


class Bits:
    """A number of bits, the least significant first."""

    def __init__(self, bits):
        self.bits = bits

    @staticmethod
    def of(value, width):
        if isinstance(value, Bits):
            return value.bits + [0] * (width - len(value.bits))
        if value is UNKNOWN:
            return [UNKNOWN] * width
        if isinstance(value, Word) and value.number is not None:
            return [value.number >> i & 1 for i in range(width)]
        return None

    @staticmethod
    def number(bits):
        """A word if all bits are known."""
        if all(isinstance(bit, int) for bit in bits):
            return Word.constant(sum(bit << i for i, bit in enumerate(bits)))
        return Bits(bits)

    def any(self):
        """Whether one of the bits is 1."""
        result = 0
        for bit in self.bits:
            result = disjunction(result, bit)
        return result

    def __repr__(self):
        return f"Bits{self.bits}"
