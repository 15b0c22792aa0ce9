"""Scalars and points on P-384 without a batch: the non-adjacent form, the product of a point that
has no table, and one signature with a table."""
import random

from algebra import Algebra
from batches import (
    P384, Batch, Portable, Table, digit_scalars, out_of_range, signature)
from decisions import FAILS, HOLDS, UNDECIDED
from machine import Machine
from memory import Memory, Pointer
from polynomials import NotProven, Polynomial, Variable
from ring import Ring, RingRunner
from running import Place, Space, load, plus, store
from signatures import require
from tables import CONSTANTS
from values import Word

BITS, WIDTH = 384, 5
# Every sequence of five bits, once in 32.
SEQUENCE = "00000100011001010011101011011111"


def scalars_of_forms():
    """Numbers that together have every five bits at every position."""
    for turn in range(32):
        text = (SEQUENCE[turn:] + SEQUENCE[:turn]) * (BITS // 32)
        yield int(text, 2)


class Form:
    """NonAdjacentForm.write, one turn of its loop at a time."""

    def __init__(self, module):
        self.module = module

    def bits(self):
        """The bits from each position on, of every number."""
        for count in (1, WIDTH):
            for start in range(BITS + 1):
                self.check_bits(count, start)
        yield (f"FixedWords.bits: 1 and {WIDTH} bits from each position of {BITS} are those of the "
               "number, with zeros beyond its end")

    def check_bits(self, count, start):
        memory, ends = Memory("scalar", BITS // 8), {start, min(start + count, BITS)}
        for i in range(BITS // 64):
            cuts = sorted({64 * i, 64 * i + 64} | {e for e in ends if 64 * i < e < 64 * i + 64})
            word, within = Polynomial.constant(0), []
            for low, high in zip(cuts, cuts[1:]):
                part = Polynomial.of(Variable(f"b{low}", 0, (1 << high - low) - 1))
                word = word + part.scaled(1 << low - 64 * i)
                within.append((low, high, part))
            memory.write(8 * i, 8, Word(word, 0, (1 << 64) - 1))
            if i == 0:
                wanted = Polynomial.constant(0)
            for low, high, part in within:
                if start <= low and high <= start + count:
                    wanted = wanted + part.scaled(1 << low - start)
        machine = Machine(self.module)
        machine.arithmetic.may_wrap = True
        found = machine.call(f"proven_bits_{count}", [Pointer(memory), Word.constant(start)])
        require(found.polynomial == wanted, "bits are those of another position")

    def turns(self):
        """One turn of the loop for each position, carry and five bits."""
        problem = None
        # Which of the two is the position is not known.
        for order in ((0, 1), (1, 0)):
            try:
                count = sum(self.run(scalar, order) for scalar in scalars_of_forms())
            except NotProven as one:
                problem = problem or one
                continue
            yield (f"NonAdjacentForm: a turn of the loop, for each position, carry and next bits "
                   f"({count} cases): scalar = sum of the digits so far + (rest + carry) "
                   "2^position stays true, and the carry is 0 at the end")
            yield ("NonAdjacentForm: a digit is 0 or odd, from -15 to 15; four zeros at least "
                   "follow one that is not 0")
            return
        raise problem

    def run(self, scalar, order):
        words, digits = Place(Space("scalar", BITS // 8)), Place(Space("digits", BITS + 1))
        for i in range(BITS // 64):
            store(plus(words, 8 * i), 8, scalar >> 64 * i & (1 << 64) - 1)
        states = [(p, c) for p in range(BITS + 1) for c in (0, 1)]
        turn = Turn(scalar, digits, states, order)
        while turn.left:
            ring = Ring()
            ring.at_loop = turn.at_loop
            try:
                RingRunner(self.module, {}, ring).call("proven_form", words, digits)
            except Stop:
                break
            turn.end()
        return len(states)


class Stop(Exception):
    """There is no other state."""


class Turn:
    def __init__(self, scalar, digits, states, order):
        self.scalar, self.digits, self.left, self.order = scalar, digits, list(states), order
        self.state = None

    def at_loop(self, function, state):
        if len(state) != 2:
            # The loop that fills with zeros.
            return state
        position, carry = (state[at] for at in self.order)
        if self.state is None:
            require((position, carry) == (0, 0), "the loop begins in another state")
            zeros = [load(plus(self.digits, i), 1) for i in range(BITS + 1)]
            require(not any(zeros), "digits that are not written are not 0")
        else:
            self.check(position, carry)
        if not self.left:
            raise Stop
        new = self.state = self.left.pop(0)
        return new if self.order == (0, 1) else new[::-1]

    def end(self):
        """The loop ended after the turn of the last state: the rest and the carry are 0."""
        start, _ = self.state
        require(start >= BITS + 1 - WIDTH, "the loop ends early")
        is_digit = load(plus(self.digits, start), 1) != 0
        require(is_digit or start == BITS, "the loop ends early")
        self.check(start + (WIDTH if is_digit else 1), 0)
        self.state = None

    def check(self, position, carry):
        start, before = self.state
        digit = load(plus(self.digits, start), 1)
        digit -= 256 if digit > 127 else 0
        store(plus(self.digits, start), 1, 0)
        step = position - start
        require(step in (1, WIDTH), "another number of bits is taken")
        part = self.scalar >> start & (1 << step) - 1
        require(part + before == digit + (carry << step) and carry in (0, 1),
                "a digit is another one")
        require((digit == 0) == (step == 1) and (digit == 0 or digit % 2 and abs(digit) <= 15),
                "a digit is out of its range")
        require(position <= BITS or carry == 0, "a carry is lost")


class Single(Batch):
    """One signature. `is_fast`: by the functions in C, which are replaced by terms."""

    def __init__(self, module, tables, algebra, is_fast):
        super().__init__(module, P384, tables, algebra, {
            "assay_p384_is_supported": lambda: int(is_fast),
            "assay_p384_double": self.double, "assay_p384_add": self.add})
        self.is_fast, self.known = is_fast, set()

    def zero(self, element):
        try:
            return int(self.algebra.polynomial(element, {}).number == 0)
        except Exception:
            return super().zero(element)

    def replace(self, point, kind, *elements):
        names = tuple(x.index for x in elements)
        for at, axis in enumerate("xyz"):
            term = self.algebra.term(self.curve.field, kind, axis, names)
            store(plus(point, at * self.curve.coordinate), 8, term)

    def double(self, point):
        self.replace(point, "double", *self.run.read(point, self.curve, 3))

    def add(self, point, other):
        self.replace(point, "sum", *self.run.read(point, self.curve, 3),
                     *self.run.read(other, self.curve, 2))

    # What has to come out

    def jacobian(self, point):
        return self.run.elements(self.curve, *point, self.algebra.constant(self.curve.field, 1))

    def added(self, total, point):
        if total is None:
            return self.jacobian(point)
        self.run.call("proven_jacobian_sum_p384", total, self.run.elements(self.curve, *point))
        return total

    def multiples(self, point):
        """1, 3 ... 15 times the point. With Z of 2 P, x Z^2 and y Z^3 are on another curve, on
        which 2 P is affine; sums do not depend on the curve."""
        algebra, run, curve = self.algebra, self.run, self.curve
        double = self.jacobian(point)
        run.call("proven_jacobian_double_p384", double)
        x, y, z = run.read(double, curve, 3)
        scale = algebra.multiply(z, z)
        total = self.jacobian((algebra.multiply(point[0], scale), algebra.multiply(
            point[1], algebra.multiply(scale, z))))
        self.known.add(z.index)
        found = [point]
        for _ in range(7):
            total = self.added(total, (x, y))
            x3, y3, z3 = run.read(total, curve, 3)
            self.known.add(z3.index)
            inverse = algebra.invert(algebra.multiply(z3, z))
            square = algebra.multiply(inverse, inverse)
            found.append((algebra.multiply(x3, square),
                          algebra.multiply(y3, algebra.multiply(square, inverse))))
        return found

    def product(self, scalar, point):
        """By the digits of the form, from the most significant one."""
        multiples, total = self.multiples(point), None
        for digit in reversed(form_of(scalar)):
            if total is not None:
                self.run.call("proven_jacobian_double_p384", total)
            if digit:
                x, y = multiples[abs(digit) >> 1]
                zero = self.algebra.constant(self.curve.field, 0)
                total = self.added(total, (x, y if digit > 0 else self.algebra.subtract(zero, y)))
        return total

    # The calls

    def check(self, one, outcome, key=None):
        """key: the point of a key without a table; otherwise that of the first table."""
        octets = self.octets([one])
        if key is None:
            total = None
            if self.is_fast:
                for point in self.terms(self.tables[1], 0, one[4]):
                    total = self.added(total, point)
        else:
            point = [self.algebra.constant(self.curve.field, x) for x in key]
            total = self.product(one[4], tuple(point))
        for point in self.terms(self.tables[1], one[3], 0):
            total = self.added(total, point)
        x, _, z = self.run.read(total, self.curve, 3)
        asked = self.expect(x, self.algebra.multiply(z, z), one[1], outcome)
        self.run.tested.clear()
        found = self.call(octets, key)
        questions = self.run.tested if key is None else self.run.tested[1:]
        require(found == (3 if outcome == UNDECIDED else outcome), "the outcome is another one")
        require(len(questions) == len(asked) and all(a is b for a, b in zip(questions, asked)),
                "another sum is compared, or with another number")
        self.algebra.require_divisors(self.known, "a number is inverted that can be 0")

    def require_failure(self, one, key=None):
        """Of a signature whose r or s is out of range."""
        self.run.tested.clear()
        require(self.call(self.octets([one]), key) == FAILS
                and len(self.run.tested) == (key is not None),
                "a signature out of range does not fail at once")

    def call(self, octets, key):
        if key is None:
            return self.run.call("proven_one_with_table", self.tables[1].object, octets)
        return self.run.call("proven_one_without_table", self.key(*key), octets)

    def key(self, x, y):
        size = self.curve.coordinate
        data, place = b"\4" + x.to_bytes(size, "big") + y.to_bytes(size, "big"), Place(Space("key"))
        for at, octet in enumerate(data):
            store(plus(place, at), 1, octet)
        return place


class OneOfBatch(Portable):
    """A signature on P-384 where the functions in C are not for this processor."""

    def __init__(self, module, tables, algebra):
        super().__init__(module, P384, tables, algebra, {"assay_p384_is_supported": lambda: 0})

    def call(self, pointers, octets, count, results):
        found = self.run.call("proven_one_with_table", self.tables[1].object, octets)
        store(results, 1, UNDECIDED if found == 3 else found)


def form_of(scalar):
    """The digits of the non-adjacent form of width 5, by their definition."""
    digits = []
    while scalar:
        digit = 0
        if scalar & 1:
            digit = scalar & 31
            digit -= 32 if digit > 15 else 0
        digits.append(digit)
        scalar = scalar - digit >> 1
    return digits


def prove_products(module, forms):
    form, chosen = Form(forms), random.Random(60)
    algebra = Algebra()
    tables = [Table(algebra, P384, name) for name in ("G", "Q")]
    generator = CONSTANTS["p384"][1:]
    outcomes = (HOLDS, FAILS, UNDECIDED)
    for is_fast in (1, 0):
        for at, scalar in enumerate(scalars_of_forms()):
            u2 = scalar % P384.order
            one = signature(P384, chosen, None, u2, 3 if at % 8 == 7 else None)
            Single(module, tables, algebra, is_fast).check(one, outcomes[at % 3], generator)
    run = Single(module, tables, algebra, 1)
    octets = run.octets([signature(P384, chosen)])
    require(run.run.call("proven_one_without_table", run.key(generator[0], generator[1] ^ 1),
                         octets) == 3, "a key that is no point has an answer")
    for one in out_of_range(P384, chosen):
        for key in (None, generator):
            run.require_failure(one, key)
    yield "P384Verification: a signature whose r or s is out of range fails"
    yield ("ECDSAWithoutTable: u2 = r / s times the key by its form's digits, doubles and odd "
           "multiples, in C and in Swift; then u1 = e / s of the generator's table; x and Z^2 are "
           "compared with r")
    yield ("VariableBaseProduct: multiple i is (2 i + 1) P: sums of 2 P on the curve on which it "
           "is affine, and back; what is inverted is Z of a double or of a sum")
    scalars = digit_scalars(P384)
    for at, (u1, u2) in enumerate(zip(scalars, reversed(scalars))):
        one = signature(P384, chosen, u1, u2)
        if u2:
            Single(module, tables, algebra, 1).check(one, outcomes[at % 3])
    yield ("ECDSAWithTable: the sum of the points of u2's digits and u1's, for every digit in "
           "every window, is compared with r")
    for at in range(4):
        OneOfBatch(module, tables, algebra).check(
            [signature(P384, chosen)], [outcomes[at % 3]], [(0, 4)] if at == 3 else ())
    yield "ECDSABatch on P-384: the same by sums of pairs, in Swift"
    yield from form.bits()
    yield from form.turns()
