"""Words of a machine as exact integers: each is a polynomial, and bounds show that it fits."""
from polynomials import Polynomial, Variable


class Unknown:
    """A value about which nothing is claimed. A result that depends on it is unknown."""

    def __repr__(self):
        return "unknown"


UNKNOWN = Unknown()


class Word:
    """An unsigned word. The integer is the polynomial's value, at least `low` and at most `high`.

    Its low `zeros` bits are 0; that is known of a word that was shifted.
    """

    __slots__ = ("polynomial", "low", "high", "zeros")

    def __init__(self, polynomial, low, high, zeros=0):
        self.polynomial, self.low, self.high, self.zeros = polynomial, low, high, zeros

    @staticmethod
    def constant(number):
        return Word(Polynomial.constant(number), number, number)

    @staticmethod
    def variable(name, low, high):
        if low == high:
            return Word.constant(low)
        return Word(Polynomial.of(Variable(name, low, high)), low, high)

    @property
    def number(self):
        return self.low if self.low == self.high else None

    def __repr__(self):
        return f"[{self.low}, {self.high}] {self.polynomial}"


class Negated:
    """0 - bit for a bit that is not known: a mask of all bits."""

    def __init__(self, bit):
        self.bit = bit


class Exclusive:
    """a ^ b, which is used only to choose one of the two."""

    def __init__(self, a, b):
        self.a, self.b = a, b


class Joined:
    """a | b, of which only high bits are used."""

    def __init__(self, a, b):
        self.a, self.b = a, b


def same(a, b):
    return a is b or (isinstance(a, Word) and isinstance(b, Word) and a.polynomial == b.polynomial)
