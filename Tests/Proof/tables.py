"""The tables of multiples (FixedBaseTable): each entry is the multiple that its place says."""
import re

from compiled import AVX2, CURVES, Compiled
from running import Place, Space, load, plus, store
from signatures import require

# b, and x and y of the generator (SEC 2, sections 2.4.2 and 2.5.1).
CONSTANTS = {
    "p256": (0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B,
             0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
             0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5),
    "p384": (int("b3312fa7e23ee7e4988e056be3f82d19181d9c6efe8141120314088f5013875a"
                 "c656398d8a2ed19d2a85c8edd3ec2aef", 16),
             int("aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a38"
                 "5502f25dbf55296c3a545e3872760ab7", 16),
             int("3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c0"
                 "0a60b1ce1d7e819d7a431d7c90ea0e5f", 16))}
# Doublings of coordinates for each arithmetic: R is 2^256, 2^261 and 2^260. The last is P-384's.
DOUBLINGS = (0, 5, 4, 0)


class Tables:
    """Builds the whole table of a point of which nothing is known but that it is on the curve."""

    def __init__(self, module, curve):
        self.curve, self.run = curve, Compiled(module)
        self.algebra = self.run.algebra
        self.point = [self.algebra.symbol(curve.field, name) for name in "xy"]
        # Elements that are not 0.
        self.known = set()

    def table(self, doublings):
        curve = self.curve
        place = self.run.call(f"proven_table_{curve.name}",
                              self.run.elements(curve, *self.point), doublings)
        count = sum(map(curve.points_of, range(curve.windows)))
        require(place.object.size == 2 * curve.coordinate * count, "a table has another size")
        return [self.run.read(plus(place, 2 * curve.coordinate * i), curve, 2)
                for i in range(count)]

    def prove(self):
        curve, entries = self.curve, self.table(0)
        windows = [entries[w * curve.window_points:][:curve.points_of(w)]
                   for w in range(curve.windows)]
        self.check_first(windows)
        for window in windows:
            self.check_window(window)
        self.algebra.require_divisors(
            self.known, "a number is inverted that can be 0")
        for doublings in (4, 5) if curve.name == "p256" else ():
            for (x, y), (x2, y2) in zip(entries, self.table(doublings)):
                for a, b in ((x, x2), (y, y2)):
                    for _ in range(doublings):
                        a = self.algebra.add(a, a)
                    require(a is b, "a coordinate is doubled another number of times")
        name = f"FixedBaseTable of {curve.name.upper()}"
        yield (f"{name}: the first point of window w is 2^({curve.window_bits} w) P, by "
               "ExtendedJacobianPoint.doubled, with x = X / ZZ and y = Y / ZZZ")
        yield (f"{name}: all {len(entries)} points: that of window w and digit d is d times the "
               "window's first, by the chord or the tangent of two smaller multiples")
        yield (f"{name}: what is inverted is not 0: x of two different multiples whose sum is "
               "below the order, 2 y, and ZZZ of a double")
        if curve.name == "p256":
            yield f"{name}: with k doublings each coordinate is 2^k times as large, for k = 4 and 5"

    def check_first(self, windows):
        """The points of the windows' first digits."""
        curve, algebra = self.curve, self.algebra
        one = algebra.constant(curve.field, 1)
        sum_ = self.run.elements(curve, *self.point, one, one)
        for w, window in enumerate(windows):
            if w:
                for _ in range(curve.window_bits):
                    self.run.call(f"proven_double_{curve.name}", sum_)
            x, y, zz, zzz = self.run.read(sum_, curve, 4)
            inverse = algebra.invert(zzz)
            self.known.add(zzz.index)
            names, (px, py, pzz, pi) = algebra.named(x, y, zz, inverse)
            ratio = pzz * pi
            require(algebra.polynomial(window[0][0], names) == px * ratio * ratio
                    and algebra.polynomial(window[0][1], names) == py * pi,
                    "the first point of a window is not 2^(b w) P")

    def check_window(self, window):
        """Each point is the sum of the largest power of two below its digit and the rest."""
        algebra, known = self.algebra, 1
        for at in range(1, len(window)):
            if at == 2 * known:
                known *= 2
            (x1, y1), (x2, y2) = window[known - 1], window[at - known]
            is_double = at == 2 * known - 1
            run = algebra.add(y1, y1) if is_double else algebra.subtract(x2, x1)
            self.known.add(run.index)
            names, (a, b, c, d, inverse) = algebra.named(x1, y1, x2, y2, algebra.invert(run))
            slope = ((a * a - 1).scaled(3) if is_double else d - b) * inverse
            x3 = slope * slope - a - c
            require(algebra.polynomial(window[at][0], names) == x3
                    and algebra.polynomial(window[at][1], names) == slope * (a - x3) - b,
                    f"the point of digit {at + 1} is another multiple")


