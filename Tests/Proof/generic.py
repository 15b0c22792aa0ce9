"""The generic code in Swift, compiled for a field whose operations this file replaces: formulas,
the shared inversion and the comparison with r, on polynomials modulo p."""
from decisions import FAILS, HOLDS, ORDER, UNDECIDED
from execution import Infeasible
from fields import P256, sum_of
from machine import Machine, explore
from memory import Memory, Pointer
from polynomials import Polynomial, Variable
from signatures import require
from values import Word


class Generic:
    def __init__(self, module, modulus):
        self.module, self.modulus, self.values = module, modulus, {}

    # The field

    def symbol(self, name):
        return Polynomial.of(Variable(name, 0, self.modulus - 1), self.modulus)

    def word(self, value):
        """A word that stands for an element."""
        word = Word.variable("e", 1, (1 << 64) - 1)
        self.values[word.polynomial.key] = value
        return word

    def value(self, word):
        require(isinstance(word, Word) and word.polynomial.key in self.values,
                "a word that is no element is used as one")
        return self.values[word.polynomial.key]

    def machine(self, prefix=()):
        def binary(operation):
            return lambda machine, words: self.word(operation(*map(self.value, words)))

        machine = Machine(self.module, prefix, {
            "prove_add": binary(lambda a, b: a + b),
            "prove_subtract": binary(lambda a, b: a - b),
            "prove_multiply": binary(lambda a, b: a * b),
            "prove_number": self.number, "prove_is_zero": self.is_zero,
            "prove_invert": self.invert,
            # The runtime's allocations.
            "__swift_instantiateConcreteTypeFromMangledName": lambda m, a: None,
            "swift_initStackObject": lambda m, a: a[1], "swift_release": lambda m, a: None,
            "swift_slowAlloc": lambda m, a: Pointer(Memory("buffer", a[0].number))})
        machine.arithmetic.may_wrap = True
        return machine

    def number(self, machine, words):
        machine.last_words = words
        return self.word(self.in_field(sum_of(words, 64)))

    def in_field(self, number):
        terms = {m: c % self.modulus for m, c in number.terms.items()}
        return Polynomial({m: c for m, c in terms.items() if c}, self.modulus)

    def is_zero(self, machine, words):
        value = self.value(words[0])
        if value.number is not None:
            return Word.constant(int(value.number == 0))
        machine.tested.append(value)
        return Word.constant(machine.decide(("is zero", value.key)))

    def invert(self, machine, words):
        self.inverted = self.value(words[0]), self.symbol("inverse")
        return self.word(self.inverted[1])

    def memory(self, *values):
        memory = Memory("elements", 8 * len(values))
        for i, value in enumerate(values):
            memory.write(8 * i, 8, self.word(value))
        return Pointer(memory)

    def read(self, pointer, count):
        return [self.value(pointer.memory.read(8 * i, 8)) for i in range(count)]

    # Formulas

    def points(self):
        """Two affine points, and Z of another form of the first one."""
        return [self.symbol(name) for name in ("x", "y", "x2", "y2", "Z")]

    @staticmethod
    def require_tangent(x, y, x3, y3, zz, zzz):
        """That (x3 / zz, y3 / zzz) is the double of (x, y) (SEC 1, 2.2.1), times denominators."""
        rise, yy = (x * x - 1).scaled(3), (y * y).scaled(4)
        numerator = rise * rise - (x * yy).scaled(2)
        require(x3 * yy == zz * numerator, "x of the double is not the tangent's")
        require((y3 * y * yy).scaled(2) == zzz * (
            rise * (x * yy - numerator) - (y * y * yy).scaled(2)),
            "y of the double is not the tangent's")

    @staticmethod
    def require_chord(x, y, x2, y2, x3, y3, zz, zzz):
        rise, run = y2 - y, x2 - x
        square = run * run
        numerator = rise * rise - (x + x2) * square
        require(x3 * square == zz * numerator, "x of the sum is not the chord's")
        require(y3 * run * square == zzz * (rise * (x * square - numerator) - y * run * square),
                "y of the sum is not the chord's")

    def extended(self):
        x, y, x2, y2, z = self.points()
        zz, zzz = z * z, z * z * z
        point = self.memory(x * zz, y * zzz, zz, zzz)
        self.machine().call("proven_extended_double", [point])
        x3, y3, zz3, zzz3 = self.read(point, 4)
        self.require_tangent(x, y, x3, y3, zz3, zzz3)
        require(zz3 * zz3 * zz3 == zzz3 * zzz3, "ZZ^3 is not ZZZ^2")
        require(zz3 == (y * y * zzz * zzz * zz).scaled(4), "ZZ of the double is another number")
        yield "ExtendedJacobianPoint.doubled: the tangent's double; ZZ is 4 Y^2 ZZ"
        point = self.memory(x * zz, y * zzz, zz, zzz)
        self.machine().call("proven_extended_sum", [point, self.memory(x2, y2)])
        x3, y3, zz3, zzz3 = self.read(point, 4)
        self.require_chord(x, y, x2, y2, x3, y3, zz3, zzz3)
        require(zz3 * zz3 * zz3 == zzz3 * zzz3, "ZZ^3 is not ZZZ^2")
        symbols = [self.symbol(name) for name in ("X", "Y", "ZZ", "ZZZ")]
        point = self.memory(*symbols)
        self.machine().call("proven_extended_sum", [point, self.memory(x2, y2)])
        run = x2 * symbols[2] - symbols[0]
        require(self.read(point, 4)[2] == symbols[2] * run * run, "ZZ of the sum is not ZZ P^2")
        yield "ExtendedJacobianPoint.adding: the chord's sum; ZZ is ZZ (x2 ZZ - X)^2, 0 for " \
              "equal points, opposite points and ZZ = 0, and for no other"

    def jacobian(self):
        x, y, x2, y2, z = self.points()
        zz, zzz = z * z, z * z * z
        point = self.memory(x * zz, y * zzz, z)
        self.machine().call("proven_jacobian_double", [point])
        x3, y3, z3 = self.read(point, 3)
        self.require_tangent(x, y, x3, y3, z3 * z3, z3 * z3 * z3)
        require(z3 == (y * zzz * z).scaled(2), "Z of the double is not 2 Y Z")
        yield "JacobianPoint.portableDouble: the tangent's double; Z is 2 Y Z"
        symbols = [self.symbol(name) for name in "XYZ"]
        point = self.memory(x * zz, y * zzz, z)
        self.machine().call("proven_jacobian_sum", [point, self.memory(x2, y2)])
        x3, y3, z3 = self.read(point, 3)
        self.require_chord(x, y, x2, y2, x3, y3, z3 * z3, z3 * z3 * z3)
        point = self.memory(*symbols)
        self.machine().call("proven_jacobian_sum", [point, self.memory(x2, y2)])
        expected = symbols[2] * (x2 * symbols[2] * symbols[2] - symbols[0])
        require(self.read(point, 3)[2] == expected, "Z of the sum is not Z H")
        yield "JacobianPoint.portableSum: the chord's sum; Z is Z (x2 Z^2 - X), 0 for equal " \
              "points, opposite points and Z = 0, and for no other"

    def affine(self):
        x, y, x2, y2, slope = self.points()
        point = self.memory(x, y)
        self.machine().call(
            "proven_affine_sum", [point, self.memory(x2, y2), self.word(slope)])
        x3, y3 = self.read(point, 2)
        require(x3 == slope * slope - x - x2 and y3 == slope * (x - x3) - y,
                "the sum by the slope is another point")
        yield "AffinePoint.sum: the third point of the line, mirrored, given its slope"

    def inversion(self):
        for count in range(1, 7):
            elements = [self.symbol(f"e{i}") for i in range(count)]
            memory = self.memory(*elements)
            self.machine().call("proven_inversion", [memory, Word.constant(count)])
            product = Polynomial.constant(1, self.modulus)
            for element in elements:
                product = product * element
            require(self.inverted[0] == product, "another number than the product is inverted")
            for element, inverse in zip(elements, self.read(memory, count)):
                require(element * inverse == product * self.inverted[1],
                        "an element gets the inverse of another one")
        yield "SharedInversion: for 1 to 6 elements, each gets its inverse, given the product's"

    # The comparison

    def comparison(self):
        outcomes = set()

        def run(prefix):
            machine = self.machine(prefix)
            machine.tested = []
            words = [Word.variable(f"r{i}", 0, (1 << 64) - 1) for i in range(4)]
            memory = Memory("r", 32)
            for i, word in enumerate(words):
                memory.write(8 * i, 8, word)
            x, zz = self.symbol("X"), self.symbol("ZZ")
            try:
                outcome = machine.call("proven_comparison", [
                    self.word(x), self.word(zz), Pointer(memory)])
            except Infeasible:
                return machine
            self.check_outcome(machine, outcome.number, words, x, zz)
            outcomes.add(outcome.number)
            return machine

        paths = explore(run)
        require(outcomes == {FAILS, HOLDS, UNDECIDED}, "an outcome is impossible")
        yield ("ECDSAOutcome.comparing: undecided for ZZ = 0; otherwise holds for x = r, or for "
               f"x = r + n < p, and for nothing else ({paths} paths)")

    def check_outcome(self, machine, outcome, words, x, zz):
        r, arithmetic = sum_of(words, 64), machine.arithmetic
        answers = [machine.path["is zero", value.key] for value in machine.tested]
        require(machine.tested[0] == zz, "ZZ is not tested first")
        if answers[0]:
            require(outcome == UNDECIDED, "infinity is not undecided")
            return
        require(machine.tested[1] == self.in_field(r) * zz - x,
                "x is compared with another number than r")
        if answers[1]:
            require(outcome == HOLDS, "x = r does not hold")
            return
        low, high = arithmetic.bounds(r + ORDER)
        if len(answers) == 2:
            require(low >= P256 and outcome == FAILS, "r + n below p is not compared")
            return
        require(high < P256, "r + n is compared although it can be p or more")
        second = sum_of(machine.last_words, 64)
        # A multiple of 2^256, and both are below it.
        require(any(arithmetic.is_integer((r + ORDER - other).divided_by_power_of_two(256))
                    for other in arithmetic.alternatives(second)),
                "another number than r + n is compared")
        require(machine.tested[2] == self.in_field(second) * zz - x,
                "x is compared with another number than r + n")
        require(outcome == (HOLDS if answers[2] else FAILS), "the outcome is not the comparison's")
