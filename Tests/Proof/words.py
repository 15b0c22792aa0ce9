"""Arithmetic on words that stand for many values."""
from knowledge import Knowledge
from polynomials import NotProven, Polynomial, Variable
from values import UNKNOWN, Exclusive, Joined, Negated, Word, same


def valuation(coefficient):
    """How often 2 divides a coefficient; -1 for a fraction."""
    if not isinstance(coefficient, int):
        return -1
    return (coefficient & -coefficient).bit_length() - 1


class Arithmetic(Knowledge):
    """The operations of one run. `choose` decides about a bit that a choice depends on."""

    def __init__(self, choose):
        super().__init__()
        self.splits, self.choose = {}, choose
        # Whether sums and products may lose their high bits; and the carries of such sums.
        self.may_wrap, self.carries = False, {}

    def fitting(self, polynomial, low, high, bits, what):
        """The word of a result. Everything depends on this: a word is the integer itself."""
        end = 1 << bits
        if low < 0 or high >= end:
            least, greatest = self.bounds(polynomial)
            low, high = max(low, least), min(high, greatest)
            if self.naturals and low >= 0 and high < end:
                return self.named(polynomial, low, high)
        if low >= end or high < 0:
            # Wraps for every value.
            turn = -(low // end) * end
            polynomial, low, high = polynomial + turn, low + turn, high + turn
        if low < 0:
            raise NotProven(f"{what} can be negative: {low}")
        if high >= end:
            raise NotProven(f"{what} can exceed {bits} bits: {high:#x}")
        return Word(polynomial, low, high)

    def named(self, polynomial, low, high):
        """A word with a variable of its own, because its bounds say more than those of its
        polynomial's variables."""
        word = Word.variable(f"w{Variable.count}", low, high)
        self.zeros.append(word.polynomial - polynomial)
        return word

    def add(self, a, b, bits):
        if UNKNOWN in (a, b):
            return UNKNOWN
        if b.number == 0:
            return a
        if a.number == 0:
            return b
        if a.number is not None and b.number is not None:
            return Word.constant(a.number + b.number & (1 << bits) - 1)
        polynomial, low, high = a.polynomial + b.polynomial, a.low + b.low, a.high + b.high
        is_negative = b.number is not None and b.number >> bits - 1 and a.high < 1 << bits - 1
        if self.may_wrap and (is_negative or a.low < 0 or b.low < 0):
            return self.add_negative(polynomial, low, high, bits)
        if self.may_wrap and high >= 1 << bits:
            carry, word = self.split_carry(Word(polynomial, low, high), bits)
            self.carries[word.polynomial.key] = carry, (a, b)
            return word
        return self.fitting(polynomial, low, high, bits, "a sum")

    def subtract(self, a, b, bits):
        if UNKNOWN in (a, b):
            return UNKNOWN
        if b.number == 0:
            return a
        if a.number is not None and b.number is not None:
            return Word.constant(a.number - b.number & (1 << bits) - 1)
        if a.number == 0 and b.low == 0 and b.high == 1:
            return Negated(b)
        polynomial, low, high = a.polynomial - b.polynomial, a.low - b.high, a.high - b.low
        if self.may_wrap and low < 0:
            return self.add_negative(polynomial, low, high, bits)
        return self.fitting(polynomial, low, high, bits, "a difference")

    def multiply(self, a, b, bits):
        if UNKNOWN in (a, b):
            return UNKNOWN
        if a.low < 0 or b.low < 0:
            raise NotProven("a number that can be negative is multiplied")
        polynomial, low, high = a.polynomial * b.polynomial, a.low * b.low, a.high * b.high
        if self.may_wrap and high >= 1 << bits:
            return self.low_product(polynomial, low, high, bits)
        return self.fitting(polynomial, low, high, bits, "a product")

    def add_negative(self, polynomial, low, high, bits):
        """A sum with a small negative number. It may be negative itself, until more is added."""
        if low >= 1 << bits - 1:
            polynomial, low, high = polynomial - (1 << bits), low - (1 << bits), high - (1 << bits)
        if low < 0:
            least, greatest = self.bounds(polynomial)
            low, high = max(low, least), min(high, greatest)
            if low >= 0:
                return self.named(polynomial, low, high)
        return Word(polynomial, low, high)

    def carry_of(self, total, term):
        """Whether a sum is below one of its two terms: then it lost a carry."""
        carry, terms = self.carries[total.polynomial.key]
        if not any(same(term, one) for one in terms):
            raise NotProven("a sum is compared with another number than one of its terms")
        return carry

    def low_product(self, polynomial, low, high, bits):
        """The low bits of a product, by a variable for the high ones: Montgomery's reduction
        multiplies the result again, and then those cancel."""
        lost = Word.variable(f"q{Variable.count}", low >> bits, high >> bits)
        return self.named(polynomial - lost.polynomial.scaled(1 << bits), 0, (1 << bits) - 1)

    def split(self, word, n):
        """The integers q and r < 2^n of a word q 2^n + r."""
        if word is UNKNOWN:
            return UNKNOWN, UNKNOWN
        if word.low < 0:
            raise NotProven("the bits of a number that can be negative")
        if word.number is not None:
            return Word.constant(word.number >> n), Word.constant(word.number & (1 << n) - 1)
        if word.high < 1 << n:
            return Word.constant(0), word
        key = (word.polynomial.key, n)
        if key not in self.splits:
            if self.may_wrap and word.low >> n != word.high >> n:
                word = self.tightened(word)
            self.splits[key] = (self.exact_split(word, n) or self.multiple_split(word, n)
                                or self.fresh_split(word, n))
        return self.splits[key]

    def multiple_split(self, word, n):
        """Of a word that is a multiple of 2^n because another form of its polynomial is."""
        if not self.may_wrap or not self.zeros:
            return None
        for other in self.alternatives(word.polynomial)[1:]:
            if all(valuation(c) >= n for c in other.terms.values()):
                quotient = word.polynomial.divided_by_power_of_two(n)
                return Word(quotient, word.low >> n, word.high >> n), Word.constant(0)
        return None

    def exact_split(self, word, n):
        """Without a new variable, where the bits of the polynomial's terms say what r is."""
        terms = word.polynomial.terms
        for k in sorted({valuation(c) for c in terms.values()}):
            if k <= 0:
                continue
            low = Polynomial({m: c for m, c in terms.items() if valuation(c) < k})
            least, greatest = low.bounds()
            if least < 0 or greatest >= 1 << k:
                continue
            high = Polynomial({m: c for m, c in terms.items() if valuation(c) >= k})
            rest = high.divided_by_power_of_two(min(k, n))
            ends = (max(0, (word.low - greatest) >> min(k, n)), word.high >> min(k, n))
            rest = self.tightened(Word(rest, *ends))
            small = Word(low, least, greatest)
            if k >= n:
                if greatest < 1 << n:
                    return rest, small
                continue
            quotient, middle = self.split(rest, n - k)
            remainder = Word(
                low + middle.polynomial.scaled(1 << k), least + (middle.low << k),
                greatest + (middle.high << k))
            return quotient, remainder
        return None

    def fresh_split(self, word, n):
        remainder = Word.variable(f"r{Variable.count}", 0, (1 << n) - 1)
        if word.low >> n == word.high >> n:
            number = word.low >> n
            rest = Word(word.polynomial - (number << n), word.low & (1 << n) - 1,
                        word.high & (1 << n) - 1)
            return Word.constant(number), rest
        quotient = (word.polynomial - remainder.polynomial).divided_by_power_of_two(n)
        (variable,) = remainder.polynomial.variables()
        self.quotients[variable] = quotient
        return Word(quotient, word.low >> n, word.high >> n), remainder

    def shift_right(self, a, n, bits):
        if isinstance(a, Joined):
            return self.disjunction(
                self.shift_right(a.a, n, bits), self.shift_right(a.b, n, bits), bits)
        return a if n == 0 else self.split(a, n)[0]

    def shift_left(self, a, n, bits):
        if a is UNKNOWN:
            return UNKNOWN
        if a.low < 0:
            raise NotProven("a number that can be negative is shifted")
        if a.high << n >= 1 << bits:
            a = self.split(a, bits - n)[1]
        return Word(a.polynomial.scaled(1 << n), a.low << n, a.high << n, zeros=n)

    def shift_right_signed(self, a, n, bits):
        if a is UNKNOWN:
            return UNKNOWN
        if a.high < 1 << (bits - 1):
            return self.shift_right(a, n, bits)
        if a.low < 1 << (bits - 1):
            raise NotProven("the sign of a shifted number is not known")
        quotient = self.split(a, n)[0]
        more = (1 << bits) - (1 << (bits - n))
        return Word(quotient.polynomial + more, quotient.low + more, quotient.high + more)

    def conjunction(self, a, b, bits):
        if isinstance(a, Word) and a.number is not None:
            a, b = b, a
        if isinstance(b, Word) and b.number is not None:
            mask = b.number
            if mask == 0:
                return Word.constant(0)
            if mask == (1 << bits) - 1:
                return a
            if a is UNKNOWN:
                return UNKNOWN
            a = self.masked(a, bits)
            if isinstance(a, Word):
                if a.number is not None:
                    return Word.constant(a.number & mask)
                first = valuation(mask)
                ones = mask >> first
                if ones & (ones + 1) == 0:
                    part = self.split(self.shift_right(a, first, bits), ones.bit_length())[1]
                    return self.shift_left(part, first, bits)
        if UNKNOWN in (a, b):
            return UNKNOWN
        if same(a, b):
            return a
        for x, y in ((a, b), (b, a)):
            mask = self.masked(y, bits)
            if mask is not y:
                return x if mask.number else Word.constant(0)
        raise NotProven("a conjunction of two unknown words")

    def disjunction(self, a, b, bits):
        if UNKNOWN in (a, b):
            return UNKNOWN
        if isinstance(a, Joined) or isinstance(b, Joined):
            return Joined(a, b)
        for x, y in ((a, b), (b, a)):
            if x.number is not None and (x.number == 0 or y.number is not None):
                return Word.constant(x.number | y.number) if y.number is not None else y
        for x, y in ((a, b), (b, a)):
            shift = max(y.zeros, min(valuation(c) for c in y.polynomial.terms.values()))
            if x.high < 1 << max(shift, 0):
                return self.add(x, y, bits)
        if self.may_wrap:
            a, b = self.tightened(a), self.tightened(b)
        if a.high <= 1 and b.high <= 1:
            return Word.constant(self.choose(a) | self.choose(b))
        if self.may_wrap:
            return Joined(a, b)
        raise NotProven("a disjunction of words with common bits")

    def exclusive(self, a, b, bits):
        if UNKNOWN in (a, b):
            return UNKNOWN
        for x, y in ((a, b), (b, a)):
            if isinstance(x, Exclusive) and same(x.a, y):
                return x.b
            if isinstance(x, Exclusive) and same(x.b, y):
                return x.a
            if isinstance(x, Word) and x.number == 0:
                return y
        if isinstance(a, Word) and isinstance(b, Word):
            if a.number is not None and b.number is not None:
                return Word.constant(a.number ^ b.number)
            for x, y in ((a, b), (b, a)):
                if x.number == (1 << bits) - 1:
                    return Word(x.number - y.polynomial, x.number - y.high, x.number - y.low)
                if x.number == 1 and y.high == 1:
                    return Word(1 - y.polynomial, 0, 1)
                if x.number is not None and y.high == 1:
                    return Word.constant(x.number ^ self.choose(y))
            return Exclusive(a, b)
        raise NotProven("an exclusive or of unknown words")

    def add_with_carry(self, carry, a, b, bits):
        """The carry and the word of a sum."""
        if UNKNOWN in (carry, a, b):
            return UNKNOWN, UNKNOWN
        a, b = self.masked(a, bits), self.masked(b, bits)
        total = Word(
            a.polynomial + b.polynomial + carry.polynomial, a.low + b.low + carry.low,
            a.high + b.high + carry.high)
        return self.split_carry(total, bits)

    def subtract_with_borrow(self, borrow, a, b, bits):
        if UNKNOWN in (borrow, a, b):
            return UNKNOWN, UNKNOWN
        end = 1 << bits
        total = Word(
            a.polynomial - b.polynomial - borrow.polynomial + end,
            a.low - b.high - borrow.high + end, a.high - b.low - borrow.low + end)
        carry, word = self.split_carry(total, bits)
        return Word(1 - carry.polynomial, 1 - carry.high, 1 - carry.low), word

    def masked(self, a, bits):
        """The word of a mask: all bits or none."""
        if isinstance(a, Negated):
            return Word.constant((1 << bits) - 1 if self.choose(a.bit) else 0)
        if isinstance(a, Word) and (a.low, a.high) == (-1, 0):
            is_zero = self.choose(Word(a.polynomial + 1, 0, 1))
            return Word.constant(0 if is_zero else (1 << bits) - 1)
        return a

    def split_carry(self, total, bits):
        if total.low >> bits != total.high >> bits:
            known = self.splits.get((total.polynomial.key, bits))
            if known:
                return known
            total = self.tightened(total)
        return self.split(total, bits)
