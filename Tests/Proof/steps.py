"""Division steps (ModularInverse.Matrix): one turn of the loop, for all states of it."""
import re
from itertools import permutations, product

from polynomials import NotProven, Polynomial
from ring import Residue, Ring, RingRunner
from running import Place, Space, load, store
from signatures import require

LIMB = 62
END = 1 << 64
ROLES = ("f", "g", "u", "v", "q", "r", "delta", "left")
# The batches of steps end long before a counter gets that far from 0.
FAR = 1 << 40


class Stop(Exception):
    """The state at the beginning of a loop is known."""


class Steps:
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
                # Whether no steps are left.
                ring.asked.append(polynomial)
                return answers.pop(0)
            return ring.free.pop(0) if ring.free else 0

        ring.decide, ring.free, ring.asked = decide, [], []
        ring.at_loop = lambda function, state: at_loop(ring, state)
        memory = Place(Space("delta", 8))
        store(memory, 8, delta)
        f, g = ring.operands = [Ring.variable(name, 0, (1 << LIMB) - 1) for name in "fg"]
        result = self.run("matrix", ring, memory, Residue(f, 64), Residue(g, 64))
        return ring, f, g, result, load(memory, 8)

    def entry(self):
        """The state at the first begin of the loop: the roles of its parts."""
        delta, found = Ring.variable("delta", -FAR, FAR), []

        def keep(ring, state):
            self.ring = ring
            found.extend(polynomial(value) for value in state)
            raise Stop

        try:
            self.call_matrix([0], keep, Residue(delta, 64))
        except Stop:
            pass
        require(len(found) == len(ROLES), "the loop has another state")
        ring = self.ring
        (_, parts, z), (_, shifted, by, h) = ring.counts
        f, g = ring.operands
        require(polynomial(parts[0]) == g and parts[1] == END - (1 << LIMB) and shifted == g
                and by == z and ring.asked == [LIMB - z],
                "zeros are counted of another number than g's low bits")
        power = ring.powers[z.key]
        wanted = {"f": f, "g": h, "u": power, "v": 0, "q": 0, "r": 1, "delta": delta + z,
                  "left": LIMB - z}
        candidates = []
        for order in permutations(range(len(ROLES))):
            roles = dict(zip(ROLES, order))
            if all(found[roles[role]] == lifted(value) for role, value in wanted.items()):
                candidates.append(roles)
        require(candidates, "the loop begins in another state")
        return candidates

    def all_at_once(self):
        """Without a step of the loop, where the low bits of g are 0."""
        delta = Ring.variable("delta", -FAR, FAR)
        ring, _, g, result, after = self.call_matrix([1], None, Residue(delta, 64))
        ((_, parts, z), *_) = ring.counts
        power = ring.powers[z.key]
        require(polynomial(parts[0]) == g and parts[1] == END - (1 << LIMB)
                and ring.asked == [LIMB - z],
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
                   f"({cases} cases): it makes the next division steps of (delta, f, g) that it "
                   "counts; 2^s f = u f0 + v g0, 2^s g = q f0 + r g0 and u r - v q = 2^s stay "
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
        # With s steps done, |u| + |v| and |q| + |r| are at most 2^s. The rows are then at most
        # 2^s T and 2^s + (2^b - 1) 2^s, and z is at least b, because 2^b divides g + w f. b steps
        # of Bernstein and Yang with one f add w f, and the others halve.
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
        require(congruent(ring.asked[-1], left - z), "the loop ends after other steps")
        determinant = new["u"] * new["r"] - new["v"] * new["q"]
        require(congruent(determinant, power * (old["u"] * old["r"] - old["v"] * old["q"])),
                "the determinant is another one")
        if "f" in new:
            ((_, shifted, by, h),) = shifts
            require(congruent(shifted, total[0]) and by == z and new["g"] == h,
                    "g is another number")
            require(congruent(new["f"], kept[0]), "f is another number")
            require(congruent(new["left"], left - z), "another number of steps is left")


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
