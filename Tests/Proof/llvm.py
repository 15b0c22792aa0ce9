"""Reads LLVM's text form: types, functions and the instructions that C and Swift compile to."""
import re

from llvm_lines import VOID, Function, Instruction, Line

FLAGS = {"atomic", "nuw", "nsw", "exact", "disjoint", "nneg", "inbounds", "samesign", "volatile",
         "fast",
         "nusw", "trunc_ignored", "tail", "musttail", "notail", "inrange"}
BINARY = {"add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "udiv", "urem", "fadd",
          "fmul", "fsub", "sdiv", "srem"}
CASTS = {"zext", "sext", "trunc", "bitcast", "ptrtoint", "inttoptr", "uitofp", "sitofp"}


class Types(dict):
    """The named types, each read at its first use."""

    def __init__(self, module, lines):
        self.module = module
        self.texts = dict(line.split(" = type ", 1) for line in lines if " = type " in line)

    def __contains__(self, name):
        return name in self.texts

    def __missing__(self, name):
        text = self.texts[name]
        self[name] = Line(text, self.module).type() if text != "opaque" else VOID
        return self[name]


class Module:
    def __init__(self, text):
        self.functions, self.globals = {}, {}
        function = block = None
        lines = self.joined(text)
        self.types = Types(self, lines)
        for line in lines:
            if line.startswith(";") or not line.strip() or " = type " in line:
                continue
            if line.startswith("@"):
                self.read_global(line)
            elif line.startswith("define "):
                function = self.read_head(line)
                block = function.blocks["%entry"] = []
            elif line.startswith("}"):
                function = None
            elif function is not None:
                label = re.match(r'([\w.$-]+|"[^"]*"):', line)
                if label:
                    if block or label[1] != "entry":
                        block = function.blocks["%" + label[1]] = []
                else:
                    block.append(line)

    @staticmethod
    def joined(text):
        """Lines; those of a switch joined."""
        lines, open_line = [], None
        for line in text.split("\n"):
            line = re.sub(r",? ![\w.]+ ![\w]+|,? !srcloc.*$", "", line.split(" ; ")[0])
            if open_line is not None:
                open_line += " " + line.strip()
                if line.strip() == "]":
                    lines.append(open_line)
                    open_line = None
            elif line.strip().startswith("switch ") and line.endswith("["):
                open_line = line
            else:
                lines.append(line)
        return lines

    def read_global(self, line):
        match = re.match(r'(@[\w.$-]+|@"[^"]*") = .*?\b(?:constant|global) (.*)$', line)
        if match:
            body = Line(match[2], self)
            try:
                self.globals[match[1]] = body.operand()
            except (ValueError, KeyError, IndexError, TypeError, AttributeError):
                self.globals[match[1]] = None

    def read_head(self, line):
        name = re.search(r"@([\w.$-]+|\"[^\"]*\")\(", line)
        function = Function(name[1].strip('"'), line[name.end():])
        self.functions[function.name] = function
        return function

    def read_parameters(self, text):
        parser, parameters = Line(text, self), []
        while not parser.take(")"):
            operand = parser.operand()
            parameters.append((operand.type, operand.value, operand.byval))
            parser.take(",")
        return parameters

    def instructions(self, function):
        """Reads the lines of a function at its first use."""
        if not function.is_read:
            function.parameters = self.read_parameters(function.parameters)
            function.blocks = {
                name: [self.read(line) for line in lines]
                for name, lines in function.blocks.items()}
            function.is_read = True
        return function.blocks

    def read(self, text):
        line = Line(text, self)
        result = None
        if len(line.tokens) > 1 and line.tokens[1] == "=":
            result = line.next()
            line.next()
        op = line.next()
        while op in FLAGS:
            op = line.next()
        while line.peek() in FLAGS:
            line.next()
        reader = getattr(self, "read_" + op, None)
        if reader:
            return Instruction(result, op, text=text, **reader(line))
        if op in BINARY or op == "freeze":
            a = line.operand()
            b = line.value(a.type) if line.take(",") else None
            return Instruction(result, op, text=text, a=a, b=b)
        if op in CASTS:
            a = line.operand()
            line.expect("to")
            return Instruction(result, op, text=text, a=a, type=line.type())
        return Instruction(result, "unsupported", text=text)

    def read_alloca(self, line):
        type, count = line.type(), None
        if line.take(",") and line.is_type():
            count = line.operand()
        return {"type": type, "count": count}

    def read_load(self, line):
        type = line.type()
        line.expect(",")
        alignment = re.search(r"align (\d+)", line.text)
        return {"type": type, "a": line.operand(), "align": int(alignment[1]) if alignment else 1}

    def read_store(self, line):
        value = line.operand()
        line.expect(",")
        return {"value": value, "a": line.operand()}

    def read_getelementptr(self, line):
        type = line.type()
        line.expect(",")
        base = line.operand()
        indices = []
        while line.take(","):
            indices.append(line.operand())
        return {"type": type, "a": base, "indices": indices}

    def read_br(self, line):
        if line.take("label"):
            return {"condition": None, "targets": [line.next()]}
        condition = line.operand()
        targets = []
        while line.take(","):
            line.expect("label")
            targets.append(line.next())
        return {"condition": condition, "targets": targets}

    def read_switch(self, line):
        value = line.operand()
        line.expect(",")
        line.expect("label")
        default, cases = line.next(), {}
        line.expect("[")
        while not line.take("]"):
            case = line.operand()
            line.expect(",")
            line.expect("label")
            cases[case.value] = line.next()
        return {"value": value, "default": default, "cases": cases}

    def read_ret(self, line):
        return {"value": None if line.peek() == "void" else line.operand()}

    def read_unreachable(self, line):
        return {}

    def read_phi(self, line):
        type, cases = line.type(), {}
        while line.take("[") or line.take(","):
            if line.peek() == "[":
                continue
            value = line.value(type)
            line.expect(",")
            cases[line.next()] = value
            line.expect("]")
        return {"type": type, "cases": cases}

    def read_icmp(self, line):
        predicate = line.next()
        a = line.operand()
        line.expect(",")
        return {"predicate": predicate, "a": a, "b": line.value(a.type)}

    def read_select(self, line):
        operands = [line.operand()]
        while line.take(","):
            operands.append(line.operand())
        return {"operands": operands}

    def read_extractelement(self, line):
        return self.read_select(line)

    read_insertelement = read_shufflevector = read_extractelement

    def read_extractvalue(self, line):
        a = line.operand()
        indices = []
        while line.take(","):
            indices.append(int(line.next()))
        return {"a": a, "indices": indices}

    def read_insertvalue(self, line):
        a = line.operand()
        line.expect(",")
        b = line.operand()
        line.expect(",")
        return {"a": a, "b": b, "index": int(line.next())}

    def read_call(self, line):
        while not line.is_type():
            line.next()
            line.skip_parentheses()
        type = line.type()
        line.skip_parentheses()
        assembly = constraints = callee = None
        if line.take("asm"):
            while not line.peek().startswith('"'):
                line.next()
            assembly = line.next()[1:-1]
            line.expect(",")
            constraints = line.next()[1:-1]
        else:
            callee = line.next().lstrip("@").strip('"')
        line.expect("(")
        return {"type": type, "callee": callee, "assembly": assembly,
                "constraints": constraints, "arguments": line.operands(")")}
