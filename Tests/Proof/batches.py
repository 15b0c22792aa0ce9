"""Batches of signatures: which numbers and points the compiled code passes to what is proven of
them. Points and fields are unknown; scalars are chosen, so that every digit is met in every window.
"""
from compiled import AVX2, CURVES, Compiled, write_element
from decisions import FAILS, HOLDS, UNDECIDED
from polynomials import NotProven
from running import Place, Space, load, plus, store
from signatures import require

P256, P384 = CURVES
# Of coordinates for pairs of points: 2^5.
FORM = 32


class Table:
    """A table of points that are symbols. `form` is the factor of all coordinates."""

    def __init__(self, algebra, curve, name, form=1):
        self.curve = curve
        count = sum(map(curve.points_of, range(curve.windows)))
        self.points = Place(Space(name, count * 2 * curve.coordinate))
        self.entries = []
        for at in range(count):
            entry = []
            for half, axis in enumerate("xy"):
                symbol = algebra.symbol(curve.field, f"{name}[{at}].{axis}")
                if form != 1:
                    symbol = algebra.multiply(algebra.constant(curve.field, form), symbol)
                write_element(plus(self.points, (2 * at + half) * curve.coordinate), curve, symbol)
                entry.append(symbol)
            self.entries.append(tuple(entry))
        doublings = form.bit_length() - 1
        # A Swift object: its header, then its stored properties.
        self.object = Place(Space(f"object of {name}", 48))
        for at, value in ((16, self.points), (24, curve.window_bits), (32, doublings), (40, count)):
            store(plus(self.object, at), 8, value)

    def term(self, algebra, window, digit):
        """The point that a digit stands for; None for 0."""
        if digit == 0:
            return None
        x, y = self.entries[window * self.curve.window_points + abs(digit) - 1]
        zero = algebra.constant(self.curve.field, 0)
        return x, y if digit > 0 else algebra.subtract(zero, y)


def digits_of(curve, scalar):
    """The digits that `digits` proves, of chosen scalars."""
    found, half = [], 1 << curve.window_bits - 1
    for window in range(curve.windows):
        digit = scalar & 2 * half - 1
        scalar >>= curve.window_bits
        if digit >= half and window + 1 < curve.windows:
            digit -= 2 * half
            scalar += 1
        found.append(digit)
    return found


