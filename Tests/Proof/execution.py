"""The instructions of LLVM, on words that stand for many values. Intrinsics are in instructions.py.
"""
import conditions
from conditions import Bits, Condition
from memory import UNKNOWN_MEMORY, Memory, Pointer, Recast
from polynomials import NotProven, Polynomial
from values import UNKNOWN, Exclusive, Joined, Negated, Word
from words import Arithmetic


class Infeasible(Exception):
    """The decisions of this run contradict each other."""


class Execution:
    """What a machine does for each instruction."""

    def execute_alloca(self, frame, i):
        if i.count is not None:
            raise NotProven("an object of unknown size on the stack")
        return Pointer(Memory(i.result, i.type.size))

    def execute_load(self, frame, i):
        return self.load(self.value(frame, i.a), i.type)

    def execute_store(self, frame, i):
        self.store(self.value(frame, i.a), i.value.type, self.value(frame, i.value))

    def execute_getelementptr(self, frame, i):
        pointer, type = self.value(frame, i.a), i.type
        for position, operand in enumerate(i.indices):
            index = self.value(frame, operand)
            if position == 0:
                pointer = pointer.plus(self.scaled_index(index, type.size, operand.type))
            elif type.kind == "struct":
                pointer, type = pointer.plus(type.offset(index.number)), type.parts[index.number]
            else:
                type = type.element
                pointer = pointer.plus(self.scaled_index(index, type.size, operand.type))
        return pointer

    @staticmethod
    def scaled_index(index, size, type):
        if index.number is not None:
            number = index.number
            return (number - (1 << type.bits) if number >> (type.bits - 1) else number) * size
        if index.high >> (type.bits - 1):
            raise NotProven("an index can be negative")
        return index.polynomial.scaled(size)

    def each(self, type, function, *values):
        if type.kind == "vector":
            return [function(*row) for row in zip(*values)]
        return function(*values)

    def binary(self, op):
        def execute(frame, i):
            a, b = self.value(frame, i.a), self.value(frame, i.b)
            type = i.a.type
            bits = (type.element if type.kind == "vector" else type).bits
            if isinstance(a, Recast) and isinstance(b, Recast) and op in ("and", "or", "xor"):
                # Bits stay in their targets, whatever the size of an element.
                slots = zip(a.values, b.values)
                return Recast([self.scalar(op, x, y, a.bits) for x, y in slots], a.bits)
            return self.each(type, lambda x, y: self.scalar(op, x, y, bits), a, b)
        return execute

    def __getattr__(self, name):
        if name.startswith("execute_") and name[8:] in SCALARS:
            execute = self.binary(name[8:])
            setattr(self, name, execute)
            return execute
        raise AttributeError(name)

    def scalar(self, op, a, b, bits):
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            raise NotProven("arithmetic on pointers")
        if bits == 1 or isinstance(a, (Bits, Condition)) or isinstance(b, (Bits, Condition)):
            return self.bitwise(op, a, b, bits)
        if op in ("add", "sub", "mul"):
            a, b = (self.arithmetic.masked(x, bits) if isinstance(x, Negated) else x
                    for x in (a, b))
        return SCALARS[op](self.arithmetic, a, b, bits)

    def bitwise(self, op, a, b, bits):
        functions = {"and": conditions.conjunction, "or": conditions.disjunction,
                     "xor": conditions.exclusive}
        if bits == 1:
            return functions[op](self.bit(a), self.bit(b))
        left = Bits.of(a, bits)
        if op in functions:
            return Bits.number([functions[op](x, y) for x, y in zip(left, Bits.of(b, bits))])
        count = b.number
        if op == "shl":
            return Bits.number(([0] * count + left)[:bits])
        if op == "lshr" or op == "ashr" and left[-1] == 0:
            return Bits.number(left[count:] + [0] * min(count, bits))
        raise NotProven(f"{op} of bits")

    def execute_fadd(self, frame, i):
        return self.value(frame, i.a) + self.value(frame, i.b)

    def execute_uitofp(self, frame, i):
        return float(self.value(frame, i.a).number)

    def execute_freeze(self, frame, i):
        return self.value(frame, i.a)

    def execute_zext(self, frame, i):
        old = (i.a.type.element if i.a.type.kind == "vector" else i.a.type).bits

        def extend(a):
            if is_condition(a) or old == 1 and a is UNKNOWN:
                return Bits.number([a])
            if isinstance(a, Negated):
                # All bits of the old size.
                return self.arithmetic.masked(a, old)
            if isinstance(a, Word) and a.low < 0:
                raise NotProven("a number that can be negative is extended")
            return a
        return self.each(i.a.type, extend, self.value(frame, i.a))

    def execute_sext(self, frame, i):
        old = (i.a.type.element if i.a.type.kind == "vector" else i.a.type).bits
        new = (i.type.element if i.type.kind == "vector" else i.type).bits

        def extend(a):
            if a is UNKNOWN:
                return a
            if is_condition(a):
                return Bits.number([a] * new)
            if isinstance(a, Bits):
                bits = Bits.of(a, old)
                return Bits.number(bits + [bits[-1]] * (new - old))
            if a.high < 1 << (old - 1):
                return a
            if a.low < 1 << (old - 1):
                raise NotProven("the sign of an extended number is not known")
            more = (1 << new) - (1 << old)
            return Word(a.polynomial + more, a.low + more, a.high + more)
        return self.each(i.a.type, extend, self.value(frame, i.a))

    def execute_trunc(self, frame, i):
        bits = (i.type.element if i.type.kind == "vector" else i.type).bits

        def truncate(a):
            if isinstance(a, Bits):
                a = Bits.number(a.bits[:bits])
                return a.bits[0] if bits == 1 and isinstance(a, Bits) else a
            if a is UNKNOWN or isinstance(a, Condition):
                return a
            if isinstance(a, Exclusive):
                return Exclusive(truncate(a.a), truncate(a.b))
            if bits == 1:
                word = self.arithmetic.split(a, 1)[1]
                if word.number is None:
                    return Condition(("bit", word.polynomial.key))
                return word.number
            if -(1 << bits - 1) <= a.low < 0 and a.high < 1 << bits - 1:
                return a
            if self.arithmetic.may_wrap:
                return self.arithmetic.split_carry(a, bits)[1]
            return self.arithmetic.split(a, bits)[1]
        return self.each(i.a.type, truncate, self.value(frame, i.a))

    def execute_bitcast(self, frame, i):
        value, old, new = self.value(frame, i.a), i.a.type, i.type
        if old.kind == "vector" and old.element.bits == 1 and new.kind == "int":
            return Bits.number([self.bit(a) for a in value])
        if old.kind == "int" and new.kind == "vector" and new.element.bits == 1:
            return Bits.of(value, old.bits)
        if old.kind == "vector" and new.kind == "vector":
            if isinstance(value, Recast):
                if value.bits == new.element.bits:
                    return value.values
                return value
            if old.element.bits == new.element.bits:
                return value
            return Recast(value, old.element.bits)
        raise NotProven(f"no model of: {i.text.strip()}")

    def execute_ptrtoint(self, frame, i):
        pointer = self.value(frame, i.a)
        if pointer.memory.base is None:
            raise NotProven(f"the address of {pointer.memory.name} is used as a number")
        low, high = Polynomial.of(pointer.memory.base).bounds()
        polynomial = Polynomial.of(pointer.memory.base) + pointer.offset
        self.bases[pointer.memory.base] = pointer.memory
        return self.arithmetic.tightened(Word(polynomial, low, high))

    def execute_inttoptr(self, frame, i):
        word = self.value(frame, i.a)
        if word is UNKNOWN:
            return Pointer(UNKNOWN_MEMORY, 0)
        for variable, memory in self.bases.items():
            if word.polynomial.terms.get((variable,)) == 1:
                return Pointer(memory).plus(word.polynomial - Polynomial.of(variable))
        raise NotProven("an address that is in no known object")

    def execute_icmp(self, frame, i):
        type = i.a.type
        bits = (type.element if type.kind == "vector" else type).bits
        a, b = self.value(frame, i.a), self.value(frame, i.b)
        return self.each(type, lambda x, y: self.compare(i.predicate, x, y, bits), a, b)

    def compare(self, predicate, a, b, bits):
        if UNKNOWN in (a, b):
            return UNKNOWN
        if isinstance(a, (Bits, Condition)) or isinstance(b, (Bits, Condition)):
            return self.compare_bits(predicate, a, b, bits)
        if isinstance(a, Joined) and predicate == "eq" and b.number == 0:
            return conditions.conjunction(
                self.compare("eq", a.a, b, bits), self.compare("eq", a.b, b, bits))
        if isinstance(a, Pointer) or isinstance(b, Pointer):
            raise NotProven("a comparison of pointers")
        if predicate[0] == "s":
            half = 1 << (bits - 1)
            if predicate == "slt" and b.number == 0 and (a.low >= half or a.high < half):
                return int(a.low >= half)
            if max(a.high, b.high) >= half:
                a, b = self.signed(a, bits), self.signed(b, bits)
        if predicate == "ult" and a.polynomial.key in self.arithmetic.carries:
            # A sum is below one of its terms where it lost a carry.
            return self.arithmetic.carry_of(a, b)
        return self.compare_integers(predicate.lstrip("su"), a, b)

    @staticmethod
    def signed(a, bits):
        half, end = 1 << (bits - 1), 1 << bits
        if a.high < half:
            return a
        if a.low < half:
            raise NotProven("the sign of a compared number is not known")
        return Word(a.polynomial - end, a.low - end, a.high - end)

    def compare_integers(self, predicate, a, b):
        if predicate in ("gt", "le"):
            return self.compare_integers({"gt": "lt", "le": "ge"}[predicate], b, a)
        if predicate in ("ge", "ne"):
            return conditions.negation(
                self.compare_integers({"ge": "lt", "ne": "eq"}[predicate], a, b))
        low, high = a.low - b.high, a.high - b.low
        if predicate == "lt":
            known = 1 if high < 0 else 0 if low >= 0 else None
        else:
            known = 0 if low > 0 or high < 0 else 1 if low == high == 0 else None
        if known is not None:
            return known
        if predicate == "eq" and a.zeros and b.number is not None:
            if b.number % (1 << a.zeros):
                return 0
            b = Word.constant(b.number >> a.zeros)
            quotient = a.polynomial.divided_by_power_of_two(a.zeros)
            a = Word(quotient, a.low >> a.zeros, a.high >> a.zeros)
        if self.arithmetic.may_wrap and predicate == "eq" and (a.low, a.high) == (0, 1):
            return int(self.decide_word(a) == b.number)
        difference = a.polynomial - b.polynomial
        if difference.number is not None:
            return int(difference.number < 0 if predicate == "lt" else difference.number == 0)
        return Condition((predicate, difference.key))

    def compare_bits(self, predicate, a, b, bits):
        left, right = Bits.of(as_bits(a), bits), Bits.of(as_bits(b), bits)
        if left is None or right is None:
            raise NotProven("bits are compared with a number that is not known")
        if predicate in ("eq", "ne"):
            result = 0
            for x, y in zip(left, right):
                result = conditions.disjunction(result, conditions.exclusive(x, y))
            return result if predicate == "ne" else conditions.negation(result)
        if predicate == "slt" and not any(right):
            return left[-1]
        raise NotProven("an order of bits")

    def execute_select(self, frame, i):
        condition, a, b = (self.value(frame, operand) for operand in i.operands)
        if i.operands[0].type.kind == "vector":
            return [self.chosen(*row) for row in zip(condition, a, b)]
        if i.operands[1].type.bits == 1 and i.operands[1].type.kind == "int":
            # A conjunction or a disjunction.
            condition, a, b = (self.bit(x) for x in (condition, a, b))
            if isinstance(b, int) and b == 0:
                return conditions.conjunction(condition, a)
            if isinstance(a, int) and a == 1:
                return conditions.disjunction(condition, b)
        return self.chosen(condition, a, b)

    def chosen(self, condition, a, b):
        bit = self.bit(condition)
        if isinstance(bit, int):
            return a if bit else b
        return UNKNOWN if a is not b else a

    def execute_insertelement(self, frame, i):
        vector, value, index = (self.value(frame, operand) for operand in i.operands)
        vector = list(vector)
        vector[index.number] = value
        return vector

    def execute_extractelement(self, frame, i):
        vector, index = (self.value(frame, operand) for operand in i.operands)
        return vector[index.number]

    def execute_shufflevector(self, frame, i):
        a, b, mask = (self.value(frame, operand) for operand in i.operands)
        both = list(a) + list(b)
        return [UNKNOWN if at is UNKNOWN else both[at.number] for at in mask]

    def execute_extractvalue(self, frame, i):
        value = self.value(frame, i.a)
        for index in i.indices:
            value = value[index]
        return value

    def execute_insertvalue(self, frame, i):
        value = list(self.value(frame, i.a))
        value[i.index] = self.value(frame, i.b)
        return value

    def execute_unreachable(self, frame, i):
        raise Infeasible

    def execute_call(self, frame, i):
        arguments = [self.value(frame, operand) for operand in i.arguments]
        if i.assembly is not None:
            return self.assembly(i, arguments)
        return self.call(i.callee, arguments)

    def assembly(self, instruction, arguments):
        from assembly import execute
        return execute(self, instruction, arguments)

    def intrinsic(self, name, arguments):
        from instructions import model_of
        return model_of(name)(self, *arguments)


