"""Runs compiled Swift on words that are known modulo a power of two: polynomials in integers with
bounds. A word is made an exact integer, with or without a sign, where its bounds allow it."""
from fractions import Fraction
from math import ceil, floor

from polynomials import NotProven, Polynomial, Variable
from running import Runner, signed
from translation import ORDER, PLAIN, SPECIAL, Translation


class Residue:
    """A word that is congruent to a polynomial modulo 2^bits."""

    __slots__ = ("polynomial", "bits")

    def __init__(self, polynomial, bits):
        self.polynomial, self.bits = polynomial, bits

    def low_part(self, size):
        """The low octets."""
        return Residue(self.polynomial, min(self.bits, 8 * size))

    def with_high(self, high):
        """This word of 64 bits, and the one above it: its signs."""
        if not isinstance(high, Sign) or high.of != self.polynomial or self.bits < 64:
            raise NotProven("a word of 128 bits is made of two unknown ones")
        return Residue(self.polynomial, 128)

    def __eq__(self, other):
        raise NotProven("words are compared outside of their machine")

    __hash__ = None

    def __bool__(self):
        raise NotProven("a choice depends on an unknown word")


class Sign(Residue):
    """-1 or 0, as another exact word is negative or not."""

    __slots__ = ("of",)


class Or:
    """a | b, where bits are common: of a test for 0, or of a count of zeros."""

    def __init__(self, parts):
        self.parts = parts


