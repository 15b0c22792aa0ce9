"""The engine of four pairs of points (pairs.c): affine sums with a shared inversion."""
from conditions import Bits, Condition
from fields import P256, PAIRS, Bounds, Fields, operations_of_pairs
from formulas import Element, Formulas
from machine import Machine, explore
from memory import Memory, Pointer
from polynomials import Polynomial, Variable
from signatures import require
from values import UNKNOWN, Word

SLOTS, ELEMENT, R = PAIRS.slots, PAIRS.bytes, PAIRS.radix


class Pairs:
    # How coordinates are loaded and stored.
    @property
    def points(self):
        return Points(self)

    def __init__(self, module, shape=PAIRS):
        self.module = module
        self.fields = Fields(module, shape, operations_of_pairs())
        self.formulas = Formulas(self.fields)
        # Of coordinates below p.
        words = self.fields.prove("from_words")
        self.coordinate = Bounds(words.limbs, P256 - 1)

    def field_operations(self):
        def below(*multiples):
            return [Bounds.below(PAIRS, k) for k in multiples]

        wide = Bounds([3 << 29] * 8 + [3 << 25], 3 * P256)
        for name, bounds, numbers, text in (
                ("multiply", [*below(1.11), wide], (), "1.11 p, 3 p not carried"),
                ("squared", below(1.12), (), "1.12 p"),
                ("multiplied", [*below(1.12), wide], (), "1.12 p, 3 p not carried"),
                ("difference", [self.coordinate] * 2, (), "1 p, 1 p"),
                ("one", [], (), ""), ("from_words", [], (), "any"),
                ("fully_reduced", below(1.99), (), "1.99 p"),
                ("to_words", below(1), (), "1 p")):
            result = self.fields.prove(name, bounds, numbers)
            yield (f"{name}({text}) is {self.fields.operations[name].text} modulo p, below "
                   f"{result.multiple()}")
        require(self.fields.prove("fully_reduced", below(1.99)).value < P256, "p is not subtracted")
        yield "fully_reduced is below p"

    # The formula

    def operand(self, name, bounds, scale=R):
        symbols = [self.formulas.symbol(f"{name}[{slot}]") for slot in range(SLOTS)]
        pointer = self.formulas.placed([Element(s.scaled(scale), bounds) for s in symbols])
        return pointer, symbols

    def sum_of_pair(self):
        """add_pair, given 1 / (x2 - x1), is the chord's sum."""
        pair, names = Memory("pair", 4 * ELEMENT), ("x1", "y1", "x2", "y2")
        symbols = []
        for at, name in enumerate(names):
            source, row = self.operand(name, self.coordinate)
            for offset, cell in source.memory.cells.items():
                pair.write(at * ELEMENT + offset, *cell)
            symbols.append(row)
        inverse, inverses = self.operand("i", Bounds.below(PAIRS, 1.11))
        x, y = (Pointer(Memory(name, ELEMENT)) for name in "xy")
        self.formulas.machine().call("add_pair", [Pointer(pair), inverse, x, y])
        results = [self.formulas.read(pointer) for pointer in (x, y)]
        for slot in range(SLOTS):
            x1, y1, x2, y2 = (row[slot] for row in symbols)
            slope = (y2 - y1) * inverses[slot]
            x3, y3 = (r[slot].value.scaled(self.formulas.inverse) for r in results)
            require(x3 == slope * slope - x1 - x2, "x is not that of the chord")
            require(y3 == slope * (x1 - x3) - y1, "y is not that of the chord")
        yield "add_pair: every value is within its bound; x and y are the chord's sum, given " \
              "1 / (x2 - x1)"

    # Comparisons

    def equal_words(self):
        memories, words = [], []
        for name in "ab":
            memory = Memory(name, 4 * SLOTS * 8)
            row = [[Word.variable(f"{name}{i}[{slot}]", 0, (1 << 64) - 1) for i in range(4)]
                    for slot in range(SLOTS)]
            for slot in range(SLOTS):
                for i in range(4):
                    memory.write((i * SLOTS + slot) * 8, 8, row[slot][i])
            memories.append(memory)
            words.append(row)
        equal = Memory("equal", 8 * SLOTS)
        result = Machine(self.module).call(
            "are_equal", [Pointer(memories[0]), Pointer(memories[1]), Pointer(equal)])
        keys = [("and", frozenset(("eq", (a.polynomial - b.polynomial).key)
                                  for a, b in zip(words[0][slot], words[1][slot])))
                for slot in range(SLOTS)]
        for slot in range(SLOTS):
            bits = Bits.of(equal.read(8 * slot, 8), 64)
            require(isinstance(bits[0], Condition) and bits[0].key == keys[slot]
                    and not any(bits[1:]), "equal is not 1 where all four words are equal")
        require(result.key == ("or", frozenset(keys)), "are_equal misses a slot")
        yield "are_equal: 1 in each slot where four words equal four others, and whether any do"

    def rows(self):
        """reduced_to_rows: the words of a number that is nearly below p."""
        paths = 0

        def run(prefix):
            machine = self.formulas.machine(prefix)
            source, symbols = self.operand("a", Bounds.below(PAIRS, 1.00001), 1)
            rows = Memory("rows", 4 * SLOTS * 8)
            machine.call("reduced_to_rows", [source, Pointer(rows)])
            for slot, symbol in enumerate(symbols):
                self.require_words(rows, slot * 32, symbol)
            return machine

        paths = explore(run)
        yield f"reduced_to_rows: the words of each slot's number modulo p, below p ({paths} paths)"

    def require_words(self, memory, offset, value):
        words = [memory.read(offset + 8 * i, 8) for i in range(4)]
        require(UNKNOWN not in words, "a word is not written")
        found = [self.formulas.words.get(word.polynomial.key) for word in words]
        require(None not in found, "a word is not that of a number")
        element = found[0][0]
        require([(element, i) for i in range(4)] == found, "words are in another order")
        require(element.value == value, "the words are those of another number")
        require(element.bounds.value < P256, "the words can be those of a number above p")

    # All pairs

    def all_pairs(self):
        paths = 0
        for count in range(1, 3 * SLOTS + 2):
            def run(prefix, count=count):
                call = Pass(self, count, prefix, may_be_equal=count <= SLOTS)
                call.check()
                return call.machine

            paths += explore(run)
        yield ("assay_p256_multiply_differences: for 1 to 13 pairs each slot's product is that of "
               "its differences, with 1 for 0, and says whether any is 0")
        yield ("assay_p256_add_pairs: given the inverses of the products, each pair's sum gets "
               f"1 / (x2 - x1) and goes to its place, after the last use of that ({paths} paths)")