class Batch:
    """A call of ECDSABatch, or of what verifies one signature on P-384."""

    def __init__(self, module, curve, tables, algebra, externals=None):
        self.curve, self.tables, self.algebra = curve, tables, algebra
        self.run = Compiled(module, algebra, **self.replaced(module) | (externals or {}))
        self.run.zero, self.run.words_of = self.zero, self.words_of
        self.scalars, self.zeros, self.numbers = {}, set(), []

    def replaced(self, module):
        """The generator's table is made of symbols as well."""
        def init(place, window_bits, doublings, target):
            require(window_bits == self.curve.window_bits, "a table has other windows")
            for at in (16, 24, 32, 40):
                store(plus(target, at), 8, load(plus(self.tables[0].object, at), 8))
            return target

        return {name: init for name in module.functions
                if "14FixedBaseTableC_10windowBits19coordinateDoublings" in name
                and name.endswith(f"fcAA4{self.curve.name.upper()}O_Tg5")} | {
            "assay_p256_pair_vectors": lambda: AVX2, "assay_p256_is_supported": lambda: 1}

    def zero(self, element):
        return int(element.index in self.zeros)

    def words_of(self, element, position):
        scalar = self.scalars.get(element.index)
        if scalar is None:
            raise NotProven("the words of another number than u1 or u2 are used")
        return scalar >> 64 * position & (1 << 64) - 1

    def octets(self, signatures):
        """Digest, r and s of each signature; and which terms u1 and u2 have to be."""
        size, order = self.curve.coordinate, self.curve.order
        place, algebra = Place(Space("octets", 3 * size * len(signatures))), self.algebra
        for i, (e, r, s, u1, u2) in enumerate(signatures):
            data = b"".join(number.to_bytes(size, "big") for number in (e, r, s))
            for at, octet in enumerate(data):
                store(plus(place, 3 * size * i + at), 1, octet)
            inverse = algebra.invert(algebra.constant(order, s or 1))
            for number, scalar in ((e, u1), (r, u2)):
                product = algebra.multiply(algebra.constant(order, number), inverse)
                self.scalars[product.index] = scalar
        return place

    def terms(self, table, u1, u2):
        """The points that are added: u1's of the generator, then u2's of the key."""
        found = []
        for source, scalar in ((self.tables[0], u1), (table, u2)):
            digits = digits_of(self.curve, scalar)
            found += [source.term(self.algebra, w, d) for w, d in enumerate(digits)]
        return [point for point in found if point]

    # Sums, by the functions whose formulas are proven

    def affine_sum(self, a, b):
        algebra, curve, run = self.algebra, self.curve, self.run
        difference = algebra.subtract(b[0], a[0])
        if self.zero(difference):
            # Some number other than 0: the result is not used.
            difference = algebra.constant(curve.field, 1)
        slope = algebra.multiply(algebra.subtract(b[1], a[1]), algebra.invert(difference))
        place = run.elements(curve, *a)
        run.call(f"proven_affine_sum_{curve.name}", place, run.elements(curve, *b),
                 run.elements(curve, slope))
        return tuple(run.read(place, curve, 2))

    def last_sum(self, points):
        """X and ZZ of the sum of points, one by one."""
        run, curve, one = self.run, self.curve, self.algebra.constant(self.curve.field, 1)
        place = run.elements(curve, *points[0], one, one)
        for point in points[1:]:
            run.call(f"proven_extended_sum_{curve.name}", place, run.elements(curve, *point))
        x, _, zz, _ = run.read(place, curve, 4)
        return x, zz

    def passes(self, lists, least):
        """Sums of pairs, as long as there are enough of them in all lists."""
        while sum(len(points) // 2 for points in lists) >= least:
            lists = [[self.affine_sum(*points[at:at + 2]) for at in range(0, len(points) - 1, 2)]
                     + points[len(points) & ~1:] for points in lists]
        return lists

    # Outcomes

    def expect(self, x, zz, r, outcome):
        """Answers the questions of the comparison, which is proven, so that it has an outcome.
        Returns what it has to ask."""
        algebra, curve = self.algebra, self.curve
        # That of a lone point is 1.
        asked = [zz] if zz.node[0] != "constant" else []
        numbers = [r] + ([r + curve.order] if r + curve.order < curve.field else [])
        if outcome == UNDECIDED:
            self.zeros.add(zz.index)
            return asked
        for number in numbers:
            product = algebra.multiply(algebra.constant(curve.field, number), zz)
            asked.append(algebra.subtract(product, x))
        if outcome == HOLDS:
            self.zeros.add(asked[-1].index)
        return asked


class Portable(Batch):
    """ECDSABatch with the field's own additions."""

    least = 32

    def check(self, signatures, outcomes, equal=(), off=()):
        """equal: (list, pair) of first passes whose points have one x.
        off: the signatures whose r or s is out of range."""
        count = len(signatures)
        octets = self.octets(signatures)
        lists = [self.terms(self.tables[1 + i % 2], u1, u2)
                 for i, (_, _, _, u1, u2) in enumerate(signatures)]
        for at, pair in equal:
            a, b = lists[at][2 * pair:2 * pair + 2]
            for difference in ((b[0], a[0]), (a[0], b[0])):
                self.zeros.add(self.algebra.subtract(*difference).index)
        asked = []
        for at, points in enumerate(self.final(lists)):
            undecided = any(one == at for one, _ in equal) or not points
            if not undecided:
                r = 0 if at in off else signatures[at][1]
                asked += self.expect(*self.last_sum(points), r, outcomes[at])
        pointers, results = Place(Space("tables", 8 * count)), Place(Space("outcomes", count))
        for i in range(count):
            store(plus(pointers, 8 * i), 8, self.tables[1 + i % 2].object)
        self.run.tested.clear()
        self.call(pointers, octets, count, results)
        found = [load(plus(results, i), 1) for i in range(count)]
        wanted = [UNDECIDED if any(one == at for one, _ in equal) or not lists[at] else outcome
                  for at, outcome in enumerate(outcomes)]
        wanted = [FAILS if at in off else outcome for at, outcome in enumerate(wanted)]
        require(found == wanted, "an outcome is that of another signature")
        self.algebra.require_divisors(
            (self.differences - self.zeros) | self.other_divisors(),
            "a number is inverted that can be 0")
        asked_of = [element for element in self.run.tested if not self.is_of_pair(element)]
        require(len(asked_of) == len(asked) and all(a is b for a, b in zip(asked_of, asked)),
                "another sum is compared, or with another number")

    def final(self, lists):
        return self.passes(lists, self.least)

    def is_of_pair(self, element):
        """Whether a question is about a difference of two x of points."""
        return element.index in self.differences

    def affine_sum(self, a, b):
        for pair in ((b[0], a[0]), (a[0], b[0])):
            self.differences.add(self.algebra.subtract(*pair).index)
        return super().affine_sum(a, b)

    @property
    def differences(self):
        if not hasattr(self, "known_differences"):
            self.known_differences = set()
        return self.known_differences

    def other_divisors(self):
        return set()

    arithmetic = 0

    def call(self, pointers, octets, count, results):
        self.run.call("proven_batch", self.arithmetic, pointers, octets, count, results)


class Pairs(Portable):
    """The same with sums of pairs in C. Those functions are replaced by what is proven of them."""

    arithmetic, least = 1, 20

    def __init__(self, module, curve, tables, algebra):
        super().__init__(module, curve, tables, algebra, {
            "assay_p256_multiply_differences": self.multiply_differences,
            "assay_p256_add_pairs": self.add_pairs})
        self.products, self.pairs, self.products_of_slots = [], [], set()

    def affine_sum(self, a, b):
        """A point that only its two terms say."""
        algebra, field = self.algebra, self.curve.field
        for pair in ((b[0], a[0]), (a[0], b[0])):
            self.differences.add(algebra.subtract(*pair).index)
        form = algebra.constant(field, FORM)
        names = tuple(x.index for x in (*a, *b))
        return tuple(algebra.multiply(form, algebra.term(field, "sum", axis, *names))
                     for axis in "xy")

    def final(self, lists):
        """In the field's own form."""
        algebra, field = self.algebra, self.curve.field
        back = algebra.invert(algebra.constant(field, FORM))
        return [[tuple(algebra.multiply(x, back) for x in point) for point in points]
                for points in super().final(lists)]

    def point(self, points, index):
        return tuple(self.run.read(plus(points, 2 * self.curve.coordinate * index),
                                   self.curve, 2))

    def other_divisors(self):
        """The products of slots, in which 1 stands for a difference of 0."""
        return self.products_of_slots

    @staticmethod
    def indices(place, count):
        return [load(plus(place, 4 * i), 4) for i in range(count)]

    def multiply_differences(self, points, first, count, products, product):
        require(count > 0, "no pairs are added")
        first = self.indices(first, count)
        self.pairs = [tuple(self.point(points, i + at) for at in (0, 1)) for i in first]
        self.first = first
        require(products.offset == 0 and products.object.size >= -(-count // 4) * 288,
                "products have no space")
        self.products = []
        for slot in range(4):
            of_slot = tuple(x.index for pair in self.pairs[slot::4] for point in pair
                            for x in point)
            self.products.append(self.algebra.term(
                self.curve.field, "product", len(self.algebra.elements), slot, of_slot))
            self.products_of_slots.add(self.products[-1].index)
            write_element(plus(product, slot * self.curve.coordinate), self.curve,
                          self.products[-1])
        return int(any(self.zero(self.algebra.subtract(b[0], a[0])) for a, b in self.pairs))

    def add_pairs(self, points, first, sums, count, products, inverse):
        """Each slot's product has one factor 2^5, and its inverse needs one: 2^10 / product."""
        algebra, field = self.algebra, self.curve.field
        require(self.indices(first, count) == self.first and count == len(self.pairs),
                "other pairs are added than were multiplied")
        wanted = algebra.constant(field, FORM * FORM)
        for slot, product in enumerate(self.products):
            found = load(plus(inverse, slot * self.curve.coordinate), 8)
            require(found is algebra.multiply(wanted, algebra.invert(product)),
                    "a slot gets another inverse than its own")
        places = self.indices(sums, count)
        require(all(a < b for a, b in zip(places, places[1:]))
                and all(a + 1 < b for a, b in zip(self.first, self.first[1:]))
                and all(a <= b for a, b in zip(places, self.first)),
                "pairs or the indices of their sums do not ascend")
        for at, (a, b) in zip(places, self.pairs):
            for half, x in enumerate(self.affine_sum(a, b)):
                write_element(plus(points, (2 * at + half) * self.curve.coordinate),
                              self.curve, x)


def signature(curve, random_, u1=None, u2=None, r=None):
    numbers = [random_.randrange(1, curve.order) for _ in range(5)]
    for at, value in ((1, r), (3, u1), (4, u2)):
        if value is not None:
            numbers[at] = value
    return tuple(numbers)


def digit_scalars(curve):
    """Scalars that together have every digit in every window."""
    half, found = curve.window_points, []
    for digit in range(-half, half):
        scalar = sum(digit << curve.window_bits * w for w in range(curve.windows - 1))
        scalar += (digit % curve.points_of(curve.windows - 1) + (digit < 0)) << (
            curve.window_bits * (curve.windows - 1))
        found.append(min(max(scalar, 0), (1 << curve.bits) - 1))
    return found


def out_of_range(curve, chosen):
    """r is 0, s is 0, and r is the order. Then e, 0 and 1 are taken for u1, u2 and s."""
    found = []
    for at, value in ((1, 0), (2, 0), (1, curve.order)):
        numbers = list(signature(curve, chosen))
        numbers[3], numbers[4] = numbers[0], 0
        numbers[at] = value
        found.append(tuple(numbers))
    return found
