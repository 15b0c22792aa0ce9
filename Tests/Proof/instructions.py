"""Models of the intrinsics that the engines use. Each works on words that stand for many values,
and on known numbers, by which `processor.py` compares it with the processor."""
import re

from conditions import Bits
from execution import is_condition
from memory import Recast
from polynomials import NotProven
from values import UNKNOWN, Negated, Word

MODELS = {}


def model(*names):
    def register(function):
        for name in names:
            MODELS[name] = function
        return function
    return register


def model_of(name):
    if re.match(r"llvm\.(lifetime|prefetch|experimental|assume)", name):
        return lambda machine, *arguments: None
    if name not in MODELS:
        raise NotProven(f"no model of {name}")
    return MODELS[name]


# Memory

@model("llvm.memcpy.p0.p0.i64")
def copy(machine, target, source, size, volatile):
    machine.copy(target, source, size.number)


@model("llvm.memset.p0.i64")
def fill(machine, target, octet, size, volatile):
    machine.fill(target, octet.number, size.number)


@model("llvm.expect.i64", "llvm.expect.i32", "llvm.expect.i1")
def expected(machine, value, _):
    return value


# Shifts of each word by a constant

@model("llvm.x86.avx512.pslli.q.512", "llvm.x86.avx2.pslli.q")
def shift_left(machine, words, count):
    return [machine.arithmetic.shift_left(a, count.number, 64) for a in words]


@model("llvm.x86.avx512.psrli.q.512", "llvm.x86.avx2.psrli.q")
def shift_right(machine, words, count):
    return [machine.scalar("lshr", a, count, 64) for a in words]


@model("llvm.x86.avx512.psrai.q.512")
def shift_right_signed(machine, words, count):
    return [machine.arithmetic.shift_right_signed(a, count.number, 64) for a in words]


# Products

def product_parts(machine, a, b):
    """The high and the low 52 bits of the product of the low 52 bits."""
    low_a, low_b = (machine.arithmetic.split(x, 52)[1] for x in (a, b))
    if UNKNOWN in (low_a, low_b):
        return UNKNOWN, UNKNOWN
    return machine.arithmetic.split(machine.arithmetic.multiply(low_a, low_b, 104), 52)


@model("llvm.x86.avx512.vpmadd52l.uq.512")
def add_low(machine, c, a, b):
    return [machine.arithmetic.add(z, product_parts(machine, x, y)[1], 64)
            for z, x, y in zip(c, a, b)]


@model("llvm.x86.avx512.vpmadd52h.uq.512")
def add_high(machine, c, a, b):
    return [machine.arithmetic.add(z, product_parts(machine, x, y)[0], 64)
            for z, x, y in zip(c, a, b)]


def multiply_32(machine, a, b):
    """VPMULUDQ: the product of the low 32 bits of each word."""
    low_a, low_b = (machine.arithmetic.split(x, 32)[1] for x in (a, b))
    return machine.arithmetic.multiply(low_a, low_b, 64)


# Bits, comparison and choice

@model("llvm.x86.avx512.pternlog.q.512")
def three_way_logic(machine, a, b, c, table):
    if table.number != 0xA8:
        raise NotProven(f"no model of the table {table.number:#x}")
    arithmetic = machine.arithmetic
    return [arithmetic.conjunction(arithmetic.disjunction(x, y, 64), z, 64)
            for x, y, z in zip(a, b, c)]


@model("llvm.x86.avx2.pblendvb")
def blend(machine, a, b, mask):
    """Chooses octets; here the mask's words are 0 or -1, so it chooses words."""
    def choose(x, y, m):
        if m is UNKNOWN:
            return UNKNOWN
        if isinstance(m, Negated):
            return y if machine.decide_word(m.bit) else x
        if m.number in (0, (1 << 64) - 1):
            return y if m.number else x
        raise NotProven("a choice of octets by a mask that is neither 0 nor -1")
    return Recast(
        [choose(*row) for row in zip(words_of(a), words_of(b), words_of(mask))], 64)


def words_of(vector):
    return vector.values if isinstance(vector, Recast) else vector


@model("llvm.x86.avx.ptestz.256")
def are_no_common_bits(machine, a, b):
    from conditions import conjunction, disjunction, negation
    found = 0
    for x, y in zip(words_of(a), words_of(b)):
        if UNKNOWN in (x, y):
            found = UNKNOWN
            break
        left, right = Bits.of(x, 64), Bits.of(y, 64)
        if left is None or right is None:
            raise NotProven("a test of words that are no masks")
        for bit in {conjunction(p, q) for p, q in zip(left, right)}:
            found = disjunction(found, bit)
    result = negation(found)
    return Bits.number([result]) if is_condition(result) else result


@model("llvm.umax.v8i64")
def greatest(machine, a, b):
    return [ordered(x, y)[1] for x, y in zip(a, b)]


@model("llvm.umin.v8i64")
def least(machine, a, b):
    return [ordered(x, y)[0] for x, y in zip(a, b)]


@model("llvm.umin.i64")
def least_word(machine, a, b):
    return ordered(a, b)[0]


@model("llvm.usub.sat.i64")
def saturated_difference(machine, a, b):
    if a.number is None or b.number is None:
        raise NotProven("a saturated difference of unknown words")
    return Word.constant(max(0, a.number - b.number))


def with_flag(name, operation):
    """A result of known numbers, and whether it does not fit."""
    @model(f"llvm.s{name}.with.overflow.i64", f"llvm.u{name}.with.overflow.i64")
    def result(machine, a, b):
        if a.number is None or b.number is None:
            raise NotProven("a flag of unknown words")
        number = operation(a.number, b.number)
        if max(a.number, b.number) >> 62 or not 0 <= number < 1 << 62:
            raise NotProven("a flag of large or negative numbers")
        return [Word.constant(number), 0]


with_flag("add", lambda x, y: x + y)
with_flag("sub", lambda x, y: x - y)
with_flag("mul", lambda x, y: x * y)


@model("llvm.trap")
def stop(machine):
    raise NotProven("the program stops")


def ordered(a, b):
    if UNKNOWN in (a, b):
        return UNKNOWN, UNKNOWN
    if a.high <= b.low:
        return a, b
    if b.high <= a.low:
        return b, a
    raise NotProven("the order of two words is not known")


@model("llvm.abs.v8i64")
def magnitude(machine, words, _):
    def of(a):
        if a is UNKNOWN or a.high < 1 << 63:
            return a
        if a.low < 1 << 63:
            raise NotProven("the sign of a word is not known")
        end = 1 << 64
        return Word(end - a.polynomial, end - a.high, end - a.low)
    return [of(a) for a in words]


@model("llvm.x86.avx512.permvar.di.512")
def permute(machine, words, indices):
    return [words[i.number % 8] for i in indices]


@model("llvm.fshl.i64")
def shift_left_both(machine, high, low, count):
    arithmetic, n = machine.arithmetic, count.number
    return arithmetic.disjunction(
        arithmetic.shift_left(high, n, 64), arithmetic.shift_right(low, 64 - n, 64), 64)


# Carries

@model("llvm.x86.addcarry.64")
def add_with_carry(machine, carry, a, b):
    return list(machine.arithmetic.add_with_carry(carry, a, b, 64))


@model("llvm.x86.subborrow.64")
def subtract_with_borrow(machine, borrow, a, b):
    return list(machine.arithmetic.subtract_with_borrow(borrow, a, b, 64))
