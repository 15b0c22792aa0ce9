"""What each operation on field elements in vectors has to compute, and the proof that it does, for
all operands within given bounds."""
from fractions import Fraction
from math import floor

from execution import Infeasible
from llvm_lines import integer
from machine import Machine, explore
from memory import Memory, Pointer
from polynomials import NotProven, Polynomial, Variable
from values import Word

P256 = 2**256 - 2**224 + 2**192 + 2**96 - 1
P384 = 2**384 - 2**128 - 2**96 + 2**32 - 1
INT64 = integer(64)


class Shape:
    """How elements modulo a number are divided into limbs, and how many slots a vector has.

    An operation on elements that `are_reduced` takes and makes numbers below the modulus.
    """

    def __init__(self, name, limbs, bits, slots, radix_bits, modulus=P256, are_reduced=False):
        self.name, self.limbs, self.bits, self.slots = name, limbs, bits, slots
        self.radix, self.modulus, self.are_reduced = 1 << radix_bits, modulus, are_reduced

    def value(self, limbs):
        """The number of limbs: numbers or polynomials."""
        total = 0
        for i, limb in enumerate(limbs):
            total = limb * (1 << self.bits * i) + total
        return total

    @property
    def bytes(self):
        return self.limbs * self.slots * 8

    def offset(self, limb, slot):
        return (limb * self.slots + slot) * 8


class Bounds:
    """The largest limbs and the largest value of an element, in all slots."""

    def __init__(self, limbs, value):
        self.limbs, self.value = tuple(limbs), value

    @staticmethod
    def below(shape, k):
        """Carried limbs of a number that is below k p by its last limb."""
        top = int(Fraction(k) * P256) // (1 << shape.bits * (shape.limbs - 1)) - 1
        limbs = [(1 << shape.bits) - 1] * (shape.limbs - 1) + [top]
        return Bounds(limbs, shape.value(limbs))

    def are_within(self, other):
        return self.value <= other.value and all(
            a <= b for a, b in zip(self.limbs, other.limbs))

    @property
    def key(self):
        return self.limbs, self.value

    def joined(self, other):
        limbs = [max(pair) for pair in zip(self.limbs, other.limbs)]
        return Bounds(limbs, max(self.value, other.value))

    def multiple(self):
        """The value as a multiple of p, rounded up."""
        return f"{-(-self.value * 10000 // P256) / 10000:.4f} p"


class Operation:
    """A function of a formulas file.

    parameters: "element", "mask", a number's name, "words", "columns"
    computes: of the operands (polynomials, and numbers), `scale` times the result, modulo p
    result: "element", "columns" or "words"
    """

    def __init__(self, name, parameters, computes, text, scale=1, result="element", cases=(0,),
                 is_cut=False):
        self.name, self.parameters, self.computes = name, parameters, computes
        # Whether limbs are sums of parts, because their low and high bits are used apart.
        self.is_cut = is_cut or result == "words"
        self.text, self.scale, self.result, self.cases = text, scale, result, cases


def operations_of_signatures():
    r = 1 << 260
    element = "element"
    return {operation.name: operation for operation in (
        Operation("multiply", [element] * 2, lambda a, b: a * b, "a b / R", r),
        Operation("multiply_add", [element] * 3, lambda a, b, d: a * b + d * r,
                  "a b / R + d", r),
        Operation("multiply_both", [element] * 4, lambda a, b, d, e: a * b + d * e,
                  "(a b + d e) / R", r),
        Operation("square", [element], lambda a: a * a, "a a / R", r),
        Operation("negated", [element, "k"], lambda a, k: -a, "-a"),
        Operation("difference", [element] * 2, lambda a, b: a - b, "a - b"),
        Operation("choose", ["mask", element, element], lambda m, a, b: b if m else a,
                  "b in the mask's slots, a in others", cases=(0, 1)),
        Operation("negated_where", ["mask", element, "k"], lambda m, a, k: -a if m else a,
                  "-a in the mask's slots, a in others", cases=(0, 1)),
        Operation("one", [], lambda: Polynomial.constant(r), "R"),
        Operation("sum_x", [element] * 3, lambda s, h, v: s * s - h * r - v * (2 * r),
                  "r r / R - h - 2 v", r),
        Operation("divided_by_radix", [element], lambda a: a, "a / R", r),
        Operation("from_words", ["words"], lambda a: a, "the number of four words"),
    )}