def added(curve, a, b):
    """The sum of two points; None is infinity."""
    if a is None or b is None:
        return a or b
    (x, y), (x2, y2), p = a, b, curve.field
    if x == x2 and (y + y2) % p == 0:
        return None
    rise, run = (3 * (x * x - 1), 2 * y) if a == b else (y2 - y, x2 - x)
    slope = rise * pow(run, -1, p)
    x3 = (slope * slope - x - x2) % p
    return x3, (slope * (x - x3) - y) % p


def prove_constants(module):
    for curve in CURVES:
        run, elements = Compiled(module), Place(Space("elements", 3 * curve.coordinate))
        words = Place(Space("words", curve.coordinate))
        window_bits = run.call(f"proven_constants_{curve.name}", elements, words)
        found = [element.node for element in run.read(elements, curve, 3)]
        b, x, y = CONSTANTS[curve.name]
        require(found == [("constant", number) for number in (b, x, y)],
                "b or the generator is another one")
        require((y * y - x * x * x + 3 * x - b) % curve.field == 0, "G is not on the curve")
        multiple = None
        for bit in f"{curve.order:b}":
            multiple = added(curve, multiple, multiple)
            multiple = added(curve, multiple, (x, y)) if bit == "1" else multiple
        require(multiple is None, "n G is not infinity")
        number = sum(load(plus(words, 8 * i), 8) << 64 * i for i in range(curve.words))
        require(number == curve.field - curve.order, "fieldMinusOrder is another number")
        require(window_bits == curve.window_bits, "tables have other windows")
        yield (f"{curve.name.upper()}: b, the generator and p - n are those of SEC 2; n G is "
               "infinity")
    yield from prove_owners(module)


def prove_owners(module):
    """Which point and which form each table is made of."""
    calls = []

    def init(place, window_bits, doublings, target):
        # x and y, wherever the second one begins.
        found = [cell[1].node for at, cell in sorted(place.object.cells.items())
                 if at >= place.offset and hasattr(cell[1], "node")]
        calls.append((found[:2], window_bits, doublings))
        return target

    names = [n for n in module.functions if re.search(
        r"14FixedBaseTableC_10windowBits19coordinateDoublings\w+fcAA4P\d+O_Tg5$", n)]
    require(len(names) == 2, "FixedBaseTable.init has no code for each curve")
    externals = dict.fromkeys(names, init) | {
        "assay_p256_is_supported": lambda: 1, "assay_p256_pair_vectors": lambda: AVX2}
    for arithmetic, doublings in enumerate(DOUBLINGS):
        curve = CURVES[arithmetic == 3]
        _, x, y = CONSTANTS[curve.name]
        octets = Place(Space("octets", 1 + 2 * curve.coordinate))
        for i, octet in enumerate(
                b"\4" + x.to_bytes(curve.coordinate, "big") + y.to_bytes(curve.coordinate, "big")):
            store(plus(octets, i), 1, octet)
        run = Compiled(module, **externals)
        run.zero = lambda element: 1
        run.call("proven_generator_table", arithmetic)
        run.call("proven_key_table", arithmetic, octets, 1 + 2 * curve.coordinate)
        wanted = [("constant", x), ("constant", y)], curve.window_bits, doublings
        require(calls == [wanted] * 2, "a table is made of another point or in another form")
        calls.clear()
    yield ("the generator's tables are of G and a key's of the point that was read, in the form of "
           "their arithmetic: R = 2^256, 2^261 and 2^260")


def prove_tables(module):
    for curve in CURVES:
        yield from Tables(module, curve).prove()
    yield from prove_constants(module)