class Ring:
    """The operations. `decide` answers comparisons that the bounds leave open."""

    def __init__(self, decide=None):
        self.decide = decide or (lambda predicate, polynomial: None)
        # Polynomials that are at least 0, and those that are multiples of a power of two.
        self.naturals, self.multiples = [], []
        self.splits, self.powers, self.counts, self.residues = {}, {}, [], {}

    @staticmethod
    def variable(name, low, high):
        return Polynomial.of(Variable(name, low, high))

    def residue(self, value, bits):
        if isinstance(value, int):
            return Residue(Polynomial.constant(signed(value, bits)), bits)
        if not isinstance(value, Residue):
            raise NotProven("a word that is no number is used as one")
        return value

    # Bounds

    def bounds(self, polynomial):
        low, high = polynomial.bounds()
        for fact in self.naturals:
            common = [m for m in fact.terms if m and m in polynomial.terms]
            for factor in {Fraction(polynomial.terms[m]) / fact.terms[m] for m in common}:
                least, greatest = (polynomial - fact.scaled(factor)).bounds()
                if factor > 0:
                    low = max(low, least)
                else:
                    high = min(high, greatest)
        return ceil(low), floor(high)

    def exact(self, value, bits, is_signed):
        """The integer that a word stands for."""
        value = self.residue(value, bits)
        if value.bits < bits:
            raise NotProven("high bits of a word are not known")
        least = -(1 << bits - 1) if is_signed else 0
        low, high = self.bounds(value.polynomial)
        turn = -((low - least) >> bits) << bits
        if high + turn >= least + (1 << bits):
            raise NotProven(f"a word can be out of its range: {low:#x} to {high:#x}")
        return value.polynomial + turn if turn else value.polynomial

    # Parts of words

    def split(self, polynomial, n):
        """The integers q and r of q 2^n + r, for 0 <= r < 2^n."""
        if polynomial.number is not None:
            number = polynomial.number
            return Polynomial.constant(number >> n), Polynomial.constant(number & (1 << n) - 1)
        key = polynomial.key, n
        if key not in self.splits:
            self.splits[key] = self.new_split(polynomial, n)
        return self.splits[key]

    def new_split(self, polynomial, n):
        low, high = self.bounds(polynomial)
        if low >> n == high >> n:
            return Polynomial.constant(low >> n), polynomial - (low >> n << n)
        if self.is_multiple(polynomial, n):
            return polynomial.divided_by_power_of_two(n), Polynomial.constant(0)
        rest = self.variable("r", 0, (1 << n) - 1)
        return (polynomial - rest).divided_by_power_of_two(n), rest

    def is_multiple(self, polynomial, n):
        """Whether 2^n divides a polynomial, by its coefficients or by a fact."""
        found = [polynomial]
        for fact in self.multiples:
            for one in list(found):
                common = [m for m in fact.terms if m in one.terms]
                found += [one - fact.scaled(factor) for factor in {
                    Fraction(one.terms[m]) / fact.terms[m] for m in common}
                    if Fraction(factor).denominator == 1]
        return any(all(isinstance(c, int) and c % (1 << n) == 0 for c in one.terms.values())
                   for one in found)

    # Operations

    def scalar(self, op, a, b, bits):
        mask = (1 << bits) - 1
        if isinstance(a, int) and isinstance(b, int):
            if op in PLAIN:
                return eval(f"({a} {PLAIN[op]} {b}) & {mask}")
            form = SPECIAL[op].replace("BITS", str(bits)).replace("MASK", str(mask))
            return eval(form.format(a=a, b=b), {"signed": signed})
        return getattr(self, "of_" + op)(a, b, bits)

    def both(self, a, b, bits, combine):
        a, b = self.residue(a, bits), self.residue(b, bits)
        return Residue(combine(a.polynomial, b.polynomial), min(a.bits, b.bits))

    def of_add(self, a, b, bits):
        return self.both(a, b, bits, lambda x, y: x + y)

    def of_sub(self, a, b, bits):
        return self.both(a, b, bits, lambda x, y: x - y)

    def of_mul(self, a, b, bits):
        return self.both(a, b, bits, lambda x, y: x * y)

    def of_and(self, a, b, bits):
        for x, y in ((a, b), (b, a)):
            if isinstance(y, Sign) and y.polynomial.number is not None:
                y = y.polynomial.number & (1 << bits) - 1
            if not isinstance(y, int):
                continue
            if y in (0, (1 << bits) - 1):
                return x if y else 0
            if y & (y + 1) == 0 and isinstance(x, Residue):
                return self.low(x, y.bit_length(), bits)
        raise NotProven("a conjunction of words")

    def low(self, value, n, bits):
        """The low n bits."""
        if value.bits < n:
            raise NotProven("low bits of a word are not known")
        if (value.polynomial.key, n) not in self.splits:
            low, high = self.bounds(value.polynomial)
            if low < 0 or high >= 1 << n:
                self.split(value.polynomial, n)
            else:
                return value
        rest = self.splits[value.polynomial.key, n][1]
        self.residues[rest.key] = value.polynomial, n
        if n == 62:
            self.multiples.append(rest - value.polynomial)
        return Residue(rest, bits)

    def of_or(self, a, b, bits):
        return Or([p for x in (a, b) for p in (x.parts if isinstance(x, Or) else [x])])

    def of_xor(self, a, b, bits):
        raise NotProven("an exclusive or of words")

    def of_shl(self, a, b, bits):
        if isinstance(b, int):
            return self.of_mul(a, 1 << b, bits)
        if a == (1 << bits) - 1 if isinstance(a, int) else False:
            return Or([("mask", b.polynomial)])
        return self.of_mul(a, Residue(self.power(b), bits), bits)

    def power(self, count):
        """2^count as a variable."""
        key = count.polynomial.key
        if key not in self.powers:
            raise NotProven("a shift by a count that is not known")
        return self.powers[key]

    def of_lshr(self, a, b, bits):
        if not isinstance(b, int):
            return self.shifted_out(a, b, bits)
        # Without the sign, so of a negative number the high bits are not known.
        value = self.residue(a, bits)
        is_natural = self.bounds(value.polynomial)[0] >= 0
        quotient = self.split(self.exact(a, bits, not is_natural), b)[0]
        return Residue(quotient, bits if is_natural else bits - b)

    def shifted_out(self, a, b, bits):
        """g 2^count is the word, whose low bits are 0 by the count of zeros."""
        self.power(b)
        quotient = self.variable("h", 0, (1 << bits) - 1)
        self.counts.append(("shift", a.polynomial, b.polynomial, quotient))
        return Residue(quotient, bits)

    def of_ashr(self, a, b, bits):
        exact = self.exact(a, bits, True)
        quotient = self.split(exact, b)[0]
        if b != bits - 1:
            return self.word(quotient, bits)
        sign = Sign(quotient, bits)
        sign.of = exact
        return sign

    @staticmethod
    def word(polynomial, bits):
        number = polynomial.number
        return Residue(polynomial, bits) if number is None else number & (1 << bits) - 1

    def zeros(self, a, bits):
        """cttz, of a word or with a mask that limits it."""
        parts, most = a.parts if isinstance(a, Or) else [a], bits
        for part in parts:
            # Its lowest bit that is 1.
            if isinstance(part, int) and part:
                most = min(most, (part & -part).bit_length() - 1)
            elif isinstance(part, tuple):
                most = min(most, self.bounds(part[1])[1])
        count = self.variable("z", 0, most)
        self.powers[count.key] = self.variable("T", 1, 1 << most)
        self.counts.append(("zeros", parts, count))
        return Residue(count, bits)

    def cast(self, op, a, old, new):
        if isinstance(a, int):
            return signed(a, old) & (1 << new) - 1 if op == "sext" else a & (1 << new) - 1
        if op == "trunc":
            return Residue(a.polynomial, min(a.bits, new))
        if op == "zext" and self.bounds(a.polynomial)[0] < 0:
            return a
        return Residue(self.exact(a, old, op == "sext"), new)

    def compare(self, predicate, a, b, bits):
        if isinstance(a, int) and isinstance(b, int):
            if predicate[0] == "s":
                a, b = signed(a, bits), signed(b, bits)
            return int(eval(f"{a} {ORDER[predicate.lstrip('su')]} {b}"))
        if isinstance(a, Or):
            return self.decide("zero", a.parts)
        is_signed = predicate[0] == "s" or predicate in ("eq", "ne")
        difference = self.exact(a, bits, is_signed) - self.exact(b, bits, is_signed)
        low, high = self.bounds(difference)
        name = predicate if predicate in ORDER else predicate[1:]
        answers = {eval(f"{x} {ORDER[name]} 0") for x in (low, high)}
        if len(answers) == 1 and (name not in ("eq", "ne") or low > 0 or high < 0 or low == high):
            return int(answers.pop())
        answer = self.decide(name, difference)
        if answer is None:
            raise NotProven("a choice depends on an unknown word")
        if name == "lt":
            self.naturals.append(-difference - 1 if answer else difference)
        return answer