def operations_of_pairs():
    r = 1 << 261
    element = "element"
    return {operation.name: operation for operation in (
        Operation("multiply", [element] * 2, lambda a, b: a * b, "a b / R", r),
        Operation("multiplied", [element] * 2, lambda a, b: a * b, "a b / R, not carried", r,
                  result="columns"),
        Operation("squared", [element], lambda a: a * a, "a a / R, not carried", r,
                  result="columns"),
        Operation("difference", [element] * 2, lambda a, b: a - b, "a - b"),
        Operation("reduced", ["columns", element], lambda a, b: a - b, "a - b"),
        Operation("fully_reduced", [element], lambda a: a, "a, below p"),
        Operation("one", [], lambda: Polynomial.constant(r), "R"),
        Operation("from_words", ["words"], lambda a: a, "the number of four words"),
        Operation("to_words", [element], lambda a: a, "the words of a number below 2^256",
                  result="words"),
    )}


def operations_of_numbers():
    element = "element"
    return {operation.name: operation for operation in (
        Operation("multiplied", [element] * 2, lambda a, b: a * b, "a b"),
        Operation("squared", [element], lambda a: a * a, "a a"),
        Operation("added", [element] * 2, lambda a, b: a + b, "a + b"),
        Operation("doubled", [element], lambda a: a + a, "2 a"),
        Operation("subtracted", [element] * 2, lambda a, b: a - b, "a - b"),
    )}


SIGNATURES = Shape("ifma", 5, 52, 8, 260)
PAIRS = Shape("avx2", 9, 29, 4, 261)
NUMBERS = Shape("p384", 6, 64, 1, 0, P384, are_reduced=True)
WORD_BITS = 64