class Points(Memory):
    """The points, by their indices: words of coordinates below p."""

    def __init__(self, proof):
        super().__init__("points")
        self.proof, self.known, self.stored, self.loads = proof, {}, {}, []

    def element(self, key):
        if key not in self.known:
            symbol = self.proof.formulas.symbol("c")
            self.known[key] = Element(symbol.scaled(R), self.proof.coordinate)
            self.known[key].words = self.proof.formulas.register_words(self.known[key])
        return self.known[key]

    def load(self, machine, pointer, type):
        if type.kind == "struct":
            return [self.load(machine, pointer, type.parts[0])]
        require(type.kind == "vector" and type.count == 4, "a load that is no coordinate")
        self.loads.append((pointer.offset.key, len(self.stored)))
        return self.element(pointer.offset.key).words

    def store(self, machine, pointer, type, value):
        if type.kind == "struct":
            value = value[0]
        self.stored[pointer.offset.key] = value


class Pass:
    """Both functions for a number of pairs."""

    def __init__(self, proof, count, prefix, may_be_equal):
        self.proof, self.count, self.may_be_equal = proof, count, may_be_equal
        self.formulas, self.points = proof.formulas, proof.points
        self.machine = proof.formulas.machine(
            prefix, {"are_equal": self.are_equal, "add_pair": self.add_pair,
                     "reduced_to_rows": self.reduced_to_rows})
        indices = [[Variable(f"{name}{i}", 0, (1 << 32) - 1) for i in range(count)]
                   for name in ("first", "sum")]
        self.first, self.sum = ([Polynomial.of(v) for v in row] for row in indices)
        self.equal, self.calls = set(), []

    def indices(self, name, polynomials):
        memory = Memory(name, 4 * self.count)
        for i, polynomial in enumerate(polynomials):
            memory.write(4 * i, 4, Word(polynomial, 0, (1 << 32) - 1))
        return Pointer(memory)

    def pair(self, group, slot):
        """Slots after the last pair have its points again."""
        return min(group * SLOTS + slot, self.count - 1)

    def coordinate(self, pair, point, at):
        offset = self.first[pair].scaled(64) + (64 * point + 32 * at)
        return self.points.element(offset.key)

    def difference(self, pair):
        if pair in self.equal:
            return Polynomial.constant(1, P256)
        values = [self.coordinate(pair, i, 0).value for i in range(2)]
        return (values[1] - values[0]).scaled(self.formulas.inverse)

    # Functions with contracts of their own

    def are_equal(self, machine, arguments):
        first, second, equal = arguments
        any_equal = 0
        for slot in range(SLOTS):
            words = [[pointer.memory.read(pointer.offset + (i * SLOTS + slot) * 8, 8)
                      for i in range(4)] for pointer in (first, second)]
            pair = next((p for p in range(self.count) if all(
                words[i] == self.coordinate(p, i, 0).words for i in range(2))), None)
            require(pair is not None, "other words than x1 and x2 of a pair are compared")
            bit = machine.decide(("equal", pair)) if self.may_be_equal else 0
            if bit:
                self.equal.add(pair)
            equal.memory.write(equal.offset + 8 * slot, 8, Word.constant(bit))
            any_equal |= bit
        return any_equal

    def add_pair(self, machine, arguments):
        pair, inverse, x, y = arguments
        group = len(self.calls)
        groups = -(-self.count // SLOTS)
        results = []
        for slot, element in enumerate(self.formulas.read(inverse)):
            wanted = self.inverses[slot].scaled(R)
            for other in range(groups):
                if other != group:
                    wanted = wanted * self.difference(self.pair(other, slot))
            require(element.value == wanted, "an inverse is not that of its difference")
            require(element.bounds.are_within(Bounds.below(PAIRS, 1.11)),
                    "an inverse exceeds the bound that add_pair is proven for")
        for at, position in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
            for slot, element in enumerate(self.formulas.read(pair.plus(at * ELEMENT))):
                wanted = self.coordinate(self.pair(group, slot), *position)
                require(element.value == wanted.value, "a pair has a coordinate of another point")
        for target in (x, y):
            symbols = [self.formulas.symbol("s") for _ in range(SLOTS)]
            bounds = Bounds.below(PAIRS, 1.00001)
            self.formulas.write(
                target.memory, [Element(s, bounds) for s in symbols], start=target.offset)
            results.append(symbols)
        self.calls.append(results)

    def reduced_to_rows(self, machine, arguments):
        source, rows = arguments
        for slot, element in enumerate(self.formulas.read(source)):
            require(element.bounds.are_within(Bounds.below(PAIRS, 1.00001)), "a wider bound")
            words = self.formulas.register_words(
                Element(element.value, Bounds([], P256 - 1)))
            for i, word in enumerate(words):
                rows.memory.write(rows.offset + 32 * slot + 8 * i, 8, word)

    # The two calls

    def check(self):
        groups = -(-self.count // SLOTS)
        products = Pointer(Memory("products", groups * ELEMENT))
        product = Memory("product", SLOTS * 32)
        first = self.indices("first", self.first)
        result = self.machine.call("assay_p256_multiply_differences", [
            Pointer(self.points), first, Word.constant(self.count), products, Pointer(product)])
        bit = result if isinstance(result, int) else result.number
        require(bit == bool(self.equal), "a difference of 0 is not noted")
        for slot in range(SLOTS):
            value = Polynomial.constant(R, P256)
            for group in range(groups):
                value = value * self.difference(self.pair(group, slot))
            self.proof.require_words(product, 32 * slot, value)
        self.inverses = [self.formulas.symbol(f"I{slot}") for slot in range(SLOTS)]
        inverse = Memory("inverse", SLOTS * 32)
        for slot, symbol in enumerate(self.inverses):
            words = self.formulas.register_words(
                Element(symbol.scaled(R), self.proof.coordinate))
            for i, word in enumerate(words):
                inverse.write(32 * slot + 8 * i, 8, word)
        self.points.loads.clear()
        self.machine.call("assay_p256_add_pairs", [
            Pointer(self.points), first, self.indices("sum", self.sum),
            Word.constant(self.count), products, Pointer(inverse)])
        require(len(self.calls) == groups, "a group of pairs is not added")
        self.check_places()

    def check_places(self):
        targets = self.points.stored
        require(len(targets) == 2 * self.count, "more or fewer sums than pairs are stored")
        for pair in range(self.count):
            group, slot = divmod(pair, SLOTS)
            for at in range(2):
                words = targets.get((self.sum[pair].scaled(64) + 32 * at).key)
                require(words is not None, "a sum is not stored in its place")
                found = [self.formulas.words[word.polynomial.key] for word in words]
                require([i for _, i in found] == [0, 1, 2, 3]
                        and all(e.value == self.calls[group][at][slot] for e, _ in found),
                        "a sum is stored in the place of another one")
        # The sum of pair i is at most at first[i], and both ascend: it replaces no point that is
        # still to be loaded if the points of each pair are loaded before its sum is stored.
        for pair in range(self.count):
            for point in range(2):
                key = (self.first[pair].scaled(64) + 64 * point).key
                stored = [count for loaded, count in self.points.loads if loaded == key]
                require(stored and max(stored) <= 2 * pair // (2 * SLOTS) * 2 * SLOTS,
                        "a point is loaded after sums of later pairs are stored")
