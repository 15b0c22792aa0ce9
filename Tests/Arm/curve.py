"""P-256 and P-384 by the affine formulas of SEC 1, section 2.2.1, on Python's integers."""


class Curve:
    """y^2 = x^3 - 3 x + b modulo p, with a generator of order n. A point is a pair; None is at
    infinity."""

    def __init__(self, p, n, generator):
        self.p, self.n, self.generator = p, n, generator

    def slope(self, a, b):
        """The numerator and the denominator, of two points that are not opposite."""
        if a == b:
            return 3 * (a[0] * a[0] - 1) % self.p, 2 * a[1] % self.p
        return (b[1] - a[1]) % self.p, (b[0] - a[0]) % self.p

    def sum_by_slope(self, a, b, slope):
        x = (slope * slope - a[0] - b[0]) % self.p
        return x, (slope * (a[0] - x) - a[1]) % self.p

    def add(self, a, b):
        if a is None or b is None:
            return b if a is None else a
        if a[0] == b[0] and (a[1] + b[1]) % self.p == 0:
            return None
        rise, run = self.slope(a, b)
        return self.sum_by_slope(a, b, rise * pow(run, -1, self.p) % self.p)

    def multiply(self, k, point):
        total = None
        for bit in bin(k % self.n)[2:]:
            total = self.add(total, total)
            total = self.add(total, point) if bit == "1" else total
        return total

    def sums(self, pairs):
        """The sums of many pairs, none of them opposite, with one inversion."""
        slopes = [self.slope(a, b) for a, b in pairs]
        before, product = [], 1
        for _, run in slopes:
            before.append(product)
            product = product * run % self.p
        inverse = pow(product, -1, self.p)
        found = []
        for (a, b), (rise, run), others in zip(pairs[::-1], slopes[::-1], before[::-1]):
            found.append(self.sum_by_slope(a, b, rise * inverse % self.p * others % self.p))
            inverse = inverse * run % self.p
        return found[::-1]


P256 = Curve(
    2**256 - 2**224 + 2**192 + 2**96 - 1,
    0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551,
    (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5))
P384 = Curve(
    2**384 - 2**128 - 2**96 + 2**32 - 1,
    int("FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"
        "C7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973", 16),
    (int("AA87CA22BE8B05378EB1C71EF320AD746E1D3B628BA79B98"
         "59F741E082542A385502F25DBF55296C3A545E3872760AB7", 16),
     int("3617DE4A96262C6F5D9E98BF9292DC29F8F41DBD289A147C"
         "E9DA3113B5F0B8C00A60B1CE1D7E819D7A431D7C90EA0E5F", 16)))

# Of include/assay_p256.h: windows of 10 bits, and points of R = 2^261.
WINDOW_BITS, DIGITS, HALF = 10, 26, 512
R = pow(2, 261, P256.p)


def table(point):
    """digit * 2^(10 w) * P at index 512 w + digit - 1; the last window has 64 points."""
    windows = [[point]]
    for _ in range(DIGITS - 1):
        point = windows[-1][0]
        for _ in range(WINDOW_BITS):
            point = P256.add(point, point)
        windows.append([point])
    known = 1
    while known < HALF:
        growing = [w for w in windows if w is not windows[-1] or known < 64]
        found = iter(P256.sums([(p, w[known - 1]) for w in growing for p in w]))
        for window in growing:
            window += [next(found) for _ in range(known)]
        known *= 2
    return [p for window in windows for p in window]


def digits(scalar):
    """26 digits d of -512 to 511 with scalar = sum of d 2^(10 w), the last one not negative."""
    found = []
    for _ in range(DIGITS - 1):
        digit = (scalar + HALF) % (2 * HALF) - HALF
        scalar = (scalar - digit) >> WINDOW_BITS
        found.append(digit)
    return found + [scalar]


def words(number, count=4):
    return [number >> (64 * i) & (2**64 - 1) for i in range(count)]


def number(some_words):
    return sum(w << (64 * i) for i, w in enumerate(some_words))