class RingTranslation(Translation):
    """A function in Python whose operations are a ring's."""

    known_loops = None

    def emit_scalar(self, block, i):
        type = getattr(i, "a", None) and i.a.type
        if not type or type.kind != "int" or i.op not in PLAIN.keys() | SPECIAL.keys():
            return super().emit_scalar(block, i)
        a, b = self.value(i.a), self.value(i.b)
        return [f"{self.local(i.result)} = ring.scalar({i.op!r}, {a}, {b}, {type.bits})"]

    def emit_cast(self, i, form):
        return [f"{self.local(i.result)} = ring.cast({i.op!r}, {self.value(i.a)}, "
                f"{i.a.type.bits}, {i.type.bits})"]

    def emit_zext(self, block, i):
        return self.emit_cast(i, None)

    def emit_icmp(self, block, i):
        if i.a.type.kind != "int":
            return super().emit_icmp(block, i)
        a, b = self.value(i.a), self.value(i.b)
        return [f"{self.local(i.result)} = ring.compare({i.predicate!r}, {a}, {b}, "
                f"{i.a.type.bits})"]

    def intrinsic(self, i, name, arguments, target):
        if ".with.overflow" in name:
            # The flag is not used.
            a, b = arguments
            op = name.split(".")[1][1:]
            return [f"{target}(ring.scalar({op!r}, {a}, {b}, {i.arguments[0].type.bits}), None)"]
        if name.startswith("llvm.cttz"):
            return [f"{target}ring.zeros({arguments[0]}, {i.arguments[0].type.bits})"]
        return super().intrinsic(i, name, arguments, target)

    def jump(self, block, target):
        """A loop's state is what `at_loop` makes of it."""
        lines = super().jump(block, target)
        phis = [i for i in self.blocks[target] if i.op == "phi"]
        if phis and target in self.loops():
            names = ", ".join(self.local(phi.result) for phi in phis)
            lines.insert(1, f"{names}, = ring.at_loop({self.source.name!r}, ({names},))")
        return lines


    def loops(self):
        """The blocks to which a block after them jumps back."""
        if self.known_loops is None:
            self.known_loops, state = set(), {}

            def visit(name):
                state[name] = "open"
                for target in getattr(self.blocks[name][-1], "targets", ()):
                    if target not in state:
                        visit(target)
                    elif state[target] == "open":
                        self.known_loops.add(target)
                state[name] = "done"

            visit("%entry")
        return self.known_loops


class RingRunner(Runner):
    @staticmethod
    def translation():
        return RingTranslation

    def __init__(self, module, externals, ring):
        super().__init__(module, externals)
        self.ring = ring
        if not hasattr(ring, "at_loop"):
            ring.at_loop = lambda function, state: state

    def scope(self):
        return {"ring": self.ring}
