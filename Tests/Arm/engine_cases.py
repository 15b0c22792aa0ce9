"""Keys and signatures for the engine in Swift: what it does with what a client sends."""
import struct

import openssl
from cases import expect
from curve import P256, P384
from signature_cases import B

ARITHMETICS = ("portable", "neon")
SIZES = (1, 2, 3, 7, 16, 64)
FAILS, HOLDS, UNDECIDED = 0, 1, 2
p, n = P256.p, P256.n


def octets_in_words(octets):
    octets += bytes(-len(octets) % 8)
    return struct.unpack(f"<{len(octets) // 8}Q", octets)


def key_octets(point, size=32):
    return b"\4" + b"".join(c.to_bytes(size, "big") for c in point)


class Keys:
    """Private keys, with the indices of their tables in the program."""

    def __init__(self, cases, arithmetic):
        self.cases, self.arithmetic = cases, ARITHMETICS.index(arithmetic)
        self.name = f"Swift, {arithmetic}"
        self.privates = [1, n - 1, cases.random.randrange(1, n)]
        self.keys = [openssl.Key("P-256", private) for private in self.privates]
        for index, key in enumerate(self.keys):
            self.read(index, key_octets(key.point), True)

    def read(self, index, octets, is_key):
        def check(answer):
            expect(answer[0] == is_key, f"{octets.hex()}")

        self.cases.add("engine key", [index, self.arithmetic, *octets_in_words(octets)], check,
                       f"{self.name}: keys, points of the curve and others")

    def read_others(self):
        x, y = self.keys[2].point
        for point in ((x, p - y), (x, y ^ 1), (x ^ 1, y), (0, 0), (p, y), (x, 2**256 - 1),
                      (0, pow(B, (p + 1) // 4, p)), (p - 1, 1)):
            x, y = point
            on_curve = max(point) < p and (y**2 - x**3 + 3 * x - B) % p == 0
            self.read(99, key_octets(point), on_curve)
        self.read(99, b"\2" + key_octets(self.keys[2].point)[1:], False)

    def verify(self, inputs, counted):
        """inputs: key index, digest, r, s, and the outcomes that are right."""
        at = size = 0
        while at < len(inputs):
            part = inputs[at:at + SIZES[size % len(SIZES)]]
            at, size = at + len(part), size + 1
            numbers = b"".join(digest + r.to_bytes(32, "big") + s.to_bytes(32, "big")
                               for _, digest, r, s, _ in part)

            def check(answer, part=part):
                for outcome, (index, digest, r, s, right) in zip(answer, part):
                    text = f"{outcome} for {digest.hex()}, {r:#x}, {s:#x}, key {index}"
                    expect(outcome in right, text)

            self.cases.add(
                "engine signatures",
                [self.arithmetic, len(part), *(one[0] for one in part), *octets_in_words(numbers)],
                check, f"{self.name}: {counted}", len(part))

    def verdict(self, index, digest, r, s):
        is_in_range = 0 < r < n and 0 < s < n
        holds = is_in_range and self.keys[index].verifies(digest, r, s)
        return index, digest, r, s, {HOLDS if holds else FAILS}

    def edges(self):
        """r and s at their bounds, digests that are 0 modulo n, and exceptional sums."""
        source, inputs = self.cases.random, []
        bounds = (0, 1, 2, n - 2, n - 1, n, n + 1, p - 1, p, 2**256 - 1)
        for index, private in enumerate(self.privates):
            digest = source.randbytes(32)
            good = self.keys[index].sign(digest)
            inputs += [self.verdict(index, digest, r, good[1]) for r in bounds]
            inputs += [self.verdict(index, digest, good[0], s) for s in bounds]
            inputs += [self.verdict(index, digest, r, s) for r in bounds for s in (0, n)]
            for e in (0, 1, n, 2**256 - 1):
                digest = e.to_bytes(32, "big")
                inputs.append(self.verdict(index, digest, *self.keys[index].sign(digest)))
            for _ in range(4):
                r, s = (source.randrange(1, n) for _ in range(2))
                # u1 G = u2 Q, and u1 G = -u2 Q, whose sum is at infinity.
                for sign, right in ((1, {UNDECIDED, FAILS}), (-1, {UNDECIDED})):
                    e = sign * r * private % n
                    inputs.append((index, e.to_bytes(32, "big"), r, s, right))
                # Undecided only where two points of a pair have one x, of keys near the generator.
        near = [(*one[:4], one[4] | {UNDECIDED}) if one[0] < 2 else one for one in inputs]
        self.verify(near, "signatures at bounds, and exceptional sums")

    def random(self, count):
        source, inputs = self.cases.random, []
        while len(inputs) < count:
            index, digest = source.randrange(3), source.randbytes(32)
            r, s = self.keys[index].sign(digest)
            bit = 1 << source.randrange(256)
            which = source.randrange(16)
            digest = (int.from_bytes(digest) ^ (bit if which == 0 else 0)).to_bytes(32)
            r, s = r ^ (bit if which == 1 else 0), s ^ (bit if which == 2 else 0)
            index = source.randrange(3) if which == 3 else index
            inputs.append(self.verdict(index, digest, r, s))
        self.verify(inputs, "signatures, against OpenSSL")


def signatures_384(cases, count):
    """One key. The program makes its table each time, which takes it a second."""
    source, n384 = cases.random, P384.n
    key = openssl.Key("P-384", source.randrange(1, n384))
    for done in range(count):
        digest = source.randbytes(48)
        r, s = key.sign(digest)
        bit = 1 << source.randrange(384)
        r, s = r ^ (bit if done % 4 == 1 else 0), s ^ (bit if done % 4 == 2 else 0)
        digest = (int.from_bytes(digest) ^ (bit if done % 4 == 3 else 0)).to_bytes(48)
        r, s = (0, s) if done == 4 else (r, n384) if done == 5 else (r, s)
        holds = 0 < r < n384 and 0 < s < n384 and key.verifies(digest, r, s)

        def check(answer, right=HOLDS if holds else FAILS):
            expect(answer == (right, right), f"{answer}, and OpenSSL says {right}")

        numbers = digest + r.to_bytes(48, "big") + s.to_bytes(48, "big")
        cases.add("engine 384", [*octets_in_words(key_octets(key.point, 48)),
                                 *octets_in_words(numbers)],
                  check, "Swift, P-384: signatures, with a table and without")


def all_cases(cases, count):
    for arithmetic in ARITHMETICS:
        keys = Keys(cases, arithmetic)
        keys.read_others()
        keys.edges()
        keys.random(count)
    signatures_384(cases, count // 40)
