"""What one run knows about its variables, and bounds that follow from it."""
from fractions import Fraction
from math import ceil, floor

from polynomials import whole
from values import Word


class Knowledge:
    """Facts about polynomials."""

    def __init__(self):
        # Of each variable of a remainder: the quotient, an integer.
        self.quotients = {}
        # Polynomials that are 0, and that are at least 0.
        self.zeros, self.naturals = [], []
        # Those of the former that say what a bit was decided to be.
        self.decided = []

    def bounds(self, polynomial):
        low, high = polynomial.bounds()
        if self.zeros or self.naturals:
            pending = [(one, True, True) for one in self.alternatives(polynomial)]
            seen = {one.key for one, _, _ in pending}
            for _ in range(3):
                for one, bounds_low, bounds_high in pending:
                    least, greatest = one.bounds()
                    low = max(low, least) if bounds_low else low
                    high = min(high, greatest) if bounds_high else high
                pending = [step for state in pending for step in self.near(*state)
                           if step[0].key not in seen]
                seen |= {step[0].key for step in pending}
        return ceil(low), floor(high)

    def near(self, polynomial, bounds_low, bounds_high):
        """Polynomials with a value that is not less, or not more."""
        for fact in self.decided:
            for factor in self.factors(polynomial, fact):
                yield polynomial + fact.scaled(factor), bounds_low, bounds_high
        for fact in self.naturals:
            for factor in self.factors(polynomial, fact):
                yield (polynomial + fact.scaled(factor), bounds_low and factor < 0,
                       bounds_high and factor > 0)

    @staticmethod
    def factors(polynomial, fact):
        """That cancel the fact's first or last variable."""
        common = sorted(m for m in fact.terms if m and m in polynomial.terms)
        ends = {common[0], common[-1]} if common else ()
        return {Fraction(-polynomial.terms[m]) / fact.terms[m] for m in ends}

    def alternatives(self, polynomial):
        """The polynomial, and others with the same value: each without the newest variable of a
        polynomial that is 0."""
        found = [polynomial]
        for last, fact in sorted(self.newest(), key=lambda pair: pair[0], reverse=True):
            if (last,) in found[-1].terms:
                factor = Fraction(-found[-1].terms[last,]) / fact.terms[last,]
                found.append(found[-1] + fact.scaled(factor))
        return found

    def newest(self):
        for fact in self.zeros:
            variables = fact.variables()
            if variables and (max(variables),) in fact.terms:
                yield max(variables), fact

    def is_integer(self, polynomial):
        """Whether the value is an integer because it is a sum of integers: multiples of
        variables and of quotients."""
        while True:
            fractional = {v for m, c in polynomial.terms.items() if isinstance(c, Fraction)
                          for v in m}
            if not fractional:
                return all(isinstance(c, int) for c in polynomial.terms.values())
            last = max(fractional)
            quotient = self.quotients.get(last)
            if quotient is None or (last,) not in polynomial.terms:
                return False
            factor = whole(Fraction(polynomial.terms[last,]) / quotient.terms[last,])
            if not isinstance(factor, int):
                return False
            polynomial = polynomial - quotient.scaled(factor)

    def tightened(self, word):
        low, high = self.bounds(word.polynomial)
        return Word(word.polynomial, max(word.low, low), min(word.high, high))
