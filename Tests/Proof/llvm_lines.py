"""The parts of a line of LLVM's text form: types, operands, attributes."""
import re
import struct

TOKEN = re.compile(
    r'c?"(?:[^"\\]|\\.)*"|[%@#!][\w.$-]+|[%@]"[^"]*"|-?\d+\.\d+e[+-]\d+|0x[0-9A-Fa-f]+|-?\d+'
    r"|[\w.]+|[<>\[\]{}(),=*:]|!")
ATTRIBUTES_WITH_TYPE = {"byval", "sret", "elementtype"}


class Type:
    """kind is one of int, float, ptr, void, vector, array, struct; `parts` are those of an
    aggregate."""

    def __init__(self, kind, bits=0, count=0, parts=(), packed=False):
        self.kind, self.bits, self.count, self.parts = kind, bits, count, parts
        self.packed, self.known_size = packed, None

    @property
    def element(self):
        return self.parts[0]

    @property
    def size(self):
        if self.known_size is None:
            self.known_size = self.computed_size()
        return self.known_size

    def computed_size(self):
        if self.kind in ("int", "float", "ptr"):
            return max(1, self.bits // 8)
        if self.kind == "vector":
            return self.count * self.element.bits // 8
        if self.kind == "array":
            return self.count * self.element.size
        end = self.offset(len(self.parts))
        return end if self.packed else -(-end // self.alignment) * self.alignment

    @property
    def alignment(self):
        if self.packed:
            return 1
        if self.kind == "array":
            return self.element.alignment
        if self.kind == "struct":
            return max([part.alignment for part in self.parts] or [1])
        return self.size

    def offset(self, index):
        """Where a struct's part begins; with the number of parts, where the last one ends."""
        at = 0
        for part in self.parts[:index]:
            step = 1 if self.packed else part.alignment
            at = -(-at // step) * step + part.size
        if index < len(self.parts) and not self.packed:
            step = self.parts[index].alignment
            at = -(-at // step) * step
        return at

    def __repr__(self):
        return f"{self.kind}{self.bits or self.count}"


POINTER, VOID = Type("ptr", 64), Type("void")
INTEGERS = {}


def integer(bits):
    return INTEGERS.setdefault(bits, Type("int", bits))


class Operand:
    """A local value (its name), a global one and the offset in it, a constant, or None for
    undefined bits."""

    def __init__(self, type, kind, value, byval=None, offset=0):
        self.type, self.kind, self.value, self.byval = type, kind, value, byval
        self.offset = offset


class Instruction:
    def __init__(self, result, op, **fields):
        self.result, self.op = result, op
        self.__dict__.update(fields)


class Function:
    """The text of a function, which is read at its first use. Parameters are then (type, name,
    the type of a copy or None)."""

    def __init__(self, name, parameters):
        self.name, self.parameters, self.blocks, self.is_read = name, parameters, {}, False


class Line:
    """The tokens of one line."""

    def __init__(self, text, module):
        self.tokens, self.at, self.module, self.text = TOKEN.findall(text), 0, module, text

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def take(self, *wanted):
        if self.peek() in wanted:
            return self.next()
        return None

    def expect(self, wanted):
        if self.next() != wanted:
            raise ValueError(f"expected {wanted}: {self.text}")

    def is_type(self):
        token = self.peek()
        return (token in ("ptr", "void", "double", "float", "<", "[", "{", "label", "metadata")
                or re.fullmatch(r"i\d+", token) or token in self.module.types)

    def type(self):
        token = self.next()
        if token in ("ptr", "void", "label", "metadata"):
            return POINTER if token == "ptr" else VOID
        if token in ("double", "float"):
            return Type("float", 64)
        if re.fullmatch(r"i\d+", token):
            return integer(int(token[1:]))
        if token in "<[":
            if token == "<" and self.take("{"):
                parts = self.types("}")
                self.expect(">")
                return Type("struct", parts=parts, packed=True)
            count = int(self.next())
            self.expect("x")
            element = self.type()
            self.expect("]" if token == "[" else ">")
            return Type("array" if token == "[" else "vector", count=count, parts=(element,))
        if token == "{":
            return Type("struct", parts=self.types("}"))
        return self.module.types[token]

    def types(self, end):
        parts = []
        while not self.take(end):
            parts.append(self.type())
            self.take(",")
        return tuple(parts)

    def operand(self):
        """A type, attributes and a value."""
        type, byval = self.type(), None
        while True:
            token = self.peek()
            if token in ATTRIBUTES_WITH_TYPE:
                self.next()
                self.expect("(")
                of = self.type()
                self.expect(")")
                byval = of if token == "byval" else byval
            elif token == "align":
                self.at += 2
            elif re.fullmatch(r"[a-z_]+", token) and token not in (
                    "true", "false", "undef", "poison", "null", "zeroinitializer", "splat",
                    "getelementptr", "inttoptr", "ptrtoint"):
                self.next()
                self.skip_parentheses()
            else:
                return self.value(type, byval)

    def skip_parentheses(self):
        if self.take("("):
            while not self.take(")"):
                if self.peek() == "(":
                    self.skip_parentheses()
                else:
                    self.next()

    def value(self, type, byval=None):
        token = self.next()
        if token[0] == "%":
            return Operand(type, "local", token, byval)
        if token[0] == "@":
            return Operand(type, "global", token, byval)
        if token == "getelementptr":
            return self.constant_address(byval)
        if token in ("inttoptr", "ptrtoint"):
            self.expect("(")
            inner = self.operand()
            self.expect("to")
            self.type()
            self.expect(")")
            return Operand(type, inner.kind, inner.value, byval, inner.offset)
        if token in ("undef", "poison") or token[0] == "!":
            return Operand(type, "constant", None, byval)
        if token in ("true", "false"):
            return Operand(type, "constant", int(token == "true"), byval)
        if token in ("null", "zeroinitializer"):
            return Operand(type, "constant", 0, byval)
        if token == "splat":
            self.expect("(")
            inner = self.operand()
            self.expect(")")
            return Operand(type, "constant", [inner.value] * type.count, byval)
        if token in "<[{":
            values = []
            while not self.take(">", "]", "}"):
                values.append(self.operand().value)
                self.take(",")
            return Operand(type, "constant", values, byval)
        if type.kind == "float":
            bits = struct.pack(">Q", int(token, 16)) if token.startswith("0x") else None
            number = struct.unpack(">d", bits)[0] if bits else float(token)
            return Operand(type, "constant", number, byval)
        if token.startswith("c\""):
            return Operand(type, "constant", token, byval)
        return Operand(type, "constant", int(token), byval)

    def constant_address(self, byval):
        """An address in a global object."""
        while not self.take("("):
            self.next()
        type = self.type()
        self.expect(",")
        base, offset = self.operand(), 0
        for position, index in enumerate(self.indices()):
            if position == 0:
                offset += index * type.size
            elif type.kind == "struct":
                offset, type = offset + type.offset(index), type.parts[index]
            else:
                type = type.element
                offset += index * type.size
        return Operand(POINTER, base.kind, base.value, byval, base.offset + offset)

    def indices(self):
        found = []
        while not self.take(")"):
            self.expect(",")
            found.append(self.operand().value)
        return found

    def operands(self, end):
        found = []
        while not self.take(end):
            found.append(self.operand())
            self.take(",")
        return found
