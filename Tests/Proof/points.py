"""Sums of points by name, and tables of points."""
from llvm_lines import integer
from memory import Memory
from polynomials import NotProven, Variable


class Sum:
    """A point in a slot: a sum of multiples of named points, and the bounds that it has."""

    def __init__(self, terms, kind):
        self.terms, self.kind = {n: c for n, c in terms.items() if c}, kind

    def plus(self, other, sign=1):
        names = self.terms | other.terms
        return Sum({n: self.terms.get(n, 0) * sign + other.terms.get(n, 0) for n in names}, "sum")

    def signed(self, sign):
        return {n: c * sign for n, c in self.terms.items()}


class Table(Memory):
    """A table of points. Its address is not known; what is read is noted by its offset."""

    def __init__(self, name, sums):
        super().__init__(name)
        self.sums = sums
        # The table's address, and that of what is just before it, are no small numbers.
        self.base = Variable(f"&{name}", 1 << 21, (1 << 47) - 64)

    def load(self, machine, pointer, type):
        if type.kind != "vector" or type.count != 8:
            raise NotProven("a load from a table that is no point")
        return self.sums.table_words(self, pointer.offset)


class Local:
    """An operand of an instruction that the proof itself executes."""

    kind, type = "local", integer(64)

    def __init__(self, value):
        self.value = value
