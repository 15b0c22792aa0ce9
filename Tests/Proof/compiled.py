"""The Swift of AssayCurves, compiled with fields whose operations make terms, and run."""
from algebra import Algebra, Element, Number
from decisions import ORDER
from fields import P256, P384
from polynomials import NotProven
from portable import ORDER_384
from running import Place, Runner, Space, copy, load, plus, store

# In the order of `tag` in Fields.swift.
MODULI = (P256, ORDER, P384, ORDER_384)


class Curve:
    """A curve, with the words of its numbers and the bits of its tables' windows."""

    def __init__(self, name, field, order, words, window_bits):
        self.name, self.field, self.order = name, field, order
        self.words, self.window_bits = words, window_bits

    @property
    def bits(self):
        return 64 * self.words

    @property
    def windows(self):
        return self.bits // self.window_bits + 1

    @property
    def window_points(self):
        return 1 << self.window_bits - 1

    @property
    def coordinate(self):
        """Bytes of a coordinate."""
        return 8 * self.words

    def points_of(self, window):
        """The last window has the remaining bits and the carry."""
        last = window == self.windows - 1
        return 1 << self.bits % self.window_bits if last else self.window_points


# Of enum assay_p256_vectors.
AVX2 = 1
CURVES = (Curve("p256", P256, ORDER, 4, 10), Curve("p384", P384, ORDER_384, 6, 8))


class Compiled:
    """A run of compiled functions, with the operations of fields and what the runtime does."""

    def __init__(self, module, algebra=None, **externals):
        self.algebra = algebra or Algebra()
        self.tested, self.done = [], set()
        # Answers whether an element is 0.
        self.zero = lambda element: 0
        # The words of an element's number.
        self.words_of = lambda element, position: Number(element, position)
        found = {
            "prove_add": self.algebra.add, "prove_subtract": self.algebra.subtract,
            "prove_multiply": self.algebra.multiply, "prove_invert": self.algebra.invert,
            "prove_element": self.element, "prove_number": self.number,
            "prove_is_zero": self.is_zero,
            "__swift_instantiateConcreteTypeFromMangledName": lambda a: Place(Space("type")),
            "swift_initStackObject": lambda kind, place: place,
            "swift_initStaticObject": lambda kind, place: place,
            "swift_getWitnessTable": lambda *a: Place(Space("witness table")),
            "swift_stdlib_isStackAllocationSafe": lambda size, alignment: 0,
            "swift_beginAccess": nothing, "swift_endAccess": nothing, "swift_release": nothing,
            "swift_retain": lambda a: a, "swift_once": self.once,
            "swift_slowAlloc": lambda size, alignment: Place(Space("buffer", size)),
            "swift_slowDealloc": nothing, "swift_deallocClassInstance": nothing,
            "swift_allocObject": lambda kind, size, alignment: Place(Space("object", size)),
            "swift_setDeallocating": nothing, "swift_isUniquelyReferenced_nonNull_native":
                lambda a: 1}
        self.runner = Runner(module, found | externals)
        self.runner.by_part |= {
            "_consumeAndCreateNew": grown, "_createNewBuffer": grown_in_place,
            "VMa": lambda *a: (Place(Space("type")), 0),
            "_makeUniqueAndReserveCapacityIfNot": nothing,
            "_appendElementAssumeUniqueAndCapacity": appended}
        empty = self.runner.global_place("@_swiftEmptyArrayStorage")
        for at in (0, 8, 16, 24):
            store(plus(empty, at), 8, 0)

    def call(self, name, *arguments):
        try:
            return self.runner.call(name, *arguments)
        except (TypeError, AttributeError, IndexError, ZeroDivisionError, OverflowError) as error:
            raise NotProven(f"an unknown value is used: {error}") from error

    def once(self, token, function, context=None):
        if token not in self.done:
            self.done.add(token)
            function(context)

    # The operations of fields

    def element(self, tag, words):
        count = 4 if tag < 2 else 6
        found = [load(plus(words, 8 * i), 8) for i in range(count)]
        if all(isinstance(word, int) for word in found):
            number = sum(word << 64 * i for i, word in enumerate(found))
            if number >= MODULI[tag]:
                raise NotProven("a number is not below the modulus")
            return self.algebra.constant(MODULI[tag], number)
        return self.of_words(tag, found)

    def of_words(self, tag, words):
        """The element for the number of another element."""
        if not all(isinstance(word, Number) and word.element is words[0].element
                   and word.position == i for i, word in enumerate(words)):
            raise NotProven("the words of a number are mixed")
        return self.algebra.term(MODULI[tag], "of", words[0].element.index)

    def number(self, element, words):
        if not isinstance(element, Element):
            raise NotProven("a word that is no element is used as one")
        count = 6 if element.modulus in MODULI[2:] else 4
        for i in range(count):
            word = (element.node[1] >> 64 * i & (1 << 64) - 1 if element.node[0] == "constant"
                    else self.words_of(element, i))
            store(plus(words, 8 * i), 8, word)

    def is_zero(self, element):
        if element.node[0] == "constant":
            return int(element.node[1] == 0)
        self.tested.append(element)
        return self.zero(element)

    # Memory

    def elements(self, curve, *elements):
        """Elements in memory."""
        place = Place(Space("elements", curve.coordinate * len(elements)))
        for i, element in enumerate(elements):
            write_element(plus(place, i * curve.coordinate), curve, element)
        return place

    @staticmethod
    def read(place, curve, count):
        found = [load(plus(place, i * curve.coordinate), 8) for i in range(count)]
        if not all(isinstance(element, Element) for element in found):
            raise NotProven("a coordinate is not written")
        return found


def write_element(place, curve, element):
    store(place, 8, element)
    for i in range(1, curve.words):
        store(plus(place, 8 * i), 8, 0)


def nothing(*arguments):
    return None


# Arrays of the standard library: a count at 16, twice the capacity at 24, and elements from 32 on.

def grown_in_place(is_unique, minimum, for_append, array):
    store(array, 8, grown(is_unique, minimum, for_append, load(array, 8)))


def appended(count, element, array):
    buffer = load(array, 8)
    store(plus(buffer, 16), 8, count + 1)
    store(plus(buffer, 32 + 8 * count), 8, element)


def grown(is_unique, minimum, for_append, buffer, *rest):
    """The standard library's: a larger array with the same elements."""
    capacity = load(plus(buffer, 24), 8) >> 1
    buffer = Place(buffer.object)
    new, end = Place(Space("array")), max(
        at + cell[0] for at, cell in buffer.object.cells.items())
    copy(new, buffer, end - buffer.offset)
    store(plus(new, 24), 8, 2 * max(minimum, 2 * capacity))
    return new
