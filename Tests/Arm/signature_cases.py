"""Signatures and other sums of points from tables of P-256."""
import hashlib
import struct

import openssl
from cases import expect
from curve import P256, digits, number, table
from pair_cases import INVERSE_R, in_words

BATCH = 64
p, n = P256.p, P256.n


class Table:
    """A private key with its point, and the index of its table in the program."""

    def __init__(self, cases, index, private):
        self.index, self.private = index, private
        self.openssl = openssl.Key("P-256", private)
        self.points = table(self.openssl.point)
        expect(self.points[0] == P256.multiply(private, P256.generator), "a key of OpenSSL's")
        for _ in range(20):
            self.compare_entry(cases.random.randrange(len(self.points)))
        flat = [w for point in self.points for w in in_words(point)]
        cases.add("table", [index, *flat], lambda answer: None, "P-256 tables")

    def compare_entry(self, index):
        multiple = (index % 512 + 1) << (10 * (index // 512))
        entry = openssl.Key("P-256", multiple * self.private % n).point
        expect(self.points[index] == entry, f"entry {index} of a table")


def of_table(points, digit_list):
    found = ((points[512 * w + abs(d) - 1], d) for w, d in enumerate(digit_list) if d)
    return [(x, y if d > 0 else p - y) for (x, y), d in found]


def expected_sum(tables, key, u1, u2):
    """The state and the sum: 0 without points, 2 where a pair has one x, otherwise 1."""
    points = of_table(tables[0].points, digits(u1)) + of_table(key.points, digits(u2))
    if not points:
        return 0, None
    while len(points) > 1:
        pairs = list(zip(points[::2], points[1::2]))
        if any(a[0] == b[0] for a, b in pairs):
            return 2, None
        points = P256.sums(pairs) + points[2 * len(pairs):]
    return 1, points[0]


def in_batches(cases, tables, inputs, check, counted):
    """Adds inputs, each a table, u1, u2 and what its check needs."""
    for start in range(0, len(inputs), BATCH):
        part = inputs[start:start + BATCH]
        flat = [len(part)]
        for key, u1, u2, *_ in part:
            packed = struct.pack("<52h", *digits(u1), *digits(u2))
            flat += [key.index, *struct.unpack("<13Q", packed)]

        def check_batch(answer, part=part):
            for i, one in enumerate(part):
                state, *point = answer[9 * i:9 * i + 9]
                point = tuple(number(point[j:j + 4]) for j in (0, 4))
                expect(state != 1 or max(point) < p, "a coordinate is p or more")
                check(one, state, tuple(c * INVERSE_R % p for c in point))

        cases.add("signatures", flat, check_batch, counted, len(part))


def edge_scalars():
    windows = (0x1FF, 0x200, 0x201, 0x3FF, 0x001)
    repeated = [sum(w << (10 * i) for i in range(26)) % 2**256 for w in windows]
    return [0, 1, 2, 511, 512, 513, n - 1, n - 2, n // 2, 2**255, 2**250] + [
        k % n for k in repeated]


def edges(cases, tables):
    """Sums of edge scalars, also with points that are equal, opposite or at infinity."""
    inputs = [(key, u1, u2) for key in tables for u1 in edge_scalars() for u2 in edge_scalars()]
    for key in tables:
        for _ in range(8):
            u2 = cases.random.randrange(1, n)
            # The sums are at infinity, or twice one term.
            inputs += [(key, -u2 * key.private % n, u2), (key, u2 * key.private % n, u2)]

    def check(one, state, point):
        key, u1, u2 = one
        expected = expected_sum(tables, key, u1, u2)
        expect(state == expected[0], f"state {state} of {u1:#x}, {u2:#x}")
        if state == 1:
            expect(point == expected[1], f"sum of {u1:#x}, {u2:#x}")
            sum_of_both = (u1 + u2 * key.private) % n
            expect(point == openssl.Key("P-256", sum_of_both).point, "sum and OpenSSL's product")

    in_batches(cases, tables, inputs, check, "P-256 pairs, sums for edge scalars")


def random_signatures(cases, tables, count):
    """Signatures that OpenSSL makes, a quarter of them damaged, and its verdicts."""
    source, inputs = cases.random, []
    while len(inputs) < count:
        key = source.choice(tables)
        digest = source.randbytes(32)
        r, s = key.openssl.sign(digest)
        if source.random() < 0.25:
            bit = 1 << source.randrange(256)
            which = source.randrange(4)
            digest = (int.from_bytes(digest) ^ (bit if which == 0 else 0)).to_bytes(32)
            r, s = (r ^ bit, s) if which == 1 else (r, s ^ bit) if which == 2 else (r, s)
            key = source.choice(tables) if which == 3 else key
            if not (0 < r < n and 0 < s < n):
                continue
        inputs.append(with_verdict(key, digest, r, s))
    in_batches(cases, tables, inputs, check_verdict, "P-256 signatures, against OpenSSL")


def with_verdict(key, digest, r, s):
    w = pow(s, -1, n)
    u1, u2 = int.from_bytes(digest) * w % n, r * w % n
    return key, u1, u2, r, key.openssl.verifies(digest, r, s)


def check_verdict(one, state, point):
    _, u1, u2, r, holds = one
    expect(state == 1, f"state {state} of a signature")
    expect((point[0] % n == r) == holds, f"{u1:#x}, {u2:#x}, r = {r:#x}: not OpenSSL's verdict")


class WithoutKey:
    """A table whose point has no known private key."""
    index = 15


def large_x(cases, tables, count):
    """Sums whose x is n or more, so that r would be x - n."""
    x = n
    while count:
        x += 1
        y = pow(x**3 - 3 * x + B, (p + 1) // 4, p)
        if (y * y - x**3 + 3 * x - B) % p:
            continue
        # Q = (x, y) / u2 - u1 / u2 G, without a known private key.
        u1, u2 = (cases.random.randrange(1, n) for _ in range(2))
        minus = P256.multiply(n - u1, P256.generator)
        key = P256.multiply(pow(u2, -1, n), P256.add((x, y), minus))
        flat = [w for point in table(key) for w in in_words(point)]
        cases.add("table", [WithoutKey.index, *flat], lambda answer: None, "P-256 tables")

        def check(one, state, point, x=x):
            expect(state == 1 and point[0] == x, "x above the order")

        counted = "P-256 pairs, sums with x from n on"
        in_batches(cases, tables, [(WithoutKey, u1, u2)], check, counted)
        count -= 1


B = 0x5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B


def known_answers(cases, tables, index):
    """RFC 6979, appendix A.2.5, with SHA-256."""
    private = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
    key = Table(cases, index, private)
    expect(key.openssl.point[0]
           == 0x60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6, "RFC 6979's key")
    answers = (
        (b"sample", 0xEFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716,
         0xF7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8),
        (b"test", 0xF1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367,
         0x019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083))
    inputs = []
    for text, r, s in answers:
        good = with_verdict(key, hashlib.sha256(text).digest(), r, s)
        expect(good[4], "OpenSSL refuses a signature of RFC 6979")
        inputs += [good, with_verdict(key, hashlib.sha256(text + b".").digest(), r, s)]
    in_batches(cases, tables, inputs, check_verdict, "P-256 signatures of RFC 6979, good and not")
