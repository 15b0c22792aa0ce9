"""The fields and scalars in Swift: numbers of words below a prime."""
import re

from decisions import ORDER
from fields import P256, P384, Bounds, Fields, Operation, Shape
from machine import Machine
from memory import Memory, Pointer
from polynomials import Polynomial, Variable
from signatures import require
from values import Word

ORDER_384 = int("ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf"
                "581a0db248b0a77aecec196accc52973", 16)
# The files of AssayCurves that are compiled: what is proven, and what that needs.
FILES = (
    "Field/*.swift", "P256/P256.swift", "P256/P256Field.swift", "P256/P256Order.swift",
    "P384/P384Field.swift", "P384/P384Order.swift", "P384/Words6.swift",
    "Point/ExtendedJacobianPoint.swift", "Point/FixedBaseTable.swift", "Point/JacobianPoint.swift",
    "Point/PrimeCurve.swift", "Point/SignedDigits.swift", "Verification/ECDSANumbers.swift")
# Each type, its words, the bits of R, and its prime.
FIELDS = (("P256Field", 4, 256, P256), ("P256Order", 4, 256, ORDER), ("P384Field", 6, 0, P384),
          ("P384Order", 6, 0, ORDER_384))


class SwiftFields(Fields):
    may_wrap = True

    def call(self, machine, operation, arguments):
        """Four words are arguments and results themselves; six are in memory, as in C."""
        symbol = self.symbols[operation.name]
        if operation.name == "inverted":
            self.replace_inverse(machine)
        if self.shape.limbs == 6:
            machine.intercepts[operation.name] = lambda m, a: m.call(symbol, a)
            return super().call(machine, operation, arguments)
        words = [pointer.memory.read(8 * i, 8) for pointer in arguments for i in range(4)]
        return [machine.call(symbol, words)]


    def replace_inverse(self, machine):
        """ModularInverse returns its operand; what it knows of the modulus is checked."""
        limbs = self.shape.limbs

        def inverse(machine, arguments):
            own = arguments[-1]
            found = [own.memory.read(own.offset + 8 * i, 8).number for i in range(limbs + 2)]
            modulus = self.shape.modulus
            require(found == [modulus >> 62 * i & (1 << 62) - 1 for i in range(limbs + 1)]
                    + [pow(modulus, -1, 1 << 62)], "the inverse is that of another modulus")
            if limbs == 4:
                return arguments[:4]
            machine.copy(arguments[0], arguments[1], 48)

        def once(machine, arguments):
            machine.call(arguments[1].memory.name.strip('@"'), [None])

        (name,) = [n for n in self.module.functions if re.search(
            r"14ModularInverseV7inverse2of.*Words" + str(limbs) + "VTg5$", n)]
        machine.intercepts |= {name: inverse, "swift_once": once}


# The names of operators in symbols.
SYMBOLS = {"multiplied": "V1moiyA2C_ACtFZ", "squared": "V7squaredACyF", "added": "V1poiyA2C_ACtFZ",
           "subtracted": "V1soiyA2C_ACtFZ", "init": "VyAcA6Words4VcfC",
           "inverted": "V8invertedACyF", "number": "V6numberAA6Words4Vvg",
           "product": "V7productyAA6Words4VAFF"}


class Portable:
    def __init__(self, module, name, limbs, radix_bits, modulus):
        r, divided = 1 << radix_bits, " / R" if radix_bits else ""
        operations = {o.name: o for o in (
            Operation("multiplied", ["element"] * 2, lambda a, b: a * b, f"a b{divided}", r),
            Operation("squared", ["element"], lambda a: a * a, f"a a{divided}", r),
            Operation("added", ["element"] * 2, lambda a, b: a + b, "a + b"),
            Operation("subtracted", ["element"] * 2, lambda a, b: a - b, "a - b"),
            # To and from Montgomery's form, and a product of both forms.
            Operation("init", ["element"], lambda a: a * r * r, "a R", r),
            Operation("inverted", ["element"], lambda a: a * r * r * r if r > 1 else a,
                      "a R^2 with a for 1 / a" if r > 1 else "a with a for 1 / a", r),
            Operation("number", ["element"], lambda a: a, "a / R", r, is_cut=True),
            Operation("product", ["element"] * 2, lambda a, b: a * b, "a b / R", r))}
        if radix_bits == 0:
            # These numbers are their own form.
            operations = {n: o for n, o in operations.items() if n not in
                          ("init", "number", "product")}
        elif name == "P256Field":
            del operations["product"]
        self.name, self.fields = name, SwiftFields(
            module, Shape(name, limbs, 64, 1, radix_bits, modulus, are_reduced=True), operations)
        self.fields.symbols = {
            operation: f"$s11AssayCurves{len(name)}{name}{symbol}"
            for operation, symbol in SYMBOLS.items()}
        self.bounds = Bounds([(1 << 64) - 1] * limbs, modulus - 1)

    def operations(self):
        for operation in self.fields.operations.values():
            self.fields.prove(operation.name, [self.bounds] * len(operation.parameters))
            yield (f"{self.name}: {operation.name} is {operation.text} modulo its prime and below "
                   "it, for all operands below it")


def digits(module, words, window_bits):
    """SignedDigits.write: the digits of every scalar of a number of words."""
    scalar = [cut_word(i, window_bits) for i in range(words)]
    count = 64 * words // window_bits + 1
    machine, memory = Machine(module), Memory("digits", 2 * count)
    machine.arithmetic.may_wrap = True
    source = Memory("scalar", 8 * words)
    for i, word in enumerate(scalar):
        source.write(8 * i, 8, word)
    arguments = scalar if words == 4 else [Pointer(source)]
    machine.call(f"$s11AssayCurves12provenDigitsyyAA6Words{words}V_Spys5Int16VGtF",
                 [*arguments, Pointer(memory)])
    total, half = Polynomial.constant(0), 1 << window_bits - 1
    for i in range(count):
        digit = memory.read(2 * i, 2)
        require(isinstance(digit, Word), "a digit is not written")
        digit = machine.arithmetic.tightened(digit)
        last = i == count - 1
        least, most = (0, 1 << 64 * words % window_bits) if last else (-half, half - 1)
        require(least <= digit.low and digit.high <= most, "a digit is out of its range")
        total = total + digit.polynomial.scaled(1 << window_bits * i)
    value = Polynomial.constant(0)
    for i, word in enumerate(scalar):
        value = value + word.polynomial.scaled(1 << 64 * i)
    require(total == value, "the digits do not sum to the scalar")
    yield (f"SignedDigits: {count} digits of {window_bits} bits sum to the scalar, for all of "
           f"{64 * words} bits; each is from {-half} to {half - 1}, the last from 0 to {most}")


def cut_word(index, window_bits):
    """A word as the sum of its parts between the windows."""
    start, end = 64 * index, 64 * (index + 1)
    ends = sorted({start, end} | {b for b in range(0, end, window_bits) if b > start})
    polynomial = Polynomial.constant(0)
    for low, high in zip(ends, ends[1:]):
        part = Variable(f"u{low}", 0, (1 << high - low) - 1)
        polynomial = polynomial + Polynomial.of(part).scaled(1 << low - start)
    return Word(polynomial, 0, (1 << 64) - 1)
