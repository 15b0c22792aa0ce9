"""Polynomials in integer variables with bounds, with rational or modular coefficients."""
from fractions import Fraction


class NotProven(Exception):
    """A claim that does not hold, or that this program cannot show."""


class Variable:
    """An integer between two bounds, which stands for every one of them."""

    count = 0

    def __init__(self, name, low, high):
        Variable.count += 1
        self.name, self.low, self.high, self.number = name, low, high, Variable.count

    def __repr__(self):
        return self.name

    def __lt__(self, other):
        return self.number < other.number


def whole(coefficient):
    """An integer where a fraction is one: its arithmetic is faster."""
    if isinstance(coefficient, Fraction) and coefficient.denominator == 1:
        return coefficient.numerator
    return coefficient


class Polynomial:
    """A sum of terms: a tuple of variables in order, repeated for powers, and its coefficient.

    With a modulus the coefficients are numbers below it, otherwise integers or fractions.
    """

    __slots__ = ("terms", "modulus", "_key")

    def __init__(self, terms, modulus=None):
        self.terms, self.modulus, self._key = terms, modulus, None

    @staticmethod
    def constant(number, modulus=None):
        number = number % modulus if modulus else number
        return Polynomial({(): number} if number else {}, modulus)

    @staticmethod
    def of(variable, modulus=None):
        return Polynomial({(variable,): 1}, modulus)

    @property
    def key(self):
        if self._key is None:
            self._key = frozenset(self.terms.items())
        return self._key

    def __eq__(self, other):
        return self.terms == other.terms

    def __hash__(self):
        return hash(self.key)

    def lifted(self, other):
        return other if isinstance(other, Polynomial) else Polynomial.constant(other, self.modulus)

    def __add__(self, other):
        other = self.lifted(other)
        small, large = sorted((self.terms, other.terms), key=len)
        terms, modulus = dict(large), self.modulus
        for monomial, coefficient in small.items():
            total = terms.get(monomial, 0) + coefficient
            total = total % modulus if modulus else whole(total)
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
        return Polynomial(terms, modulus)

    __radd__ = __add__

    def __neg__(self):
        return self.scaled(-1)

    def __sub__(self, other):
        return self + -self.lifted(other)

    def __rsub__(self, other):
        return -self + other

    def scaled(self, factor):
        if self.modulus:
            factor %= self.modulus
            terms = {m: c * factor % self.modulus for m, c in self.terms.items()} if factor else {}
        else:
            terms = {m: whole(c * factor) for m, c in self.terms.items()} if factor else {}
        return Polynomial(terms, self.modulus)

    def __mul__(self, other):
        if not isinstance(other, Polynomial):
            return self.scaled(other)
        terms = {}
        for left, c in self.terms.items():
            for right, d in other.terms.items():
                monomial = tuple(sorted(left + right)) if left and right else left or right
                terms[monomial] = terms.get(monomial, 0) + c * d
        modulus = self.modulus
        reduced = ((m, c % modulus if modulus else whole(c)) for m, c in terms.items())
        return Polynomial({m: c for m, c in reduced if c}, modulus)

    __rmul__ = __mul__

    def divided_by_power_of_two(self, bits):
        return self.scaled(Fraction(1, 1 << bits))

    @property
    def number(self):
        """The number of a constant polynomial, otherwise None."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def bounds(self):
        """Bounds of the value. They are exact where no variable occurs twice."""
        low = high = 0
        for monomial, coefficient in self.terms.items():
            if len(monomial) == 1:
                least, greatest = monomial[0].low, monomial[0].high
                if coefficient < 0:
                    least, greatest = greatest, least
                low, high = low + coefficient * least, high + coefficient * greatest
                continue
            least = greatest = 1
            for variable in monomial:
                ends = [end * bound for end in (least, greatest)
                        for bound in (variable.low, variable.high)]
                least, greatest = min(ends), max(ends)
            ends = (coefficient * least, coefficient * greatest)
            low, high = low + min(ends), high + max(ends)
        return low, high

    def variables(self):
        return {variable for monomial in self.terms for variable in monomial}

    def __repr__(self):
        terms = ["·".join([str(c)] + [v.name for v in m]) for m, c in list(self.terms.items())[:8]]
        return " + ".join(terms or ["0"]) + (" ..." if len(self.terms) > 8 else "")
