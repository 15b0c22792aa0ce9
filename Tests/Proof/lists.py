"""Batches of signatures on P-256: their lists of points, their sums and their outcomes."""
import random

from algebra import Algebra
from batches import (
    FORM, P256, Batch, Pairs, Portable, Table, digit_scalars, digits_of, out_of_range, signature)
from decisions import FAILS, HOLDS, UNDECIDED
from polynomials import NotProven
from running import Place, Space, load, plus, store
from signatures import require


class Vectors(Batch):
    """The engine in C for all of it: what it gets, and what becomes of its outcomes."""

    def check(self, signatures, outcomes, off=()):
        count = len(signatures)
        octets = self.octets(signatures)
        pointers, results = Place(Space("tables", 8 * count)), Place(Space("outcomes", count))
        for i in range(count):
            store(plus(pointers, 8 * i), 8, self.tables[1 + i % 2].object)

        def verify(generator, keys, digits, r, number, target):
            require(generator == self.tables[0].points and number == count,
                    "another table is the generator's")
            for i, (_, of_r, _, u1, u2) in enumerate(signatures):
                require(load(plus(keys, 8 * i), 8) == self.tables[1 + i % 2].points,
                        "a signature gets the table of another one")
                wanted = digits_of(self.curve, u1) + digits_of(self.curve, u2)
                found = [load(plus(digits, 2 * (len(wanted) * i + k)), 2)
                         for k in range(len(wanted))]
                require(found == [d & 0xFFFF for d in wanted], "digits are those of others")
                words = sum(load(plus(r, 32 * i + 8 * k), 8) << 64 * k for k in range(4))
                require(words == (0 if i in off else of_r), "r is that of another signature")
                store(plus(target, i), 1, outcomes[i])

        self.run.runner.externals["assay_p256_verify"] = verify
        self.run.call("proven_batch", 2, pointers, octets, count, results)
        found = [load(plus(results, i), 1) for i in range(count)]
        require(found == [FAILS if i in off else o for i, o in enumerate(outcomes)],
                "an outcome is that of another signature")


class Appended(Portable):
    """Only what is appended to the lists."""

    def check(self, signatures, outcomes=(), equal=()):
        lists = [self.terms(self.tables[1 + i % 2], u1, u2)
                 for i, (_, _, _, u1, u2) in enumerate(signatures)]
        (name,) = [n for n in self.run.runner.module.functions
                   if n.endswith("8SumTreesC3addyySiFAA4P256O_Tg5")]

        def add(count, trees):
            require(count == len(lists), "another number of lists is added")
            inside = [cell[1] for _, cell in sorted(trees.object.cells.items())
                      if isinstance(cell[1], Place)]
            size = 2 * self.curve.coordinate * 2 * self.curve.windows
            (points,) = [p for p in inside if p.object.size == size * count]
            for i, wanted in enumerate(lists):
                at = plus(points, size * i)
                found = self.run.read(at, self.curve, 2 * len(wanted)) if wanted else []
                require(len(found) == 2 * len(wanted) and all(
                    a is b for a, b in zip(found, [x for point in wanted for x in point])),
                    "a list has the points of other digits")
            raise Checked

        self.run.runner.externals[name] = add
        octets, count = self.octets(signatures), len(signatures)
        pointers, results = Place(Space("tables", 8 * count)), Place(Space("outcomes", count))
        for i in range(count):
            store(plus(pointers, 8 * i), 8, self.tables[1 + i % 2].object)
        try:
            self.call(pointers, octets, count, results)
        except Checked:
            return
        raise NotProven("no lists are added")


class Checked(Exception):
    """The lists are as they have to be."""


def prove_batches(module):
    chosen = random.Random(59)

    def some(count):
        return [signature(P256, chosen) for _ in range(count)]

    def results(count):
        return [(HOLDS, FAILS, UNDECIDED)[i % 3] for i in range(count)]

    algebra = Algebra()
    tables = [Table(algebra, P256, name) for name in ("G", "Q0", "Q1")]
    scalars = digit_scalars(P256)
    for start in range(0, len(scalars), 32):
        part = scalars[start:start + 32]
        Appended(module, P256, tables, algebra).check([
            signature(P256, chosen, u1, u2) for u1, u2 in zip(part, reversed(part))])
    yield ("ECDSABatch, SumTrees.append: the list of a signature has, for each digit of u1 = e / s "
           "and u2 = r / s but 0, its point of the generator's table or of the key's, negated for "
           "a negative one: for every digit in every window")
    edges = [signature(P256, chosen, 0, 0), signature(P256, chosen, 1, 0),
             signature(P256, chosen, 0, 1), signature(P256, chosen, 5, 7, 3)]
    of_edges = [UNDECIDED, HOLDS, FAILS, HOLDS, UNDECIDED, FAILS]
    for count in (1, 2, 3, 5, 8):
        Portable(module, P256, tables, algebra).check(some(count), results(count))
    Portable(module, P256, tables, algebra).check(edges + some(2), of_edges)
    for equal in ([(0, 0)], [(1, 25)], [(0, 3), (1, 7)]):
        Portable(module, P256, tables, algebra).check(some(3), results(3), equal)
    yield ("SumTrees (portable): each pass replaces each pair by its sum, with the inverse of its "
           "own difference, until fewer than 32 pairs are left; the rest are added one by one, and "
           "x and ZZ of a signature's sum are compared with its own r")
    yield ("SumTrees (portable): two points of a pair with one x make their signature undecided, "
           "and no other; so does a list without points")
    wrong = out_of_range(P256, chosen)
    Portable(module, P256, tables, algebra).check(wrong + some(1), [HOLDS] * 4, (), range(3))
    algebra = Algebra()
    tables = [Table(algebra, P256, name, FORM) for name in ("G", "Q0", "Q1")]
    for count in (1, 2, 3, 5, 8):
        Pairs(module, P256, tables, algebra).check(some(count), results(count))
    Pairs(module, P256, tables, algebra).check(edges + some(2), of_edges)
    for equal in ([(0, 0)], [(1, 25)], [(0, 3), (1, 7)]):
        Pairs(module, P256, tables, algebra).check(some(3), results(3), equal)
    yield ("SumTrees (avx2): the same by the functions in C: pairs and places ascend, a slot gets "
           "2^10 / its product, and points come back to the field's form")
    algebra = Algebra()
    tables = [Table(algebra, P256, name, 16) for name in ("G", "Q0", "Q1")]
    for count in (1, 3, 8, 20):
        Vectors(module, P256, tables, algebra).check(some(count), results(count))
    Vectors(module, P256, tables, algebra).check(wrong + some(1), [HOLDS] * 4, range(3))
    yield "ECDSABatch: a signature whose r or s is out of range fails, whatever its sum is"
    yield ("P256Vectors: each signature's table, digits and r go to assay_p256_verify, and its "
           "outcome comes back")
