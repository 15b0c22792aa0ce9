"""P-384, base64 and JSON."""
import base64
import struct

import openssl
from cases import expect
from curve import P384, number, words


# P-384

def number_384(source):
    q = P384.p
    edges = [0, 1, 2, q - 1, q - 2, 2**384 - q, 2**383, 2**128, 2**96, 2**32, q >> 1, 2**320 - 1]
    if source.random() < 0.4:
        return source.choice(edges)
    if source.random() < 0.5:
        words_of_it = [source.choice([0, 1, 2**32, 2**63, 2**64 - 2**32, 2**64 - 1])
                       for _ in range(6)]
        return number(words_of_it) % q
    return source.randrange(q)


def operations_384(cases, rounds):
    q = P384.p
    for operation, (name, expected) in enumerate((
            ("multiply", lambda a, b: a * b % q), ("square", lambda a, b: a * a % q),
            ("add", lambda a, b: (a + b) % q), ("subtract", lambda a, b: (a - b) % q))):
        for _ in range(rounds):
            a, b = number_384(cases.random), number_384(cases.random)

            def check(answer, a=a, b=b, expected=expected, name=name):
                expect(number(answer) == expected(a, b), f"{name} {a:#x}, {b:#x}")

            cases.add("P-384 operation", [operation, *words(a, 6), *words(b, 6)], check,
                      f"P-384, operations: {name}")


def affine(jacobian):
    """The affine point of 18 words, or None if Z is 0."""
    x, y, z = (number(jacobian[i:i + 6]) for i in (0, 6, 12))
    expect(max(x, y, z) < P384.p, "a coordinate is p or more")
    if z == 0:
        return None
    i = pow(z, -1, P384.p)
    return x * i * i % P384.p, y * i * i * i % P384.p


def points_384(cases, rounds):
    source, q = cases.random, P384.p
    some = [openssl.Key("P-384", source.randrange(1, P384.n)).point for _ in range(20)]
    for done in range(rounds):
        a, b = source.choice(some), source.choice(some)
        if done % 4 == 0:
            b = a if done % 8 == 0 else (a[0], q - a[1])
        z = 0 if done % 9 == 5 else source.randrange(1, q)
        jacobian = (a[0] * z * z % q, a[1] * z**3 % q, z)

        def check(answer, a=a, b=b, z=z):
            twice = P384.add(a, a) if z else None
            total = P384.add(a, b) if z and a[0] != b[0] else None
            expect(affine(answer[:18]) == twice, f"twice {a}")
            expect(affine(answer[18:]) == total, f"{a} + {b}")

        flat = [w for c in jacobian + b for w in words(c, 6)]
        cases.add("P-384 points", flat, check, "P-384, doubles and sums", 2)


def products_384(cases, rounds):
    """k times G and other points, against OpenSSL; the first is the key of RFC 6979, A.2.6."""
    source = cases.random
    scalars = [int("6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA"
                   "9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5", 16)]
    scalars += [source.randrange(1, P384.n) for _ in range(rounds)]
    for done, scalar in enumerate(scalars):
        private = 1 if done == 0 else source.randrange(1, P384.n)
        base = openssl.Key("P-384", private).point

        def check(answer, k=scalar, private=private):
            expected = openssl.Key("P-384", k * private % P384.n).point
            expect(affine(answer) == expected, f"{k:#x} times the point of {private:#x}")

        flat = [*words(scalar, 6), *(w for c in base for w in words(c, 6))]
        cases.add("P-384 product", flat, check, "P-384 products, against OpenSSL")


# Octets

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"


def padded(octets):
    octets += bytes(-len(octets) % 8)
    return struct.unpack(f"<{len(octets) // 8}Q", octets)


def base64_texts(cases, rounds):
    """Whole blocks of 64 characters are decoded up to the first one with another character."""
    source = cases.random
    for done in range(rounds):
        ends = b"+/" if done % 2 else b"-_"
        text = bytearray(source.choices(ALPHABET + ends, k=source.randrange(300)))
        if text and done % 3:
            # Every octet is wrong in turn, or right.
            text[source.randrange(len(text))] = done // 3 % 256
        good = next((i for i, c in enumerate(text) if c not in ALPHABET + ends), len(text))
        count = good // 64 * 64
        octets = base64.b64decode(bytes(text[:count]), altchars=ends)

        def check(answer, count=count, octets=octets, text=text):
            found = struct.pack(f"<{len(answer) - 1}Q", *answer[1:])[:len(octets)]
            expect(answer[0] == count and found == octets, f"{bytes(text)}: {answer[0]}")

        cases.add("base64", [*ends, len(text), *padded(bytes(text))], check, "base64 texts")


def json_blocks(cases, rounds):
    source = cases.random
    # Each octet at each offset of a block; a stop at each place of each length; random octets.
    texts = [(bytes(octet if i == octet % 64 else 97 for i in range(64)), octet)
             for octet in range(256)]
    texts += [(bytes(34 if i == position else 97 for i in range(length)), position)
              for length in range(65) for position in range(length + 1)]
    texts += [(source.randbytes(source.randrange(65)), done) for done in range(rounds)]
    for text, number in texts:
        # The highest of ASCII, or the highest that is printable.
        highest = 0x7F - number % 2
        stops = sum((c in b'"\\' or c < 0x20 or c > highest) << i for i, c in enumerate(text))
        stops |= (2**64 - 1) << len(text) & (2**64 - 1)

        def check(answer, stops=stops, text=text):
            expect(answer[0] == stops, f"{text}: {answer[0]:#x}")

        cases.add("JSON", [len(text), highest, *padded(text)], check, "JSON blocks")
