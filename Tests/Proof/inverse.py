"""The inverse of one number (ModularInverse): its matrices applied to numbers, and its end."""
from fractions import Fraction
from itertools import product

from compiled import MODULI
from fields import sum_of
from machine import Machine
from memory import Memory, Pointer
from portable import cut_word
from ring import Residue, Ring
from running import Place, Runner, Space, load, plus, store
from signatures import require
from steps import END, LIMB, Steps, lifted, polynomial, total_of
from turns import Loop
from values import Word


class Inverse(Steps):
    # Both rows applied to whole numbers

    def numbers(self, ring, name, least, most):
        """A number of limbs in memory, from its least to its most."""
        high = LIMB * (self.count - 1)
        limbs = [Ring.variable(f"{name}{i}", 0, (1 << LIMB) - 1) for i in range(self.count - 1)]
        limbs.append(Ring.variable(f"{name}top", least >> high, most >> high))
        place = Place(Space(name, 8 * self.count))
        for i, limb in enumerate(limbs):
            store(plus(place, 8 * i), 8, Residue(limb, 64))
        return place, limbs, total_of(limbs)

    def total(self, ring, place):
        """The number that limbs in memory are."""
        limbs = [load(plus(place, 8 * i), 8) for i in range(self.count)]
        exact = [ring.exact(limb, 64, True) for limb in limbs]
        for limb in exact[:-1]:
            low, high = ring.bounds(limb)
            require(low >= 0 and high < 1 << LIMB, "a limb is out of its range")
        return total_of(exact)

    def inversion(self, modulus):
        """What ModularInverse stores."""
        place = Place(Space("inversion", 8 * self.count + 8))
        for i in range(self.count):
            store(plus(place, 8 * i), 8, modulus >> LIMB * i & (1 << LIMB) - 1)
        store(plus(place, 8 * self.count), 8, pow(modulus, -1, 1 << LIMB))
        return place

    @staticmethod
    def matrix_of(ring):
        """u, v, q and r, of which |u| + |v| and |q| + |r| are at most 2^62."""
        found = [Ring.variable(name, -(1 << LIMB), 1 << LIMB) for name in "uvqr"]
        for a, b in (found[:2], found[2:]):
            for sign, other in product((1, -1), repeat=2):
                ring.naturals.append(lifted(1 << LIMB) - a.scaled(sign) - b.scaled(other))
        return found

    def limit(self, ring, combination, most):
        """A sum of |u| + |v| <= 2^62 and two numbers that are at most `most`."""
        for sign in (1, -1):
            ring.naturals.append(lifted(most << LIMB) - combination.scaled(sign))

    def rows(self, modulus):
        ring = Ring()
        u, v, q, r = matrix = self.matrix_of(ring)
        f, f_limbs, f_total = self.numbers(ring, "f", -modulus, modulus)
        g, g_limbs, g_total = self.numbers(ring, "g", -modulus, modulus)
        wanted = u * f_total + v * g_total, q * f_total + r * g_total
        for combination, (a, b) in zip(wanted, ((u, v), (q, r))):
            self.limit(ring, combination, modulus)
            ring.multiples.append(a * f_limbs[0] + b * g_limbs[0])
        self.run("apply", ring, *(Residue(x, 64) for x in matrix), f, g)
        for number, combination in zip((f, g), wanted):
            total = self.total(ring, number)
            require(total.scaled(1 << LIMB) == combination, "f or g is another number")
            low, high = ring.bounds(total)
            require(-modulus <= low and high <= modulus, "f or g can be more than the modulus")

    def rows_modulo(self, modulus):
        for signs in product((0, 1), repeat=2):
            ring = Ring()
            u, v, q, r = matrix = self.matrix_of(ring)
            places, totals = [], []
            for name, is_negative in zip("de", signs):
                ends = (1 - 2 * modulus, -1) if is_negative else (0, modulus - 1)
                place, _, total = self.numbers(ring, name, *ends)
                places.append(place)
                totals.append(total)
            near = [t + modulus * is_negative for t, is_negative in zip(totals, signs)]
            for a, b in ((u, v), (q, r)):
                self.limit(ring, a * near[0] + b * near[1], modulus - 1)
            ring.modulo = True
            self.run("modulo", ring, *(Residue(x, 64) for x in matrix), *places,
                     self.inversion(modulus))
            for number, (a, b) in zip(places, ((u, v), (q, r))):
                total = self.total(ring, number)
                change = total.scaled(1 << LIMB) - a * totals[0] - b * totals[1]
                require(all(Fraction(c).denominator == 1 and c % modulus == 0
                            for c in change.terms.values()), "d or e is another number")
                low, high = ring.bounds(total)
                require(-2 * modulus < low and high < modulus, "d or e is out of its range")

    def end(self, modulus):
        """normalized: d or -d, from 0 to the modulus."""
        for is_negative, negating, *free in product((0, 1), repeat=4):
            ring = Ring()
            answers = list(free)
            ring.decide = lambda predicate, p, answers=answers: answers.pop(0)
            ends = (1 - 2 * modulus, -1) if is_negative else (0, modulus - 1)
            place, _, total = self.numbers(ring, "d", *ends)
            ring.naturals += [total - ends[0], ends[1] - total]
            result = Place(Space("result", 8 * self.count))
            self.run("normalized", ring, result, place, negating, self.inversion(modulus))
            found = self.total(ring, result)
            low, high = ring.bounds(found)
            if low > high:
                # What was decided can't be.
                continue
            require(0 <= low and high < modulus, "the inverse is out of its range")
            change = found - total.scaled(-1 if negating else 1)
            require(change.number is not None and change.number % modulus == 0,
                    "the inverse is another number")

    def zero(self):
        asked = []

        def decide(predicate, parts):
            asked.append({polynomial(part).key for part in parts})
            return 1

        ring = Ring(decide)
        place, limbs, _ = self.numbers(ring, "g", -1, 1)
        require(self.run("is_zero", ring, place) == 1 and asked == [{x.key for x in limbs}],
                "isZero does not ask all limbs")

    # Words and limbs

    def forms(self):
        machine, cut = Machine(self.module), [cut_word(i, LIMB) for i in range(self.words)]
        machine.arithmetic.may_wrap = True
        source, target = Memory("words", 8 * self.words), Memory("limbs", 8 * self.count)
        for i, word in enumerate(cut):
            source.write(8 * i, 8, word)
        arguments = cut if self.words == 4 else [Pointer(source)]
        machine.call(self.names["limbs"], [Pointer(target), *arguments])
        limbs = [target.read(8 * i, 8) for i in range(self.count)]
        require(all(isinstance(x, Word) and x.high < 1 << LIMB for x in limbs)
                and sum_of(limbs, LIMB) == sum_of(cut, 64), "the limbs are another number")
        machine = Machine(self.module)
        machine.arithmetic.may_wrap = True
        most = (1 << 64 * self.words) - 1
        limbs = [Word.variable(f"l{i}", 0, min((1 << LIMB) - 1, most >> LIMB * i))
                 for i in range(self.count)]
        for i, limb in enumerate(limbs):
            target.write(8 * i, 8, limb)
        result = Memory("result", 8 * self.words)
        arguments = [Pointer(result)] if self.words == 6 else []
        found = machine.call(self.names["words"], [*arguments, Pointer(target)])
        if self.words == 6:
            found = [result.read(8 * i, 8) for i in range(self.words)]
        require(any(other == sum_of(limbs, LIMB) for other in machine.arithmetic.alternatives(
            sum_of(found, 64))), "the words are another number")

    def stored(self, modulus):
        place, words = Place(Space("inversion", 8 * self.count + 8)), Place(Space("words"))
        for i in range(self.words):
            store(plus(words, 8 * i), 8, modulus >> 64 * i & END - 1)
        Runner(self.module, {}).call(f"proven_inversion_{self.words}", words, place)
        wanted = self.inversion(modulus)
        for i in range(self.count + 1):
            require(load(plus(place, 8 * i), 8) == load(plus(wanted, 8 * i), 8),
                    "the modulus or its inverse is another number")

    # The loop

    def whole(self):
        for turns, top in ((0, 0), (1, 0), (1, -1), (2, -1), (3, 0)):
            Loop(self, turns, top).check()

    def prove(self, moduli):
        name = f"ModularInverse<{self.count}>"
        yield from self.matrix()
        self.zero()
        self.forms()
        for modulus in moduli:
            self.stored(modulus)
            self.rows(modulus)
            self.rows_modulo(modulus)
            self.end(modulus)
        yield (f"{name}.apply: 2^62 f' = u f + v g and 2^62 g' = q f + r g, and neither is more "
               "than the modulus M")
        yield (f"{name}.apply modulo: the same for d and e modulo M, and both stay above -2 M and "
               "below M")
        yield f"{name}.normalized: d or -d modulo M, from 0 to M - 1"
        self.whole()
        yield (f"{name}.inverse: begins with f = M, g = a, d = 0, e = 1, ends for g = 0 and "
               "returns d, or -d for f < 0: so d a = f and e a = g modulo M, and d a = 1 for f = 1 "
               "or -1")


def prove_inverse(module):
    for words in (4, 6):
        yield from Inverse(module, words).prove(MODULI[:2] if words == 4 else MODULI[2:])
    yield ("the division steps are those of Bernstein and Yang (2019), whose theorem 11.2 bounds "
           "their number: the loop ends after at most 12 turns for 256 bits, and 18 for 384")
