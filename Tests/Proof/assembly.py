"""Executes the inline assembly of the engines: AT&T syntax, the instructions that occur."""
import re

from instructions import multiply_32
from llvm_lines import integer
from polynomials import NotProven
from values import Word

WORD = integer(64)


def execute(machine, instruction, arguments):
    constraints = split_constraints(instruction.constraints)
    if "vpmuludq" in instruction.assembly:
        return multiply_vectors(machine, instruction, arguments)
    outputs = [c for c in constraints if c.startswith("=")]
    registers = {i: None for i in range(len(outputs))}
    for i, value in enumerate(arguments):
        registers[len(outputs) + i] = value
    processor = Processor(machine, registers)
    text = instruction.assembly.replace("\\0A", "\n")
    for line in text.split("\n"):
        if line.strip():
            processor.execute(line.strip())
    values = [registers[i] for i in range(len(outputs))]
    return values if len(values) > 1 else values[0]


def split_constraints(text):
    return [part for part in text.split(",") if part]


def multiply_vectors(machine, instruction, arguments):
    if instruction.assembly.split() != ["vpmuludq", "$2,", "$1,", "$0"]:
        raise NotProven(f"no model of: {instruction.assembly}")
    a, address = arguments
    b = machine.load(address, instruction.type)
    return [multiply_32(machine, x, y) for x, y in zip(a, b)]


class Processor:
    """Registers and the two carry flags."""

    def __init__(self, machine, registers):
        self.machine, self.registers, self.rdx = machine, registers, None
        self.carry = self.overflow = None

    def execute(self, line):
        name, _, rest = line.partition(" ")
        operands = [part.strip() for part in rest.split(",")]
        operation = getattr(self, "execute_" + name, None)
        if operation is None:
            raise NotProven(f"no model of: {line}")
        operation(*operands)

    def memory(self, text):
        """The address of an operand such as 2*8+8($3), or None."""
        match = re.fullmatch(r"([\d*+]*)\((\$\d+)\)", text)
        if not match:
            return None
        terms = (match[1] or "0").split("+")
        offset = sum(self.product(term) for term in terms)
        return self.registers[int(match[2][1:])].plus(offset)

    @staticmethod
    def product(text):
        result = 1
        for factor in text.split("*"):
            result *= int(factor)
        return result

    def read(self, text):
        address = self.memory(text)
        if address is not None:
            return self.machine.load(address, WORD)
        if text == "%rdx":
            return self.rdx
        if text.startswith("$$"):
            return Word.constant(int(text[2:]))
        return self.registers[self.register(text)]

    @staticmethod
    def register(text):
        match = re.fullmatch(r"\$(?:(\d+)|\{(\d+):k\})", text)
        if not match:
            raise NotProven(f"no model of the operand {text}")
        return int(match[1] or match[2])

    def write(self, text, value):
        address = self.memory(text)
        if address is not None:
            self.machine.store(address, WORD, value)
        elif text == "%rdx":
            self.rdx = value
        else:
            self.registers[self.register(text)] = value

    def execute_movq(self, source, target):
        self.write(target, self.read(source))

    def execute_movl(self, source, target):
        # Clears the upper half.
        self.write(target, self.read(source))

    def execute_xorl(self, source, target):
        if source != target:
            raise NotProven("xorl of two registers")
        self.write(target, Word.constant(0))
        self.carry = self.overflow = Word.constant(0)

    def execute_mulxq(self, source, low, high):
        arithmetic = self.machine.arithmetic
        product = arithmetic.multiply(self.rdx, self.read(source), 128)
        upper, lower = arithmetic.split(product, 64)
        # Where both are one register, it has the high half.
        self.write(low, lower)
        self.write(high, upper)

    def execute_adcxq(self, source, target):
        self.carry, total = self.machine.arithmetic.add_with_carry(
            self.carry, self.read(target), self.read(source), 64)
        self.write(target, total)

    def execute_adoxq(self, source, target):
        self.overflow, total = self.machine.arithmetic.add_with_carry(
            self.overflow, self.read(target), self.read(source), 64)
        self.write(target, total)
