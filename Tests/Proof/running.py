"""Runs compiled Swift fast, on numbers, addresses and values that it only passes on.

Each function of LLVM's text form becomes one in Python. What stands for an unknown value is an
`Opaque`: it can be loaded, stored, chosen and passed, and every other use is an error.
"""
from polynomials import NotProven


FAR = 1 << 40


class Opaque:
    """A value that the program passes on. Neither arithmetic nor a comparison of it is known."""

    def __eq__(self, other):
        raise NotProven("an element is compared as a word")

    __hash__ = None

    def __bool__(self):
        raise NotProven("a choice depends on an element's word")


class Place:
    """An address: an object and an offset."""

    __slots__ = ("object", "offset")

    def __init__(self, object, offset=0):
        self.object, self.offset = object, offset

    def __eq__(self, other):
        return isinstance(other, Place) and (
            self.object is other.object and self.offset == other.offset)

    def __hash__(self):
        return hash((id(self.object), self.offset))

    # As an integer, which spans of octets keep.

    def __add__(self, number):
        return Place(self.object, self.offset + signed(number, 64))

    __radd__ = __add__

    def __sub__(self, other):
        """The distance of two addresses: large for two objects, which do not overlap."""
        if isinstance(other, Place):
            return self.offset - other.offset if self.object is other.object else FAR
        return Place(self.object, self.offset - signed(other, 64))

    def __and__(self, mask):
        if mask != (1 << 64) - 1:
            raise NotProven("bits of an address are used")
        return self

    def offset_in(self, other):
        if self.object is not other.object:
            raise NotProven("addresses in two objects are ordered")
        return self.offset


class Space:
    """An object in memory: cells of a scalar each."""

    def __init__(self, name, size=None):
        self.name, self.size, self.cells, self.grain = name, size, {}, None

    def write(self, offset, size, value):
        if offset < 0 or self.size is not None and offset + size > self.size:
            raise NotProven(f"a store outside of {self.name}")
        if self.grain != size or offset % size:
            self.grain = size if self.grain is None and offset % size == 0 else 0
        if not self.grain:
            cell = self.cells.get(offset)
            if cell is None or cell[0] != size:
                self.clear(offset, size)
        self.cells[offset] = (size, value)

    def clear(self, offset, size):
        """Removes cells that overlap; of numbers the other octets are kept."""
        for at in range(offset - 15, offset + size):
            cell = self.cells.get(at)
            if cell is None or at + cell[0] <= offset:
                continue
            del self.cells[at]
            if isinstance(cell[1], int):
                for i in range(cell[0]):
                    if not offset <= at + i < offset + size:
                        self.cells[at + i] = (1, cell[1] >> 8 * i & 255)

    def read(self, offset, size):
        cell = self.cells.get(offset)
        if cell is not None and cell[0] == size:
            return cell[1]
        if cell is not None and cell[0] > size and hasattr(cell[1], "low_part"):
            return cell[1].low_part(size)
        if size == 16 and cell is not None and hasattr(cell[1], "with_high"):
            return cell[1].with_high(self.read(offset + 8, 8))
        return int.from_bytes(self.octets(offset, size), "little")

    def octets(self, offset, size):
        if offset < 0 or self.size is not None and offset + size > self.size:
            raise NotProven(f"a load outside of {self.name}")
        for i in range(offset, offset + size):
            for at in range(i, i - 16, -1):
                cell = self.cells.get(at)
                if cell is not None and at + cell[0] > i:
                    break
            else:
                raise NotProven(f"{self.name} is read where nothing was written")
            if not isinstance(cell[1], int):
                raise NotProven(f"a part of a value in {self.name} is read")
            yield cell[1] >> 8 * (i - at) & 255


def plus(place, offset):
    if isinstance(place, int):
        # Near null: an address that nothing is loaded from.
        return place + offset & (1 << 64) - 1
    return Place(place.object, place.offset + offset)


def load(place, size):
    return place.object.read(place.offset, size)


