"""The inverse of one number (ModularInverse): one step of each loop, for all states of it."""
import re
from fractions import Fraction
from itertools import permutations, product

from compiled import MODULI
from fields import sum_of
from machine import Machine
from memory import Memory, Pointer
from polynomials import NotProven, Polynomial
from portable import cut_word
from ring import Residue, Ring, RingRunner
from running import Opaque, Place, Runner, Space, load, plus, store
from signatures import require
from values import Word

LIMB = 62
END = 1 << 64
ROLES = ("f", "g", "u", "v", "q", "r", "delta", "left")
# The batches of steps end long before a counter gets that far from 0.
FAR = 1 << 40


class Stop(Exception):
    """The state at the beginning of a loop is known."""


class Inverse:
    def __init__(self, module, words):
        self.module, self.words, self.count = module, words, words + 1
        self.names = {name: self.find(pattern) for name, pattern in (
            ("matrix", "6Matrix33_[0-9A-F]*LLVy"), ("modulo", "V5apply33_[0-9A-F]*LL_6modulo"),
            ("apply", "V5apply33_[0-9A-F]*LLyy"),
            ("is_zero", "V6isZero"), ("normalized", "V10normalized"), ("words", "V5words"),
            ("limbs", "V5limbs"), ("inverse", "V7inverse2of"))}

    def find(self, pattern):
        found = [n for n in self.module.functions if "14ModularInverse" in n and re.search(
            f"{pattern}.*\\$" + str(self.count - 1) + "__", n)]
        require(len(found) == 1, f"there is no one function for {pattern}")
        return found[0]

    def run(self, name, ring, *arguments):
        try:
            return RingRunner(self.module, {}, ring).call(self.names[name], *arguments)
        except (TypeError, AttributeError) as error:
            raise NotProven(f"an unknown value is used: {error!r}") from error

    # A step of the inner loop

    def call_matrix(self, answers, at_loop, delta):
        """Runs Matrix.init. `answers` say whether steps are left, in order."""
        answers = list(answers)
        ring = Ring()

        def decide(predicate, polynomial):
            if predicate == "eq":
                return answers.pop(0)
            return ring.free.pop(0) if ring.free else 0

        ring.decide, ring.free = decide, []
        ring.at_loop = lambda function, state: at_loop(ring, state)
        memory = Place(Space("delta", 8))
        store(memory, 8, delta)
        f, g = (Ring.variable(name, 0, (1 << LIMB) - 1) for name in "fg")
        result = self.run("matrix", ring, memory, Residue(f, 64), Residue(g, 64))
        return ring, f, g, result, load(memory, 8)

    def entry(self):
        """The state at the first begin of the loop: the roles of its parts."""
        delta, found = Ring.variable("delta", -FAR, FAR), []

        def note(ring, state):
            found.extend(polynomial(value) for value in state)
            raise Stop

        ring = None

        def keep(one, state):
            nonlocal ring
            ring = one
            note(one, state)

        try:
            self.call_matrix([0], keep, Residue(delta, 64))
        except Stop:
            pass
        require(len(found) == len(ROLES), "the loop has another state")
        (_, parts, z), (_, shifted, by, h) = ring.counts
        g = polynomial(parts[0])
        require(parts[1] == END - (1 << LIMB) and shifted == g and by == z,
                "zeros are counted of another number than g's low bits")
        power = ring.powers[z.key]
        wanted = {"f": None, "g": h, "u": power, "v": 0, "q": 0, "r": 1, "delta": delta + z,
                  "left": LIMB - z}
        candidates = []
        for order in permutations(range(len(ROLES))):
            roles = dict(zip(ROLES, order))
            if all(value is None or found[roles[role]] == lifted(value)
                   for role, value in wanted.items()):
                if found[roles["f"]] not in [lifted(v) for v in (0, 1)]:
                    candidates.append(roles)
        require(candidates, "the loop begins in another state")
        return candidates

    def all_at_once(self):
        """Without a step of the loop, where the low bits of g are 0."""
        delta = Ring.variable("delta", -FAR, FAR)
        ring, _, g, result, after = self.call_matrix([1], None, Residue(delta, 64))
        ((_, parts, z), *_) = ring.counts
        power = ring.powers[z.key]
        require(polynomial(parts[0]) == g and parts[1] == END - (1 << LIMB),
                "zeros are counted of another number than g's low bits")
        require([polynomial(x) for x in result] == [power, lifted(0), lifted(0), lifted(1)],
                "the matrix of 62 halvings is another one")
        require(polynomial(after) == delta + z, "delta is another number")

    def matrix(self):
        self.all_at_once()
        problem = None
        for roles in self.entry():
            try:
                cases = self.steps(roles)
            except NotProven as one:
                problem = one
                continue
            yield (f"ModularInverse<{self.count}>.Matrix: one turn of the loop, for all states "
                   f"({cases} cases): it is the next division steps of (delta, f, g), as many as "
                   "it counts; 2^s f = u f0 + v g0, 2^s g = q f0 + r g0 and u r - v q = 2^s stay "
                   "true after s steps")
            yield (f"ModularInverse<{self.count}>.Matrix: |u| + |v| and |q| + |r| are at most 2^s; "
                   "each turn makes at least one step, and 62 in all")
            return
        raise problem

    def steps(self, roles):
        lefts = [Polynomial.constant(n) for n in range(1, 7)] + [Ring.variable("left", 7, LIMB)]
        deltas = [Polynomial.constant(n) for n in range(-5, 6)] + [
            Ring.variable("delta", -FAR, -6), Ring.variable("delta", 6, FAR)]
        cases = 0
        for left, delta, is_last, free in product(lefts, deltas, (0, 1), (0, 1)):
            self.step(roles, left, delta, is_last, free)
            cases += 1
        return cases

    def step(self, roles, left, delta, is_last, free):
        state = {name: Ring.variable(name, -(1 << LIMB), 1 << LIMB) for name in "uvqr"}
        state |= {name: Ring.variable(name, 0, END - 1) for name in "fg"}
        state |= {"left": left, "delta": delta}
        turns = []

        def at_loop(ring, found):
            turns.append(found)
            if len(turns) == 2:
                raise Stop
            ring.counts.clear()
            ring.residues.clear()
            ring.free = [free]
            turns.append(ring)
            turns.pop()
            self.ring = ring
            values = [None] * len(ROLES)
            for role, at in roles.items():
                values[at] = self.word(state[role])
            return tuple(values)

        result = after = None
        try:
            *_, result, after = self.call_matrix([0, is_last], at_loop, 1)
        except Stop:
            require(not is_last, "the loop goes on after its last step")
        if is_last:
            require(result is not None, "the loop does not end after its last step")
            new = dict(zip("uvqr", result)) | {"delta": after}
        else:
            require(len(turns) == 2, "the loop ends before its last step")
            new = {role: turns[1][at] for role, at in roles.items()}
        self.check_step(state, {role: polynomial(value) for role, value in new.items()})

    @staticmethod
    def word(value):
        return Residue(value, 64) if value.number is None else value.number & END - 1

    def check_step(self, old, new):
        ring, delta = self.ring, old["delta"]
        is_swapped = delta.bounds()[0] > 0
        kept, other = [old["f"], old["u"], old["v"]], [old["g"], old["q"], old["r"]]
        if is_swapped:
            kept, other, delta = other, [-x for x in kept], -delta
        # The multiple of the kept row: w in [0, 2^b).
        require(len(ring.residues) == 1, "there is no one multiple")
        ((key, (source, bits)),) = ring.residues.items()
        w = Polynomial(dict(key))
        require(1 <= bits <= 6 and bits <= old["left"].bounds()[0]
                and bits <= (1 - delta).bounds()[0], "more steps are made at once than have one f")
        total = [a + w * b for a, b in zip(other, kept)]
        # g + w f is 0 modulo 2^b for odd f, whose square is 8 m + 1.
        m = Ring.variable("m", 0, END)
        exact = reduced(other[0] + source * kept[0], kept[0], m)
        require(congruent(exact, lifted(0), bits), "g + w f is no multiple of 2^b")
        (zeros, parts, z), *shifts = ring.counts
        mask = parts[1]
        left = old["left"]
        require(zeros == "zeros" and congruent(polynomial(parts[0]), total[0]) and (
            mask == ("mask", left) if isinstance(mask, tuple)
            else mask == END - (1 << left.number)), "zeros are counted of another number than g")
        power = ring.powers[z.key]
        rows = [power * kept[1], power * kept[2], total[1], total[2]]
        for name, wanted in zip("uvqr", rows):
            require(congruent(new[name], wanted), f"{name} is another number")
        require(congruent(new["delta"], delta + z), "delta is another number")
        determinant = new["u"] * new["r"] - new["v"] * new["q"]
        require(congruent(determinant, power * (old["u"] * old["r"] - old["v"] * old["q"])),
                "the determinant is another one")
        if "f" in new:
            ((_, shifted, by, h),) = shifts
            require(congruent(shifted, total[0]) and by == z and new["g"] == h,
                    "g is another number")
            require(congruent(new["f"], kept[0]), "f is another number")
            require(congruent(new["left"], left - z), "another number of steps is left")

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
        for place, combination in zip((f, g), wanted):
            total = self.total(ring, place)
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
            for place, (a, b) in zip(places, ((u, v), (q, r))):
                total = self.total(ring, place)
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
        yield (f"{name}.inverse: begins with f = M, g = a, d = 0, e = 1, ends for g = 0 and returns "
               "d, or -d for f < 0: so d a = f and e a = g modulo M, and d a = 1 for f = 1 or -1")


