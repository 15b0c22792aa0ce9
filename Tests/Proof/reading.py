"""What is read of octets: the point of a key, the numbers of a signature and its digest. And
P-384's comparison with r."""
from algebra import Algebra, Element
from compiled import CURVES, MODULI
from decisions import FAILS, HOLDS, UNDECIDED
from execution import Infeasible
from fields import sum_of
from machine import Machine, explore
from memory import Memory, Pointer
from polynomials import NotProven, Polynomial, Variable
from signatures import require
from tables import CONSTANTS
from values import Word

MOST_OCTETS = (1 << 63) - 1


class Reading:
    """Functions of one curve on octets and words that stand for all their values. Elements are
    terms: of numbers whose words are polynomials."""

    def __init__(self, module, curve):
        self.module, self.curve = module, curve
        self.algebra, self.numbers, self.tested = Algebra(), [], []

    def machine(self, prefix):
        self.tested = []
        algebra = self.algebra
        machine = Machine(self.module, prefix, {
            "prove_add": lambda m, a: algebra.add(*a),
            "prove_subtract": lambda m, a: algebra.subtract(*a),
            "prove_multiply": lambda m, a: algebra.multiply(*a),
            "prove_element": self.element, "prove_is_zero": self.is_zero,
            "swift_once": self.once})
        machine.arithmetic.may_wrap = True
        return machine

    @staticmethod
    def once(machine, arguments):
        token, function, _ = arguments
        if token.memory.name not in machine.done:
            machine.done.add(token.memory.name)
            machine.call(function.memory.name.strip('@"'), [None])

    def element(self, machine, arguments):
        tag, words = arguments
        modulus = MODULI[tag.number]
        count = 4 if tag.number < 2 else 6
        found = [words.memory.read(words.offset + 8 * i, 8) for i in range(count)]
        number = sum_of(found, 64)
        require(machine.arithmetic.bounds(number)[1] < modulus,
                "an element is made of a number that can be the modulus or more")
        if number.number is not None:
            return self.algebra.constant(modulus, number.number)
        self.numbers.append(number)
        return self.algebra.term(modulus, "number", len(self.numbers) - 1)

    def number_of(self, element):
        """The polynomial of the number that an element was made of."""
        require(isinstance(element, Element) and element.node[0] == "number",
                "an element is not that of a number")
        return self.numbers[element.node[1]]

    def is_zero(self, machine, arguments):
        self.tested.append((arguments[0], machine.decide(("is zero", arguments[0].index))))
        return Word.constant(self.tested[-1][1])

    def explore(self, run):
        """Calls run(machine) for all decisions."""
        def attempt(prefix):
            machine = self.machine(prefix)
            machine.done = set()
            try:
                run(machine)
            except Infeasible:
                pass
            return machine

        return explore(attempt)

    # Octets

    @staticmethod
    def octets(count):
        """Octets at an address that is not known, and their variables."""
        variables = [Variable(f"o{i}", 0, 255) for i in range(count)]
        memory = Memory("octets", count, Variable("&octets", 1 << 21, (1 << 47) - 64))
        for i, variable in enumerate(variables):
            memory.write(i, 1, Word(Polynomial.of(variable), 0, 255))
        return memory, [Polynomial.of(variable) for variable in variables]

    @staticmethod
    def big_endian(octets):
        total = Polynomial.constant(0)
        for octet in octets:
            total = total.scaled(256) + octet
        return total

    @staticmethod
    def count(least=0):
        return Word.variable("count", least, MOST_OCTETS)

    @staticmethod
    def is_not(machine, value, number):
        """Whether the path says that a value is another number."""
        difference = value.polynomial - number
        return any(machine.path.get(("eq", key)) == 0
                   for key in (difference.key, (-difference).key))

    # Points

    def points(self):
        outcomes = set()

        def run(machine):
            size = self.curve.coordinate
            memory, octets = self.octets(1 + 2 * size)
            count, target = self.count(), Memory("point", 2 * size)
            accepts = machine.call(f"proven_read_{self.curve.name}", [
                Pointer(memory), count, Pointer(target)])
            accepts = accepts if isinstance(accepts, int) else accepts.number
            x, y = self.big_endian(octets[1:1 + size]), self.big_endian(octets[1 + size:])
            outcomes.add(accepts)
            self.check_point(machine, accepts, count, octets[0], x, y, target)

        paths = self.explore(run)
        require(outcomes == {0, 1}, "every point is read or none")
        yield (f"{self.curve.name.upper()}: AffinePoint reads exactly 04 x y with x and y below p "
               f"and y^2 = x^3 - 3 x + b ({paths} paths)")

    def check_point(self, machine, accepts, count, head, x, y, target):
        bounds, p = machine.arithmetic.bounds, self.curve.field
        size = self.curve.coordinate
        if not accepts:
            is_off = len(self.tested) == 1 and self.tested[0][1] == 0
            if is_off:
                self.require_equation(x, y)
            require(self.is_not(machine, count, 1 + 2 * size)
                    or self.is_not(machine, Word(head, 0, 255), 4)
                    or bounds(x)[0] >= p or bounds(y)[0] >= p or is_off,
                    "octets are refused that are a point")
            return
        require(bounds(count.polynomial) == (1 + 2 * size,) * 2, "another count is read")
        require(bounds(head) == (4, 4), "another first octet is read")
        require(bounds(x)[1] < p and bounds(y)[1] < p, "a coordinate can be p or more")
        require(len(self.tested) == 1 and self.tested[0][1] == 1, "the equation is not asked")
        self.require_equation(x, y)
        found = [self.number_of(target.read(at, 8)) for at in (0, size)]
        require(found == [x, y], "the point has other coordinates")

    def require_equation(self, x, y):
        """That the element that was tested is y^2 - x^3 + 3 x - b, or the opposite."""
        elements = {n: self.algebra.term(self.curve.field, "number", n)
                    for n, number in enumerate(self.numbers)}
        at = {name: elements[max(n for n in elements if self.numbers[n] == number)]
              for name, number in (("x", x), ("y", y))}
        names, (px, py) = self.algebra.named(at["x"], at["y"])
        wanted = py * py - px * px * px + px.scaled(3) - CONSTANTS[self.curve.name][0]
        found = self.algebra.polynomial(self.tested[0][0], names)
        require(found == wanted or found == -wanted, "another equation is asked")

    # Numbers of a signature

    def signatures(self):
        size, n, ranges = self.curve.coordinate, self.curve.order, set()
        paths = 0
        for length in range(size + 1):
            def run(machine, length=length):
                if length < size:
                    # e is asked alone.
                    self.read_numbers(machine, [Word.constant(length)] + [Word.constant(0)] * 2,
                                      ranges)
                else:
                    self.read_numbers(machine, [self.count(size), self.count(), self.count()],
                                      ranges)

            paths += self.explore(run)
        require(ranges == {0, 1}, "every signature is in range or none")
        require(n < 1 << 8 * size <= 2 * n, "e can be twice the order")
        yield (f"{self.curve.name.upper()}: ECDSANumbers: e is the number of the leftmost "
               f"{size} octets of the digest, or of all if it is shorter, mod n ({paths} paths)")
        yield (f"{self.curve.name.upper()}: ECDSANumbers: in range exactly if r and s have {size} "
               "octets and are from 1 to n - 1; then r and s are theirs")

    def read_numbers(self, machine, lengths, ranges):
        size, n, bounds = self.curve.coordinate, self.curve.order, machine.arithmetic.bounds
        memory, octets = self.octets(3 * 128)
        counts, target = Memory("counts", 24), Memory("found", 3 * size)
        for i, count in enumerate(lengths):
            counts.write(8 * i, 8, count)
        in_range = machine.call(f"proven_numbers_{self.curve.name}", [
            Pointer(memory), Pointer(counts), Pointer(target)])
        in_range = in_range if isinstance(in_range, int) else in_range.number
        ranges.add(in_range)
        length = lengths[0].number
        digest = self.big_endian(octets[:size if length is None else length])
        self.check_digest(machine, digest, target)
        r, s = (self.big_endian(octets[at:at + size]) for at in (128, 256))
        if not in_range:
            require(any(count.number is not None or self.is_not(machine, count, size)
                        for count in lengths[1:])
                    or any(bounds(number)[0] >= n or bounds(number)[1] == 0 for number in (r, s))
                    or self.tested and self.tested[0][1]
                    and self.number_of(self.tested[0][0]) in (r, s),
                    "r and s are refused although they are in range")
            return
        for count in lengths[1:]:
            require(bounds(count.polynomial) == (size, size), "a number of another size is read")
        require(bounds(r)[1] < n and bounds(s)[1] < n, "r or s can be the order or more")
        words = [target.read(size + 8 * i, 8) for i in range(self.curve.words)]
        require(sum_of(words, 64) == r, "r is another number")
        require(self.number_of(target.read(2 * size, 8)) == s, "s is another number")
        self.require_not_zero(machine, words, r, s)

    def require_not_zero(self, machine, words, r, s):
        answers = {self.number_of(element).key: bit for element, bit in self.tested}
        require(answers.get(s.key) == 0, "s can be 0")
        require(answers.get(r.key) == 0
                or any(machine.path.get(("eq", word.polynomial.key)) == 0 for word in words),
                "r can be 0")

    def check_digest(self, machine, digest, target):
        n, arithmetic = self.curve.order, machine.arithmetic
        words = [target.read(8 * i, 8) for i in range(self.curve.words)]
        e = sum_of(words, 64)
        low, high = arithmetic.bounds(digest)
        if high < n:
            require(e == digest, "e is another number")
            return
        require(low >= n, "e can be the order or more")
        require(self.are_equal(arithmetic, digest - n, e),
                "e is another number than the digest - n")

    def are_equal(self, arithmetic, wanted, found):
        """Whether two numbers are equal: their difference is a multiple of a power of two, and
        nearer to 0 than that."""
        for other in arithmetic.alternatives(found):
            difference = wanted - other
            low, high = arithmetic.bounds(difference)
            for bits in range(64, self.curve.bits + 1, 64):
                end = 1 << bits
                if -end < low and high < end and arithmetic.is_integer(
                        difference.divided_by_power_of_two(bits)):
                    return True
        return False

    # The outcome

    def outcomes(self):
        """ECDSAOutcome.comparing on P-384."""
        found = set()

        def run(machine):
            size = self.curve.coordinate
            elements = [self.algebra.symbol(self.curve.field, name) for name in ("X", "ZZ")]
            memories = [Memory(name, size) for name in ("x", "zz", "r")]
            for memory, element in zip(memories, elements):
                for i in range(self.curve.words):
                    memory.write(8 * i, 8, Word.constant(0) if i else element)
            words = [Word.variable(f"r{i}", 0, (1 << 64) - 1) for i in range(self.curve.words)]
            r = sum_of(words, 64)
            # What is read is below the order.
            machine.arithmetic.naturals.append(self.curve.order - 1 - r)
            for i, word in enumerate(words):
                memories[2].write(8 * i, 8, word)
            outcome = machine.call(f"proven_outcome_{self.curve.name}", [
                Pointer(memory) for memory in memories]).number
            found.add(outcome)
            self.check_outcome(machine, outcome, r, *elements)

        paths = self.explore(run)
        require(found == {FAILS, HOLDS, UNDECIDED}, "an outcome is impossible")
        n, p = self.curve.order, self.curve.field
        require(n < p < 2 * n, "x mod n is another number than x or x - n")
        yield (f"{self.curve.name.upper()}: ECDSAOutcome.comparing: undecided for ZZ = 0; "
               "otherwise holds for x = r, or for x = r + n < p, and for nothing else "
               f"({paths} paths)")

    def check_outcome(self, machine, outcome, r, x, zz):
        n, p, arithmetic = self.curve.order, self.curve.field, machine.arithmetic
        answers = [bit for _, bit in self.tested]
        require(self.tested[0][0] is zz, "ZZ is not tested first")
        if answers[0]:
            require(outcome == UNDECIDED, "infinity is not undecided")
            return
        require(self.compared(self.tested[1][0], x, zz) == r, "x is compared with another number")
        if answers[1]:
            require(outcome == HOLDS, "x = r does not hold")
            return
        low, high = arithmetic.bounds(r + n)
        if len(answers) == 2:
            require(low >= p and outcome == FAILS, "r + n below p is not compared")
            return
        require(high < p, "r + n is compared although it can be p or more")
        second = self.compared(self.tested[2][0], x, zz)
        require(self.are_equal(arithmetic, r + n, second), "x is compared with another number")
        require(outcome == (HOLDS if answers[2] else FAILS), "the outcome is not the comparison's")

    def compared(self, element, x, zz):
        """The number for which number ZZ - X was tested, or the opposite."""
        for at, number in enumerate(self.numbers):
            factor = self.algebra.term(self.curve.field, "number", at)
            product = self.algebra.multiply(factor, zz)
            if any(element is self.algebra.subtract(*pair)
                   for pair in ((product, x), (x, product))):
                return number
        raise NotProven("X is not compared with a number times ZZ")


def prove_reading(module):
    for curve in CURVES:
        reading = Reading(module, curve)
        yield from reading.points()
        yield from reading.signatures()
    yield from reading.outcomes()