def store(place, size, value):
    place.object.write(place.offset, size, value)


def copy(target, source, size):
    start, end = source.offset, source.offset + size
    found, at = [], start
    while at < end:
        cell = source.object.cells.get(at)
        if cell is None:
            # Padding, or a part of a cell.
            cell = 1, None
            try:
                cell = 1, source.object.read(at, 1)
            except NotProven:
                pass
        if at + cell[0] > end:
            raise NotProven("a part of a value is copied")
        if cell[1] is not None:
            found.append((at - start, cell))
        at += cell[0]
    target.object.clear(target.offset, size)
    for at, (width, value) in found:
        target.object.write(target.offset + at, width, value)


def fill(place, octet, size):
    at = 0
    while at < size:
        step = 8 if size - at >= 8 and (place.offset + at) % 8 == 0 else 1
        place.object.write(
            place.offset + at, step, int.from_bytes(bytes([octet]) * step, "little"))
        at += step


def signed(a, bits):
    return a - (1 << bits) if a >> bits - 1 else a


def quotient(a, b, bits):
    a, b = signed(a, bits), signed(b, bits)
    return (abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) & (1 << bits) - 1


def remainder(a, b, bits):
    q = signed(quotient(a, b, bits), bits)
    return (signed(a, bits) - q * signed(b, bits)) & (1 << bits) - 1


def overflow(result, bits, is_signed):
    mask = (1 << bits) - 1
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, mask)
    return result & mask, int(not least <= result <= most)


class Named:
    """The address of a global thing in a constant."""

    def __init__(self, runner, name):
        self.runner, self.name = runner, name.strip('@"')

    def __call__(self, *arguments):
        return self.runner.function(self.name)(*arguments)


def apply(function, *arguments):
    """A call of a pointer. The context of a closure is the last argument; code without one has no
    parameter for it."""
    if isinstance(function, Named):
        function = function.runner.function(function.name)
    return function(*arguments[:function.__code__.co_argcount])


def stopped(reason):
    raise NotProven(f"the program stops: {reason}")


class Runner:
    """`externals`: functions by their names, called instead of those of the module."""

    def __init__(self, module, externals):
        self.module, self.externals = module, externals
        self.functions, self.globals = {}, {}
        # Functions of which a part of the name is known.
        self.by_part = {}

    @staticmethod
    def translation():
        from translation import Translation
        return Translation

    def scope(self):
        return {}

    def call(self, name, *arguments):
        return self.function(name)(*arguments)

    def function(self, name):
        if name in self.externals:
            return self.externals[name]
        for part, function in self.by_part.items():
            if part in name:
                return function
        if name not in self.functions:
            source = self.module.functions.get(name)
            if source is None:
                raise NotProven(f"no model of the function {name}")
            self.functions[name] = self.translation()(self, source).function()
        return self.functions[name]

    def global_place(self, name):
        if name.strip('@"') in self.module.functions or name.strip('@"') in self.externals:
            return self.function(name.strip('@"'))
        if name not in self.globals:
            self.globals[name] = Place(Space(name))
            self.initialise(name, self.globals[name])
        return self.globals[name]

    def initialise(self, name, place):
        operand = self.module.globals.get(name)
        if operand is None or operand.value is None:
            return
        self.put(place, 0, operand.type, operand.value)

    def put(self, place, at, type, value):
        if isinstance(value, str) and value.startswith("@"):
            # Functions are found when they are called.
            store(plus(place, at), 8, Named(self, value))
        elif type.kind in ("array", "vector"):
            for i in range(type.count):
                one = value[i] if isinstance(value, list) else value
                self.put(place, at + i * type.element.size, type.element, one)
        elif type.kind == "struct":
            for i, part in enumerate(type.parts):
                one = value[i] if isinstance(value, list) else value
                self.put(place, at + type.offset(i), part, one)
        elif type.kind in ("int", "ptr") and isinstance(value, int):
            size = type.size
            store(plus(place, at), size, value & (1 << 8 * size) - 1)