class Loop:
    """inverse(of:), with its parts replaced: which numbers each gets."""

    def __init__(self, proof, turns, top):
        self.proof, self.turns, self.top, self.trace = proof, turns, top, []
        self.count = proof.count

    def fill(self, place, name, top=None):
        """New limbs, of which f's last one has a sign."""
        values = [Opaque() for _ in range(self.count)]
        if top is not None:
            values[-1] = top & END - 1
        for i, value in enumerate(values):
            store(plus(place, 8 * i), 8, value)
        return values

    def read(self, place):
        return [load(plus(place, 8 * i), 8) for i in range(self.count)]

    def check(self):
        proof, count = self.proof, self.count
        modulus = MODULI[0] if proof.words == 4 else MODULI[2]
        inversion = proof.inversion(modulus)
        number = [Opaque() for _ in range(proof.words)]
        state = {"f": [load(plus(inversion, 8 * i), 8) for i in range(count)],
                 "d": [0] * count, "e": [1] + [0] * (count - 1)}
        places, matrices, answer = {}, [], [Opaque() for _ in range(proof.words)]

        def limbs(target, *words):
            if proof.words == 6:
                words = [load(plus(words[0], 8 * i), 8) for i in range(6)]
            require(same_values(words, number), "another number is inverted")
            state["g"] = self.fill(target, "g")

        def is_zero(place):
            require(same_values(self.read(place), state["g"]), "another number is asked for 0")
            return int(len(matrices) == self.turns)

        def matrix(delta, f, g):
            require(same_values([f, g], [state["f"][0], state["g"][0]]),
                    "the steps are of other numbers")
            require(same_values([load(delta, 8)], [matrices[-1][1] if matrices else 1]),
                    "delta is another number")
            new = [Opaque() for _ in range(4)], Opaque()
            store(delta, 8, new[1])
            matrices.append(new)
            return tuple(new[0])

        def modulo(u, v, q, r, d, e, own):
            require(same_values([u, v, q, r], matrices[-1][0]), "another matrix is applied")
            require(own == inversion, "another modulus is used")
            self.apply(state, ("d", "e"), (d, e))

        def apply(u, v, q, r, f, g):
            require(same_values([u, v, q, r], matrices[-1][0]), "another matrix is applied")
            self.apply(state, ("f", "g"), (f, g))

        def normalized(target, d, negating, own):
            require(same_values(self.read(d), state["d"]), "another number is the inverse")
            require(negating == int(self.turns > 0 and self.top < 0), "the sign is another one")
            require(own == inversion, "another modulus is used")
            state["result"] = self.fill(target, "result")

        def words(*arguments):
            require(same_values(self.read(arguments[-1]), state["result"]),
                    "another number is returned")
            if proof.words == 4:
                return tuple(answer)
            for i, word in enumerate(answer):
                store(plus(arguments[0], 8 * i), 8, word)

        functions = {"limbs": limbs, "is_zero": is_zero, "matrix": matrix, "modulo": modulo,
                     "apply": apply, "normalized": normalized, "words": words}
        runner = Runner(proof.module, {proof.names[n]: f for n, f in functions.items()})
        places = self.arguments(number)
        if proof.words == 4:
            found = runner.call(proof.names["inverse"], *number, inversion)
        else:
            result = Place(Space("answer", 48))
            runner.call(proof.names["inverse"], result, places, inversion)
            found = [load(plus(result, 8 * i), 8) for i in range(6)]
        require(same_values(found, answer), "another number is returned")
        require(len(matrices) == self.turns, "the loop goes on after g is 0")

    @staticmethod
    def arguments(number):
        place = Place(Space("number", 8 * len(number)))
        for i, word in enumerate(number):
            store(plus(place, 8 * i), 8, word)
        return place

    def apply(self, state, names, places):
        for name, place in zip(names, places):
            require(same_values(self.read(place), state[name]), f"another {name} is multiplied")
        for name, place in zip(names, places):
            state[name] = self.fill(place, name, self.top if name == "f" else None)