class Fields:
    """The operations of one engine. Each is proven at its first use with bounds, once for them."""

    # Whether its source means sums that wrap around.
    may_wrap = False

    def __init__(self, module, shape, operations):
        self.module, self.shape, self.operations = module, shape, operations
        self.proven, self.instructions = {}, 0

    # Operands

    def cuts(self, name):
        """Where words and limbs are cut by `from_words` and `to_words`: hints only. A number is
        the sum of its parts, wherever it is cut."""
        ends = {self.shape.bits * i for i in range(self.shape.limbs)}
        ends |= {WORD_BITS * i for i in range(5)}
        if self.may_wrap:
            ends |= {32 * i for i in range(12)}
        return sorted(ends)

    def cut(self, name, start, high):
        """A word of variables for the parts of a number whose bits begin at `start`."""
        bits = high.bit_length()
        ends = [start] + [c for c in self.cuts(name) if start < c < start + bits] + [start + bits]
        polynomial = Polynomial.constant(0)
        for low, end in zip(ends, ends[1:]):
            part = Variable(f"{name}.{low - start}", 0, high >> (low - start) & (1 << end - low) - 1
                            if end == start + bits else (1 << end - low) - 1)
            polynomial = polynomial + Polynomial.of(part).scaled(1 << low - start)
        return Word(polynomial, 0, high)

    def words_operand(self, name):
        memory = Memory(name, 4 * self.shape.slots * 8)
        values = []
        for slot in range(self.shape.slots):
            words = [self.cut(f"{name}{i}[{slot}]", WORD_BITS * i, (1 << WORD_BITS) - 1)
                     for i in range(4)]
            for i, word in enumerate(words):
                memory.write((i * self.shape.slots + slot) * 8, 8, word)
            values.append(sum_of(words, WORD_BITS))
        return memory, values

    def element_operand(self, name, bounds, is_cut=False, columns=False):
        shape, first = self.shape, self.shape.limbs if columns else 0
        memory = Memory(name, shape.bytes * (2 if columns else 1))
        values = []
        for slot in range(shape.slots):
            limbs = [self.cut(f"{name}{i}[{slot}]", shape.bits * i, high) if is_cut else
                     Word.variable(f"{name}{i}[{slot}]", 0, high)
                     for i, high in enumerate(bounds.limbs)]
            for i, limb in enumerate(limbs):
                memory.write(shape.offset(first + i, slot), 8, limb)
            values.append(shape.value([limb.polynomial for limb in limbs]))
        return memory, values

    # Proofs

    def prove(self, name, bounds=(), numbers=()):
        """The bounds of the result for operands within `bounds`.

        numbers: the values of the parameters that are numbers.
        """
        key = (name, tuple(b.key for b in bounds), tuple(numbers))
        if key not in self.proven:
            operation = self.operations[name]
            try:
                results = [self.prove_case(operation, bounds, numbers, case)
                           for case in operation.cases]
            except NotProven as problem:
                raise NotProven(f"{self.shape.name} {name}: {problem}") from None
            result = results[0]
            for other in results[1:]:
                result = result.joined(other)
            self.proven[key] = result
        return self.proven[key]

    def prove_case(self, operation, bounds, numbers, case):
        results = []

        def run(prefix):
            machine = Machine(self.module, prefix, {"expect_below": self.expect_below})
            machine.arithmetic.may_wrap = self.may_wrap
            try:
                results.append(self.run_case(machine, operation, bounds, numbers, case))
            except Infeasible:
                pass
            self.instructions += machine.instructions_run
            return machine

        explore(run)
        result = results[0]
        for other in results[1:]:
            result = result.joined(other)
        return result

    def run_case(self, machine, operation, bounds, numbers, case):
        shape, arguments, values = self.shape, [], []
        bounds_left, numbers_left = list(bounds), list(numbers)
        intervals, masks = [], []
        for index, parameter in enumerate(operation.parameters):
            name = "abde"[index]
            if parameter == "mask":
                # Slots take turns, so that a slot that reads another one's bit is noticed.
                masks = [case ^ slot & 1 for slot in range(shape.slots)]
                arguments.append(Word.constant(sum(bit << i for i, bit in enumerate(masks))))
                values.append(masks)
                intervals.append(None)
            elif parameter == "words":
                memory, value = self.words_operand(name)
                arguments.append(Pointer(memory))
                values.append(value)
                intervals.append(Polynomial.of(Variable(name, 0, 2**256 - 1)))
            elif parameter in ("element", "columns"):
                bound = bounds_left.pop(0)
                memory, value = self.element_operand(
                    name, bound, operation.is_cut, parameter == "columns")
                if shape.are_reduced:
                    machine.arithmetic.naturals += [bound.value - number for number in value]
                    # A product with another number that is not negative.
                    machine.arithmetic.naturals += [
                        (bound.value - number) * other for number in value
                        for other in (values[0] if len(values) > 1 else value)]
                arguments.append(Pointer(memory))
                values.append(value)
                intervals.append(Polynomial.of(Variable(name, 0, bound.value)))
            else:
                number = numbers_left.pop(0)
                arguments.append(Word.constant(number))
                values.append([number] * shape.slots)
                intervals.append(number)
        result = self.call(machine, operation, arguments)
        outcome = None
        for slot in range(shape.slots):
            limbs = result[slot]
            row = [value[slot] for value in values]
            ends = [masks[slot] if interval is None else interval for interval in intervals]
            bound = self.check(machine, operation, limbs, row, ends)
            outcome = bound if outcome is None else outcome.joined(bound)
        return outcome

    def call(self, machine, operation, arguments):
        """The words of the result, for each slot."""
        shape = self.shape
        count = 4 if operation.result == "words" else shape.limbs
        is_columns = operation.result == "columns"
        memory = Memory("result", shape.slots * 8 * (2 * count if is_columns else count))
        position = Pointer(memory)
        order = arguments + [position] if operation.result == "words" else [position] + arguments
        machine.call(operation.name, order)
        first = shape.limbs if is_columns else 0
        return [[memory.read(shape.offset(first + i, slot), 8) for i in range(count)]
                for slot in range(shape.slots)]

    def check(self, machine, operation, limbs, operands, intervals):
        """That the result is right for every operand; returns its bounds."""
        if any(not isinstance(limb, Word) for limb in limbs):
            raise NotProven("a limb of the result is unknown")
        bits = WORD_BITS if operation.result == "words" else self.shape.bits
        total = sum_of(limbs, bits)
        expected = operation.computes(*operands)
        arithmetic, modulus = machine.arithmetic, self.shape.modulus
        least, most = arithmetic.bounds(total)
        if most < 0 or least > most:
            # What was decided about bits can't be.
            raise Infeasible
        for other in arithmetic.alternatives(total):
            multiple = (other.scaled(operation.scale) - expected).scaled(Fraction(1, modulus))
            if arithmetic.is_integer(multiple):
                break
        else:
            raise NotProven(f"the result is not {operation.text} modulo the prime")
        wanted = operation.computes(*intervals)
        high = wanted.bounds()[1] + modulus * multiple.bounds()[1]
        highs = [limb.high for limb in limbs]
        value = min(sum(h << bits * i for i, h in enumerate(highs)),
                    floor(high / operation.scale), most)
        if value >= modulus and (operation.name == "fully_reduced" or self.shape.are_reduced):
            raise NotProven("the result can be the prime or more")
        if operation.result == "words" and multiple.terms:
            raise NotProven("the words are another number, equal modulo p")
        # No limb is negative, so none is more than its share of the value.
        return Bounds([min(high, value >> bits * i) for i, high in enumerate(highs)], value)

    def expect_below(self, machine, arguments):
        """Checks a bound that the source names."""
        target, source, k = arguments
        shape = self.shape
        for slot in range(shape.slots):
            limbs = [source.memory.read(source.offset + shape.offset(i, slot), 8)
                     for i in range(shape.limbs)]
            if any(not isinstance(limb, Word) for limb in limbs):
                raise NotProven("expect_below of an unknown number")
            if shape.value([limb.high for limb in limbs]) >= Fraction(k) * P256:
                raise NotProven(f"a value exceeds the bound of the source, {k:.6g} p")
        machine.copy(target, source, shape.bytes)


def sum_of(words, bits):
    total = Polynomial.constant(0)
    for i, word in enumerate(words):
        total = total + word.polynomial.scaled(1 << bits * i)
    return total
