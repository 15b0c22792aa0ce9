"""Operations on limbs, and passes over pairs of points."""
from cases import expect
from curve import P256, R, number, words

SLOTS, LIMBS, LIMB_BITS = 4, 9, 29
p = P256.p
INVERSE_R = pow(R, -1, p)


def limbs_of(value):
    return [value >> (LIMB_BITS * i) & (2**LIMB_BITS - 1) for i in range(LIMBS - 1)] + [
        value >> (LIMB_BITS * (LIMBS - 1))]


def value_of(limbs):
    return sum(limb << (LIMB_BITS * i) for i, limb in enumerate(limbs))


def element(source, below, is_carried=True):
    """Limbs of a number below a multiple of p: an edge, a random one, or one with extreme limbs."""
    end = int(below * p)
    edges = [0, 1, p - 1, p, p + 1, 2**256 - 1, 2 * p - 1, 2 * p, end - 1, 2**255, 2**232, 2**29]
    choice = source.random()
    if choice < 0.3:
        value = source.choice([e for e in edges if e < end])
    elif choice < 0.6:
        value = source.randrange(end)
    else:
        limb = [source.choice([0, 1, 2**28, 2**29 - 2, 2**29 - 1]) for _ in range(LIMBS - 1)]
        value = value_of(limb + [source.choice([0, 1, 2**24 - 2, 2**24 - 1, end >> 232])]) % end
    limbs = limbs_of(value)
    if not is_carried:
        # The same number with more in its limbs, as a difference has it.
        for i in range(LIMBS - 1, 0, -1):
            lent = min(limbs[i], source.choice([0, 1, 2]))
            limbs[i] -= lent
            limbs[i - 1] += lent << LIMB_BITS
    return limbs


# The operations of assay_p256_checks.h in their order: bounds of the operands, whether the second
# one is carried, what it is modulo p, and the result's bound (as in PairFormulaTests).
OPERATIONS = (
    ("multiply", (1.11, 3, 1), False, lambda a, b, d: a * b * INVERSE_R, 1.11),
    ("multiply and subtract", (1.12, 3, 1.9), False, lambda a, b, d: a * b * INVERSE_R - d,
     1.00001),
    ("square and subtract", (1.12, 1, 1.9), True, lambda a, b, d: a * a * INVERSE_R - d, 1.00001),
    ("difference", (1, 1, 1), True, lambda a, b, d: a - b, 3.00001),
    ("reduce fully", (1.99, 1, 1), True, lambda a, b, d: a, 1),
    ("words", (1, 1, 1), True, lambda a, b, d: a, 1),
)


def pair_operations(cases, rounds):
    for operation, (name, bounds, is_carried, expected, bound) in enumerate(OPERATIONS):
        for _ in range(rounds):
            rows = [[element(cases.random, limit, is_carried or i != 1) for _ in range(SLOTS)]
                    for i, limit in enumerate(bounds)]

            def check(answer, rows=rows, expected=expected, bound=bound, name=name):
                for slot in range(SLOTS):
                    found = answer[LIMBS * slot:LIMBS * (slot + 1)]
                    numbers = [value_of(row[slot]) for row in rows]
                    value = value_of(found)
                    expect((value - expected(*numbers)) % p == 0, f"{name} {rows}: {value:#x}")
                    expect(value < bound * p, f"{name} exceeds its bound: {rows}")
                    is_short = all(limb < 2**LIMB_BITS for limb in found[:-1])
                    expect(is_short or name == "difference", f"{name} is not carried: {rows}")

            flat = [limb for row in rows for slot in row for limb in slot]
            cases.add("pair operation", [operation, *flat], check,
                      f"P-256 pairs, operations: {name}", SLOTS)


# Passes over pairs of points. The formula uses no equation of the curve.

def coordinate(source):
    edges = [0, 1, p - 1, 2**255, R % p, 2**232 - 1, 2**256 - 2**224 - 1]
    value = source.choice(edges) if source.random() < 0.4 else source.randrange(p)
    return value * INVERSE_R % p if source.random() < 0.5 else value


def in_words(point):
    return [w for c in point for w in words(c * R % p)]


def passes(cases, rounds):
    source = cases.random
    for done in range(rounds):
        count = (1, 2, 3, 4, 5, 7, 8, 41)[done % 8]
        pairs = [tuple((coordinate(source), coordinate(source)) for _ in range(2))
                 for _ in range(count)]
        if done % 3 == 1:
            at = source.randrange(count)
            pairs[at] = pairs[at][0], (pairs[at][0][0], coordinate(source))
        if done % 3 == 2:
            # The sum has an edge as x: x2 = s^2 - x1 - x3.
            (x1, y1), s = pairs[0][0], source.randrange(p)
            x2 = (s * s - x1 - source.choice([0, 1, p - 1]) * INVERSE_R) % p
            pairs[0] = (x1, y1), (x2, (y1 + s * (x2 - x1)) % p)

        def check(answer, pairs=pairs):
            equal = [a[0] == b[0] for a, b in pairs]
            expect(answer[0] == any(equal), f"whether points are equal: {pairs}")
            for i, ((a, b), is_equal) in enumerate(zip(pairs, equal)):
                if not is_equal:
                    slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, p)
                    expected = in_words(P256.sum_by_slope(a, b, slope))
                    found = list(answer[1 + 8 * i:9 + 8 * i])
                    expect(found == expected, f"sum {i} of {pairs}: {number(found[:4]):#x}")

        flat = [w for pair in pairs for point in pair for w in in_words(point)]
        cases.add("pass", [count, *flat], check, "P-256 pairs, sums", count)
