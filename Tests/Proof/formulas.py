"""The point formulas: operations on elements by their contracts, with bounds that compose, and the
algebra of the results."""
from fractions import Fraction

from conditions import Bits
from fields import Bounds
from machine import Machine
from memory import Memory, Pointer
from polynomials import NotProven, Polynomial, Variable
from values import UNKNOWN, Word


class Element:
    """An element with a value in the field: a polynomial modulo p, and bounds."""

    def __init__(self, value, bounds):
        self.value, self.bounds = value, bounds


class Formulas:
    """Runs functions of an engine whose operations on elements are replaced by what is proven of
    them: the bounds of the result, and its value in the field."""

    def __init__(self, fields, composed=()):
        """composed: operations that are executed, not replaced."""
        self.fields, self.shape, self.modulus = fields, fields.shape, fields.shape.modulus
        self.limbs, self.words = {}, {}
        self.inverse = pow(fields.shape.radix, -1, fields.shape.modulus)
        self.intercepts = {
            name: self.contract(operation) for name, operation in fields.operations.items()
            if name not in composed}
        self.intercepts["expect_below"] = self.expect_below

    def machine(self, prefix=(), intercepts=None):
        return Machine(self.fields.module, prefix, self.intercepts | (intercepts or {}))

    # Elements in memory

    def symbol(self, name):
        """A number of the field of which nothing is known."""
        return Polynomial.of(Variable(name, 0, self.modulus - 1), self.modulus)

    def write(self, memory, elements, first=0, start=0):
        """Writes an element for each slot; UNKNOWN in slots of which nothing is claimed."""
        for slot, element in enumerate(elements):
            for i in range(self.shape.limbs):
                word = UNKNOWN
                if element is not UNKNOWN:
                    word = Word.variable("l", 0, element.bounds.limbs[i])
                    for variable in word.polynomial.variables():
                        self.limbs[variable] = (element, i)
                memory.write(start + self.shape.offset(first + i, slot), 8, word)

    def placed(self, elements, name="element"):
        memory = Memory(name, self.shape.bytes)
        self.write(memory, elements)
        return Pointer(memory)

    def read(self, pointer, first=0, arithmetic=None):
        """The elements of all slots, with the bounds that decisions of the run give."""
        start = pointer.offset
        return [self.read_slot([
            pointer.memory.read(start + self.shape.offset(first + i, slot), 8)
            for i in range(self.shape.limbs)], arithmetic) for slot in range(self.shape.slots)]

    def read_slot(self, words, arithmetic):
        """The element of limbs that are sums of the same multiples of elements' limbs."""
        if any(word is UNKNOWN for word in words):
            return UNKNOWN
        if arithmetic and arithmetic.naturals:
            words = [arithmetic.tightened(word) for word in words]
        parts, constant = None, 0
        for i, word in enumerate(words):
            if not isinstance(word, Word):
                raise NotProven("a limb is no word")
            found = {}
            for monomial, coefficient in word.polynomial.terms.items():
                if not monomial:
                    constant += coefficient << self.shape.bits * i
                    continue
                if len(monomial) != 1 or monomial[0] not in self.limbs:
                    raise NotProven("a limb is not that of an element")
                element, index = self.limbs[monomial[0]]
                if index != i:
                    raise NotProven(f"limb {index} of an element is used as limb {i}")
                found[element] = coefficient
            if parts is None:
                parts = found
            elif not self.are_same(parts, found, i):
                raise NotProven("limbs of different elements are mixed")
            parts = parts | found
        value, high = Polynomial.constant(constant, self.modulus), constant
        for element, coefficient in parts.items():
            value = value + element.value.scaled(coefficient)
            high += max(0, coefficient) * element.bounds.value
        highs = [word.high for word in words]
        return Element(value, Bounds(highs, min(high, self.shape.value(highs))))

    @staticmethod
    def are_same(parts, found, index):
        """A limb that is 0 has no variable."""
        return all(
            parts.get(element) == found.get(element) or element.bounds.limbs[index] == 0
            or element not in parts and not any(element.bounds.limbs[:index])
            for element in parts | found)

    # Contracts

    def contract(self, operation):
        def apply(machine, arguments):
            return self.apply(machine, operation, arguments)
        return apply

    def apply(self, machine, operation, arguments):
        arguments = list(arguments)
        target = arguments.pop() if operation.result == "words" else arguments.pop(0)
        operands, bounds, numbers = [], [], []
        for parameter, argument in zip(operation.parameters, arguments):
            if parameter in ("element", "columns"):
                slots = self.read(argument, self.shape.limbs if parameter == "columns" else 0,
                                  machine.arithmetic)
                known = [slot.bounds for slot in slots if slot is not UNKNOWN]
                if not known:
                    known = [Bounds([0] * self.shape.limbs, 0)]
                bound = known[0]
                for other in known[1:]:
                    bound = bound.joined(other)
                operands.append([s if s is UNKNOWN else s.value for s in slots])
                bounds.append(bound)
            elif parameter == "mask":
                operands.append([bit if isinstance(bit, int) else UNKNOWN
                                 for bit in Bits.of(argument, self.shape.slots)])
            elif parameter == "words":
                operands.append(self.read_words(argument))
            else:
                operands.append([argument.number] * self.shape.slots)
                numbers.append(argument.number)
        result = self.fields.prove(operation.name, bounds, numbers)
        factor = self.inverse if operation.scale != 1 else 1
        elements = []
        for slot in range(self.shape.slots):
            row = [operand[slot] for operand in operands]
            if any(x is UNKNOWN for x in row):
                elements.append(UNKNOWN)
                continue
            value = operation.computes(*row)
            terms = {m: c % self.modulus for m, c in value.terms.items()}
            value = Polynomial({m: c for m, c in terms.items() if c}, self.modulus)
            elements.append(Element(value.scaled(factor), result))
        self.write_result(operation, target, elements)

    def write_result(self, operation, target, elements):
        if operation.result == "words":
            self.write_words(target, elements)
        else:
            first = self.shape.limbs if operation.result == "columns" else 0
            self.write(target.memory, elements, first, target.offset)

    def expect_below(self, machine, arguments):
        target, source, k = arguments
        for element in self.read(source):
            if element is not UNKNOWN and element.bounds.value >= Fraction(k) * self.modulus:
                raise NotProven(f"a value can be {element.bounds.multiple()}, the bound of the "
                                f"source is {k:.6g} p")
        machine.copy(target, source, self.shape.bytes)

    # Coordinates in memory: four words

    def register_words(self, element):
        """New words of a number below 2^256 with an element's value."""
        words = [Word.variable("w", 0, (1 << 64) - 1) for _ in range(4)]
        for i, word in enumerate(words):
            self.words[word.polynomial.key] = (element, i)
        return words

    def read_words(self, pointer):
        """The value of each slot's words."""
        values = []
        for slot in range(self.shape.slots):
            found = []
            for i in range(4):
                word = pointer.memory.read(pointer.offset + (i * self.shape.slots + slot) * 8, 8)
                found.append(UNKNOWN if word is UNKNOWN else
                             self.words.get(word.polynomial.key, (word, i)))
            if any(f is UNKNOWN for f in found):
                values.append(UNKNOWN)
                continue
            element = found[0][0]
            if any(f[0] is not element or f[1] != i for i, f in enumerate(found)):
                raise NotProven("words of different numbers are mixed, or in another order")
            values.append(element.value)
        return values

    def write_words(self, target, elements):
        for slot, element in enumerate(elements):
            words = [UNKNOWN] * 4 if element is UNKNOWN else self.register_words(element)
            for i, word in enumerate(words):
                target.memory.write(target.offset + (i * self.shape.slots + slot) * 8, 8, word)