def same_values(found, wanted):
    """Whether values are the same, without comparing what is not known."""
    return len(found) == len(wanted) and all(
        a is b if isinstance(a, Opaque) or isinstance(b, Opaque) else a == b
        for a, b in zip(found, wanted))


def polynomial(value):
    if isinstance(value, int):
        return Polynomial.constant(value)
    if not isinstance(value, Residue):
        raise NotProven("a word that is no number is used as one")
    return value.polynomial


def lifted(value):
    return value if isinstance(value, Polynomial) else Polynomial.constant(value)


def congruent(a, b, bits=64):
    return all(isinstance(c, int) and c % (1 << bits) == 0 for c in (a - b).terms.values())


def reduced(value, odd, m):
    """With 8 m + 1 in the place of each square of an odd variable."""
    ((variable,),) = [monomial for monomial in odd.terms]
    while True:
        found = next((t for t in value.terms if t.count(variable) >= 2), None)
        if found is None:
            return value
        rest = list(found)
        rest.remove(variable)
        rest.remove(variable)
        term = Polynomial({tuple(rest): value.terms[found]})
        value = value - Polynomial({found: value.terms[found]}) + term * (m.scaled(8) + 1)


def total_of(limbs):
    total = Polynomial.constant(0)
    for i, limb in enumerate(limbs):
        total = total + limb.scaled(1 << LIMB * i)
    return total


def prove_inverse(module):
    for words in (4, 6):
        yield from Inverse(module, words).prove(MODULI[:2] if words == 4 else MODULI[2:])
    yield ("the division steps are those of Bernstein and Yang (2019), whose theorem 11.2 bounds "
           "their number: the loop ends after at most 12 turns for 256 bits, and 18 for 384")