def is_condition(a):
    return isinstance(a, (int, Condition))


def as_bits(a):
    return Bits([a]) if is_condition(a) else a


def divided(arithmetic, a, b, bits):
    if a is UNKNOWN:
        return a
    divisor = b.number
    if a.number is not None and divisor:
        return Word.constant(a.number // divisor)
    if divisor and divisor & (divisor - 1) == 0:
        return arithmetic.shift_right(a, divisor.bit_length() - 1, bits)
    raise NotProven("a division")


def remainder(arithmetic, a, b, bits):
    divisor = b.number
    if a.number is not None and divisor:
        return Word.constant(a.number % divisor)
    if divisor and divisor & (divisor - 1) == 0:
        return arithmetic.split(a, divisor.bit_length() - 1)[1]
    raise NotProven("a remainder")


def of_natural(operation):
    """A division with signs, of known numbers without one."""
    def execute(arithmetic, a, b, bits):
        if a.number is None or b.number is None or max(a.number, b.number) >> bits - 1:
            raise NotProven("a division with signs")
        return operation(arithmetic, a, b, bits)
    return execute


def by_count(shift):
    def execute(arithmetic, a, b, bits):
        if b.number is None or b.number >= bits:
            raise NotProven("a shift by a count that is not known")
        return shift(arithmetic, a, b.number, bits)
    return execute


SCALARS = {
    "add": Arithmetic.add, "sub": Arithmetic.subtract, "mul": Arithmetic.multiply,
    "and": Arithmetic.conjunction, "or": Arithmetic.disjunction, "xor": Arithmetic.exclusive,
    "shl": by_count(Arithmetic.shift_left), "lshr": by_count(Arithmetic.shift_right),
    "ashr": by_count(Arithmetic.shift_right_signed), "udiv": divided, "urem": remainder,
    "sdiv": of_natural(divided), "srem": of_natural(remainder),
}
