"""The engine of eight signatures (assay_p256.c): its formulas are the curve's."""
from conditions import Bits
from fields import P256, SIGNATURES, Bounds, Fields, operations_of_signatures
from formulas import Element, Formulas
from machine import Machine
from memory import Memory, Pointer
from polynomials import NotProven, Polynomial
from values import UNKNOWN, Word

SLOTS = SIGNATURES.slots
ELEMENT = SIGNATURES.bytes
R = SIGNATURES.radix


def require(condition, claim):
    if not condition:
        raise NotProven(claim)


class Signatures:
    """The proofs of assay_p256.c, each a method that reports what it showed."""

    def __init__(self, module):
        self.module = module
        self.fields = Fields(module, SIGNATURES, operations_of_signatures())
        self.formulas = Formulas(self.fields)
        self.bounds = self.bounds_between_additions()

    def bounds_between_additions(self):
        """What `expect_bounds` says of x, y and z."""
        found = []

        def note(machine, arguments):
            found.append(arguments[2])

        machine = self.formulas.machine(intercepts={"expect_below": note})
        memory = Memory("point", 3 * ELEMENT)
        machine.call("expect_bounds", [Pointer(Memory("result", 3 * ELEMENT)), Pointer(memory)])
        require(len(found) == 3, "expect_bounds checks three coordinates")
        return [Bounds.below(SIGNATURES, k) for k in found]

    # Operations on elements

    def field_operations(self):
        """Each operation at the widest bounds that are documented for it."""
        def below(*multiples):
            return [Bounds.below(SIGNATURES, k) for k in multiples]

        for name, multiples, numbers in (
                ("multiply", (15.9, 15.9), ()), ("square", (15.9,), ()),
                ("multiply_add", (3.25, 3.25, 15.9), ()),
                ("multiply_both", (3.25, 3.25, 2.01, 1.5), ()),
                ("negated", (2.01,), (3,)), ("negated", (1.25,), (2,)),
                ("difference", (1.25, 1.25), ()), ("choose", (2.01, 3.01), ()),
                ("negated_where", (1,), (2,)), ("negated_where", (2.01,), (3,)), ("one", (), ()),
                ("sum_x", (3.25, 1.5, 1.25), ()), ("divided_by_radix", (15.99,), ()),
                ("from_words", (), ())):
            bounds = self.fields.prove(name, below(*multiples), numbers)
            operands = ", ".join(f"{k:g} p" for k in multiples)
            yield (f"{name}({operands or 'any'}) is {self.fields.operations[name].text} modulo p, "
                   f"below {bounds.multiple()}")
        zero_or_p = self.fields.prove("divided_by_radix", below(15.99))
        require(zero_or_p.value <= P256, "a / R is more than p")
        yield "divided_by_radix is at most p, so it is 0 or p where a is a multiple of p"

    # Formulas

    def point(self, names, bounds, factors=None):
        """A point with new symbols in each slot: its memory, and the symbols."""
        memory, symbols = Memory("point", 3 * ELEMENT), []
        for at, (name, bound) in enumerate(zip(names, bounds)):
            row = [self.formulas.symbol(f"{name}[{slot}]") for slot in range(SLOTS)]
            self.formulas.write(
                memory, [Element(symbol.scaled(R), bound) for symbol in row], start=at * ELEMENT)
            symbols.append(row)
        return Pointer(memory), symbols

    def coordinates(self, pointer):
        """The values of a point's coordinates in each slot, without the factor R."""
        result = []
        for at in range(3):
            elements = self.formulas.read(pointer.plus(at * ELEMENT))
            require(UNKNOWN not in elements, "a coordinate is not written")
            result.append([e.value.scaled(self.formulas.inverse) for e in elements])
        return result

    def require_bounds(self, pointer):
        for at, bound in enumerate(self.bounds):
            for element in self.formulas.read(pointer.plus(at * ELEMENT)):
                require(element.bounds.are_within(bound),
                        "the bounds of a sum are wider than those of its operands")

    def affine_point(self, mask):
        """The second operand of add_mixed: from_affine of coordinates below p."""
        words = Memory("words", 8 * SLOTS * 8)
        symbols = []
        for at in range(2):
            row = [self.formulas.symbol(f"{'xy'[at]}2[{slot}]") for slot in range(SLOTS)]
            elements = [Element(s.scaled(R), None) for s in row]
            self.formulas.write_words(Pointer(words, at * 4 * SLOTS * 8), elements)
            symbols.append(row)
        machine = self.formulas.machine()
        x, y = Memory("x", ELEMENT), Memory("y", ELEMENT)
        machine.call("from_words", [Pointer(x), Pointer(words)])
        machine.call("from_words", [Pointer(y), Pointer(words, 4 * SLOTS * 8)])
        # Coordinates of a table are below p.
        for memory in (x, y):
            elements = self.formulas.read(Pointer(memory))
            self.formulas.write(memory, [
                Element(e.value, Bounds(e.bounds.limbs, P256 - 1)) for e in elements])
        result = Pointer(Memory("affine", 3 * ELEMENT))
        machine.call("from_affine", [result, Pointer(x), Pointer(y), Word.constant(mask)])
        return result, symbols

    def affine(self):
        for mask in (0x55, 0xAA):
            pointer, (xs, ys) = self.affine_point(mask)
            self.require_bounds(pointer)
            for slot, (x, y, z) in enumerate(zip(*self.coordinates(pointer))):
                sign = -1 if mask >> slot & 1 else 1
                require((x, y, z) == (xs[slot], ys[slot].scaled(sign), one()),
                        "from_affine is not (x, +y or -y, 1)")
        yield "from_affine is (x, y, 1), or (x, -y, 1) in the mask's slots, within the bounds"

    def mixed_addition(self):
        for mask in (0x55, 0xAA):
            second, (x2, y2) = self.affine_point(mask)
            first, symbols = self.point(("X1", "Y1", "Z1"), self.bounds)
            result = Pointer(Memory("sum", 3 * ELEMENT))
            self.formulas.machine().call("add_mixed", [result, first, second])
            self.require_bounds(result)
            for slot, sums in enumerate(zip(*self.coordinates(result))):
                y = y2[slot].scaled(-1 if mask >> slot & 1 else 1)
                first_point = [s[slot] for s in symbols]
                require_sum(first_point, (x2[slot], y, one()), sums)
        yield from self.addition_lines("add_mixed", "Z1 (x2 Z1^2 - X1)")

    def general_addition(self):
        first, symbols = self.point(("X1", "Y1", "Z1"), self.bounds)
        for mask in (0x55, 0xAA):
            other, others = self.point(("X2", "Y2", "Z2"), self.bounds)
            second = Pointer(Memory("second", 3 * ELEMENT))
            self.formulas.machine().call(
                "negated_point_where", [second, Word.constant(mask), other])
            for slot, values in enumerate(zip(*self.coordinates(second))):
                sign = -1 if mask >> slot & 1 else 1
                x, y, z = (s[slot] for s in others)
                require(values == (x, y.scaled(sign), z), "negated_point_where has another sign")
            result = Pointer(Memory("sum", 3 * ELEMENT))
            self.formulas.machine().call("add_general", [result, first, second])
            self.require_bounds(result)
            for slot, sums in enumerate(zip(*self.coordinates(result))):
                x, y, z = (s[slot] for s in others)
                signed = (x, y.scaled(-1 if mask >> slot & 1 else 1), z)
                require_sum([s[slot] for s in symbols], signed, sums)
        yield from self.addition_lines("add_general", "Z1 Z2 (X2 Z1^2 - X1 Z2^2)")

    @staticmethod
    def addition_lines(name, z):
        yield (f"{name}: the bounds of every value compose, and those of the sum are those of "
               "the operands")
        yield f"{name}: X, Y, Z are the chord's sum of (X1, -Y1, Z1) and the second point"
        yield (f"{name}: Z is {z}: 0 for equal points, opposite points and Z1 = 0, and for no "
               "other")

    # The comparison

    def compared_x(self):
        """r Z^2 - X, and the decision about it."""
        point, (xs, _, zs) = self.point(("X", "Y", "Z"), self.bounds)
        numbers = Memory("numbers", 4 * SLOTS * 8)
        symbols = [self.formulas.symbol(f"r[{slot}]") for slot in range(SLOTS)]
        for slot, symbol in enumerate(symbols):
            for i, word in enumerate(self.formulas.register_words(Element(symbol, None))):
                numbers.write((slot * 4 + i) * 8, 8, word)
        found = []

        def note(machine, arguments):
            found.extend(self.formulas.read(arguments[0]))
            return Bits([UNKNOWN] * SLOTS)

        machine = self.formulas.machine(intercepts={"is_multiple_of_p": note})
        machine.call("has_x", [point, Pointer(numbers)])
        require(len(found) == SLOTS, "has_x decides about one element")
        for slot, element in enumerate(found):
            expected = (symbols[slot] * zs[slot] * zs[slot] - xs[slot]).scaled(
                self.formulas.inverse)
            require(element.value == expected, "x_minus is not (r Z^2 - X) / R")
            require(element.bounds.value <= P256, "the quotient can be more than p")
            require(max(element.bounds.limbs) < 1 << 52, "a number can have other limbs")
        yield "has_x decides about (r Z^2 - X) / R, which is from 0 to p: 0 or p for x = r mod p"

    def multiples_of_p(self):
        """The decision about each slot, as a condition about its limbs."""
        memory = Memory("quotient", ELEMENT)
        words = [[Word.variable(f"a{i}[{slot}]", 0, (1 << 64) - 1) for i in range(5)]
                 for slot in range(SLOTS)]
        for slot in range(SLOTS):
            for i in range(5):
                memory.write(SIGNATURES.offset(i, slot), 8, words[slot][i])
        result = Machine(self.module).call("is_multiple_of_p", [Pointer(memory)])
        limbs_of_p = [P256 >> 52 * i & (1 << 52) - 1 for i in range(5)]
        for slot, bit in enumerate(Bits.of(result, SLOTS)):
            expected = equal_limbs(words[slot], [0] * 5), equal_limbs(words[slot], limbs_of_p)
            require(bit is not UNKNOWN and not isinstance(bit, int) and
                    bit.key == ("or", frozenset(expected)),
                    f"slot {slot} of is_multiple_of_p is not: the limbs are those of 0 or of p")
        yield "is_multiple_of_p: in each slot, whether the limbs are those of 0 or of p"


def one():
    return Polynomial.constant(1, P256)


def equal_limbs(words, numbers):
    return ("and", frozenset(
        ("eq", (word.polynomial - number).key) for word, number in zip(words, numbers)))


def require_sum(first, second, result):
    """That a result is the sum of (X1, -Y1, Z1) and (X2, Y2, Z2) by the chord through both
    (SEC 1, section 2.2.1), multiplied by its denominators, and that its Z is Z1 Z2 H for
    H = X2 Z1^2 - X1 Z2^2, which is 0 for equal and opposite points only."""
    (x1, y1, z1), (x2, y2, z2), (x3, y3, z3) = first, second, result
    zz1, zz2 = z1 * z1, z2 * z2
    u, v = x1 * zz2, x2 * zz1
    h, rise = v - u, y2 * zz1 * z1 + y1 * zz2 * z2
    hh = h * h
    require(z3 == z1 * z2 * h, "Z of the sum is not Z1 Z2 H")
    require(x3 == rise * rise - (u + v) * hh, "X of the sum is not the chord's")
    require(y3 == rise * (u * hh - x3) + y1 * zz2 * z2 * hh * h,
            "Y of the sum is not the chord's")
