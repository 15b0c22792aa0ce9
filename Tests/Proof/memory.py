"""Objects in memory, and addresses in them."""
from polynomials import NotProven, Polynomial
from values import UNKNOWN, Word


class Memory:
    """An object in memory: cells of a scalar each."""

    def __init__(self, name, size=None, base=None):
        self.name, self.size, self.cells, self.base = name, size, {}, base
        # The size of all cells, at multiples of it; 0 if they differ.
        self.grain = None

    def write(self, offset, size, value):
        if self.grain != size or offset % size:
            self.grain = size if self.grain is None and offset % size == 0 else 0
        if not self.grain:
            cell = self.cells.get(offset)
            if cell is None or cell[0] != size:
                self.clear(offset, size)
        self.cells[offset] = (size, value)

    def clear(self, offset, size):
        """Removes cells that overlap; known numbers leave their other octets."""
        for at in range(offset - 7, offset + size):
            cell = self.cells.get(at)
            if cell is None or at + cell[0] <= offset:
                continue
            del self.cells[at]
            if isinstance(cell[1], Word) and cell[1].number is not None:
                for i in range(cell[0]):
                    if not offset <= at + i < offset + size:
                        octet = cell[1].number >> (8 * i) & 255
                        self.cells[at + i] = (1, Word.constant(octet))

    def read(self, offset, size):
        cell = self.cells.get(offset)
        if cell is not None and cell[0] == size:
            return cell[1]
        return self.assembled(offset, size)

    def assembled(self, offset, size):
        """A number from parts of cells with known numbers."""
        number = 0
        for i in range(size):
            octet = self.octet(offset + i)
            if octet is None:
                return UNKNOWN
            number |= octet << (8 * i)
        return Word.constant(number)

    def octet(self, offset):
        for at in range(offset, offset - 8, -1):
            cell = self.cells.get(at)
            if cell is not None and at + cell[0] > offset:
                known = isinstance(cell[1], Word) and cell[1].number is not None
                return cell[1].number >> (8 * (offset - at)) & 255 if known else None
        return None


class Pointer:
    """An address: an object and an offset, a number or a polynomial."""

    def __init__(self, memory, offset=0):
        self.memory, self.offset = memory, offset

    def plus(self, more):
        total = self.offset + more
        if isinstance(total, Polynomial) and total.number is not None:
            total = total.number
        return Pointer(self.memory, total)

    def __repr__(self):
        return f"&{self.memory.name}+{self.offset}"


class Recast:
    """A vector whose elements were given another size."""

    def __init__(self, values, bits):
        self.values, self.bits = values, bits


class UnknownMemory:
    name, base, size = "unknown", None, None

    def load(self, machine, pointer, type):
        return [UNKNOWN] * type.count if type.kind == "vector" else UNKNOWN

    def store(self, machine, pointer, type, value):
        raise NotProven("a store at an unknown address")


UNKNOWN_MEMORY = UnknownMemory()
