"""Executes functions of LLVM's text form on words that stand for all their values."""
from conditions import Condition
from execution import Execution
from memory import Memory, Pointer, Recast
from polynomials import NotProven, Polynomial
from values import UNKNOWN, Word
from words import Arithmetic


class Machine(Execution):
    """One run. `prefix` are decisions about unknown bits; further ones are 0 and recorded."""

    def __init__(self, module, prefix=(), intercepts=None):
        self.module, self.intercepts = module, intercepts or {}
        self.decisions, self.prefix, self.path = [], list(prefix), {}
        self.arithmetic = Arithmetic(self.decide_word)
        self.globals, self.bases, self.instructions_run = {}, {}, 0

    # Decisions

    def decide(self, key):
        """Decides an atom, the same way each time."""
        if key is None or key not in self.path:
            at = len(self.decisions)
            value = self.prefix[at] if at < len(self.prefix) else 0
            self.decisions.append(value)
            if key is None:
                return value
            self.path[key] = value
        return self.path[key]

    def decide_word(self, word):
        """Decides a word that is 0 or 1."""
        if word.number is not None:
            return word.number
        if word.low < 0 or word.high > 1:
            raise NotProven("a choice depends on a word that is no bit")
        key = ("bit", word.polynomial.key)
        is_new = key not in self.path
        bit = self.decide(key)
        if is_new:
            self.arithmetic.zeros.append(word.polynomial - bit)
            self.arithmetic.decided.append(word.polynomial - bit)
        return bit

    def decide_condition(self, condition):
        if isinstance(condition, int):
            return condition
        if condition is UNKNOWN:
            return self.decide(None)
        key = condition.key
        if key[0] == "not":
            return 1 - self.decide_condition(Condition(key[1]))
        if key[0] == "and":
            return int(all(self.decide_condition(Condition(k)) for k in sorted(key[1], key=str)))
        if key[0] == "or":
            return int(any(self.decide_condition(Condition(k)) for k in sorted(key[1], key=str)))
        is_new = key not in self.path
        bit = self.decide(key)
        if is_new and key[0] in ("eq", "lt"):
            self.learn(key, bit)
        return bit

    def learn(self, key, bit):
        """What a decided comparison says of its polynomial."""
        polynomial = Polynomial(dict(key[1]))
        if key[0] == "lt":
            self.arithmetic.naturals.append(-polynomial - 1 if bit else polynomial)
        elif bit:
            self.arithmetic.zeros.append(polynomial)
        elif polynomial.bounds()[0] >= 0:
            self.arithmetic.naturals.append(polynomial - 1)

    # Functions

    def call(self, name, arguments):
        if name in self.intercepts:
            return self.intercepts[name](self, arguments)
        function = self.module.functions.get(name)
        if function is None:
            return self.intrinsic(name, arguments)
        return self.run(function, arguments)

    def run(self, function, arguments):
        blocks = self.module.instructions(function)
        frame = {}
        for (type, name, copied), value in zip(function.parameters, arguments):
            if copied:
                copy = Pointer(Memory(name, copied.size))
                self.copy(copy, value, copied.size)
                value = copy
            frame[name] = value
        block, before = "%entry", None
        while True:
            # All at once: one of them may be the operand of another.
            frame |= {phi.result: self.value(frame, phi.cases[before])
                      for phi in blocks[block] if phi.op == "phi"}
            for instruction in blocks[block]:
                op = instruction.op
                if op == "ret":
                    value = instruction.value
                    return None if value is None else self.value(frame, value)
                if op in ("br", "switch"):
                    break
                self.instructions_run += 1
                if op == "phi":
                    continue
                execute = getattr(self, "execute_" + op, None)
                if execute is None:
                    raise NotProven(f"no model of: {instruction.text.strip()}")
                result = execute(frame, instruction)
                if instruction.result:
                    frame[instruction.result] = result
            block, before = self.next_block(frame, instruction), block

    def next_block(self, frame, instruction):
        if instruction.op == "switch":
            value = self.value(frame, instruction.value)
            if not isinstance(value, Word) or value.number is None:
                raise NotProven("a switch over an unknown number")
            return instruction.cases.get(value.number, instruction.default)
        if instruction.condition is None:
            return instruction.targets[0]
        condition = self.value(frame, instruction.condition)
        if isinstance(condition, Word):
            condition = self.decide_word(condition)
        bit = self.decide_condition(self.bit(condition))
        return instruction.targets[0 if bit else 1]

    def value(self, frame, operand):
        if operand.kind == "local":
            return frame[operand.value]
        if operand.kind == "global":
            return self.global_pointer(operand.value).plus(operand.offset)
        return self.constant(operand.type, operand.value)

    def constant(self, type, value):
        if type.kind in ("vector", "array", "struct"):
            parts = (type.parts if type.kind == "struct" else [type.element] * type.count)
            if not isinstance(value, list):
                value = [value] * len(parts)
            return [self.constant(part, v) for part, v in zip(parts, value)]
        if value is None:
            return UNKNOWN
        if type.kind == "float":
            return value
        if type.kind == "ptr":
            return Pointer(None, value)
        return Word.constant(value & (1 << type.bits) - 1)

    def global_pointer(self, name):
        if name not in self.globals:
            operand = self.module.globals.get(name)
            memory = Memory(name, operand.type.size if operand else None)
            self.globals[name] = Pointer(memory)
            if operand and isinstance(operand.value, (int, list)):
                value = self.constant(operand.type, operand.value)
                self.store(self.globals[name], operand.type, value)
        return self.globals[name]

    @staticmethod
    def bit(value):
        """A bit of an i1, which may be a word."""
        if isinstance(value, Word):
            if value.number is None:
                raise NotProven("a condition that is no comparison")
            return value.number
        return value

    # Memory

    def load(self, pointer, type):
        if pointer.memory is None:
            raise NotProven("a load from an unknown address")
        if hasattr(pointer.memory, "load"):
            return pointer.memory.load(self, pointer, type)
        return self.load_cells(pointer.memory, self.known(pointer), type)

    @staticmethod
    def known(pointer):
        if isinstance(pointer.offset, Polynomial):
            raise NotProven(f"an unknown address in {pointer.memory.name}")
        return pointer.offset

    def load_cells(self, memory, offset, type):
        if type.kind == "vector" and type.element.bits == 8 and memory.grain == 8:
            words = [memory.read(offset + at, 8) for at in range(0, type.count, 8)]
            return Recast(words, 64)
        if type.kind in ("vector", "array"):
            size = type.element.size
            return [self.load_cells(memory, offset + i * size, type.element)
                    for i in range(type.count)]
        if type.kind == "struct":
            return [self.load_cells(memory, offset + type.offset(i), part)
                    for i, part in enumerate(type.parts)]
        if memory.size is not None and not 0 <= offset <= memory.size - type.size:
            raise NotProven(f"a load outside of {memory.name}")
        return memory.read(offset, type.size)

    def store(self, pointer, type, value):
        if hasattr(pointer.memory, "store"):
            pointer.memory.store(self, pointer, type, value)
        else:
            self.store_cells(pointer.memory, self.known(pointer), type, value)

    def store_cells(self, memory, offset, type, value):
        if type.kind in ("vector", "array"):
            if isinstance(value, Recast):
                raise NotProven("a vector is stored with another element size")
            for i in range(type.count):
                self.store_cells(memory, offset + i * type.element.size, type.element, value[i])
        elif type.kind == "struct":
            for i, part in enumerate(type.parts):
                self.store_cells(memory, offset + type.offset(i), part, value[i])
        else:
            if memory.size is not None and not 0 <= offset <= memory.size - type.size:
                raise NotProven(f"a store outside of {memory.name}")
            memory.write(offset, type.size, value)

    def copy(self, target, source, size):
        if hasattr(source.memory, "copied"):
            source.memory.copied(self, target, source, size)
            return
        start, end = self.known(source), self.known(source) + size
        cells = {at: cell for at, cell in source.memory.cells.items() if start <= at < end}
        to = self.known(target)
        if target.memory.size is not None and to + size > target.memory.size:
            raise NotProven(f"a copy beyond {target.memory.name}")
        for at in [a for a in target.memory.cells if to <= a < to + size]:
            del target.memory.cells[at]
        for at, (cell_size, value) in cells.items():
            if at + cell_size > end:
                raise NotProven("a copy of a part of a word")
            target.memory.write(to + at - start, cell_size, value)

    def fill(self, pointer, octet, size):
        offset = self.known(pointer)
        while size:
            step = 8 if size >= 8 else 1
            number = int.from_bytes(bytes([octet]) * step, "little")
            pointer.memory.write(offset, step, Word.constant(number))
            offset, size = offset + step, size - step


def explore(run):
    """Calls run(prefix), which returns a machine, until all decisions were made both ways."""
    pending, paths = [[]], 0
    while pending:
        prefix = pending.pop()
        machine = run(prefix)
        paths += 1
        for at in range(len(prefix), len(machine.decisions)):
            pending.append(machine.decisions[:at] + [1])
    return paths
