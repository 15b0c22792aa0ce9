"""Translates a function of LLVM's text form to Python."""
import re

from running import (
    Named, Place, Space, apply, copy, fill, load, overflow, plus, quotient, remainder, signed,
    stopped, store)

NAMES = {"plus": plus, "load": load, "store": store, "signed": signed, "quotient": quotient,
         "remainder": remainder, "Place": Place, "Space": Space, "copy": copy, "fill": fill,
         "overflow": overflow, "stopped": stopped,
         "apply": apply}
PLAIN = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}
SPECIAL = {"shl": "{a} << {b} & MASK", "lshr": "{a} >> {b}", "udiv": "{a} // {b}",
           "ashr": "signed({a}, BITS) >> {b} & MASK", "urem": "{a} % {b}",
           "sdiv": "quotient({a}, {b}, BITS)", "srem": "remainder({a}, {b}, BITS)"}
ORDER = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
NO_OPERATIONS = ("llvm.lifetime", "llvm.assume", "llvm.experimental.noalias", "llvm.prefetch")


class Translation:
    """One function in Python."""

    def __init__(self, runner, source):
        self.runner, self.source = runner, source
        self.blocks = runner.module.instructions(source)
        self.locals, self.constants, self.temporaries = {}, {}, 0
        self.numbers = {name: i for i, name in enumerate(self.blocks)}

    def function(self):
        parameters = [self.local(name) for _, name, _ in self.source.parameters]
        lines = [f"def f({', '.join(parameters)}):", " b = 0", " while True:"]
        self.emit_tree(lines, list(self.blocks), 2)
        scope = NAMES | self.constants | self.runner.scope()
        exec(compile("\n".join(lines), self.source.name, "exec"), scope)
        return scope["f"]

    def local(self, name):
        return self.locals.setdefault(name, f"v{len(self.locals)}")

    def constant(self, value):
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def emit_tree(self, lines, names, depth):
        """Finds the block by halves."""
        pad = " " * depth
        if len(names) == 1:
            for instruction in self.blocks[names[0]]:
                for line in self.emit(names[0], instruction):
                    lines.append(pad + line)
            return
        middle = len(names) // 2
        lines.append(f"{pad}if b < {self.numbers[names[middle]]}:")
        self.emit_tree(lines, names[:middle], depth + 1)
        lines.append(f"{pad}else:")
        self.emit_tree(lines, names[middle:], depth + 1)

    def value(self, operand):
        if operand.kind == "local":
            return self.local(operand.value)
        if operand.kind == "global":
            place = self.runner.global_place(operand.value)
            return self.constant(plus(place, operand.offset) if operand.offset else place)
        return self.literal(operand.type, operand.value)

    def literal(self, type, value):
        if type.kind in ("vector", "array", "struct"):
            parts = type.parts if type.kind == "struct" else [type.element] * type.count
            values = value if isinstance(value, list) else [value] * len(parts)
            return "(" + ", ".join(self.literal(p, v) for p, v in zip(parts, values)) + ",)"
        if value is None:
            return "None"
        if type.kind == "ptr":
            return repr(value) if isinstance(value, int) else self.constant(value)
        return repr(value & (1 << type.bits) - 1)

    # Instructions

    def emit(self, block, i):
        emit = getattr(self, "emit_" + i.op, None)
        if emit is None:
            emit = self.emit_scalar
        return emit(block, i)

    def emit_phi(self, block, i):
        return ()

    def emit_br(self, block, i):
        if i.condition is None:
            return self.jump(block, i.targets[0])
        lines = [f"if {self.value(i.condition)}:"]
        lines += [" " + line for line in self.jump(block, i.targets[0])]
        return lines + ["else:"] + [" " + line for line in self.jump(block, i.targets[1])]

    def emit_switch(self, block, i):
        lines = []
        for number, target in i.cases.items():
            mask = (1 << i.value.type.bits) - 1
            lines.append(f"if {self.value(i.value)} == {number & mask}:")
            lines += [" " + line for line in [*self.jump(block, target), "continue"]]
        return lines + self.jump(block, i.default)

    def jump(self, block, target):
        phis = [i for i in self.blocks[target] if i.op == "phi"]
        lines = [f"b = {self.numbers[target]}"]
        if phis:
            values = [self.value(phi.cases[block]) for phi in phis]
            names = [self.local(phi.result) for phi in phis]
            lines.insert(0, ", ".join(names) + " = " + ", ".join(values))
        return lines

    def emit_ret(self, block, i):
        return ["return" + ("" if i.value is None else " " + self.value(i.value))]

    def emit_unreachable(self, block, i):
        return ['stopped("unreachable")']

    def emit_alloca(self, block, i):
        size = str(i.type.size)
        if i.count is not None:
            size += f" * {self.value(i.count)}"
        return [f"{self.local(i.result)} = Place(Space({i.result!r}, {size}))"]

    def emit_getelementptr(self, block, i):
        fixed, terms, type = 0, [], i.type
        for position, operand in enumerate(i.indices):
            if position == 0:
                size = type.size
            elif type.kind == "struct":
                fixed, type = fixed + type.offset(operand.value), type.parts[operand.value]
                continue
            else:
                type = type.element
                size = type.size
            if operand.kind == "constant":
                fixed += operand.value * size
            else:
                terms.append(f"signed({self.value(operand)}, {operand.type.bits}) * {size}")
        if fixed or not terms:
            terms.append(str(fixed))
        return [f"{self.local(i.result)} = plus({self.value(i.a)}, {' + '.join(terms)})"]

    def parts(self, type):
        if type.kind in ("vector", "array"):
            return [(k * type.element.size, type.element) for k in range(type.count)]
        return [(type.offset(k), part) for k, part in enumerate(type.parts)]

    def loaded(self, place, type, at=0):
        if type.kind in ("vector", "array", "struct"):
            return "(" + "".join(
                self.loaded(place, part, at + offset) + ", "
                for offset, part in self.parts(type)) + ")"
        where = f"plus({place}, {at})" if at else place
        return f"load({where}, {type.size})"

    def emit_load(self, block, i):
        return [f"{self.local(i.result)} = {self.loaded(self.value(i.a), i.type)}"]

    def emit_store(self, block, i):
        return self.stored(self.value(i.a), i.value.type, self.value(i.value))

    def stored(self, place, type, value, at=0):
        if type.kind in ("vector", "array", "struct"):
            return [line for k, (offset, part) in enumerate(self.parts(type))
                    for line in self.stored(place, part, f"{value}[{k}]", at + offset)]
        where = f"plus({place}, {at})" if at else place
        return [f"store({where}, {type.size}, {value})"]

    def emit_icmp(self, block, i):
        type, a, b = i.a.type, self.value(i.a), self.value(i.b)
        if type.kind == "ptr":
            if i.predicate not in ("eq", "ne"):
                a, b = f"{a}.offset", f"{b}.offset_in({a})"
            return [f"{self.local(i.result)} = int({a} {ORDER[i.predicate.removeprefix('u')]} {b})"]
        bits = (type.element if type.kind == "vector" else type).bits
        name = i.predicate if i.predicate in ORDER else i.predicate[1:]
        form = "int({a} " + ORDER[name] + " {b})"
        if i.predicate[0] == "s":
            form = f"int(signed({{a}}, {bits}) {ORDER[name]} signed({{b}}, {bits}))"
        return [f"{self.local(i.result)} = {self.spread(type, form, a, b)}"]

    @staticmethod
    def spread(type, form, a, b="0"):
        """An expression, for each element of a vector."""
        if type.kind != "vector":
            return form.format(a=a, b=b)
        return "(" + "".join(
            form.format(a=f"{a}[{k}]", b=f"{b}[{k}]") + ", " for k in range(type.count)) + ")"

    def emit_select(self, block, i):
        condition, a, b = (self.value(operand) for operand in i.operands)
        return [f"{self.local(i.result)} = {a} if {condition} else {b}"]

    def emit_freeze(self, block, i):
        return [f"{self.local(i.result)} = {self.value(i.a)}"]

    def emit_zext(self, block, i):
        return self.emit_freeze(block, i)

    def emit_cast(self, i, form):
        """A cast of each element."""
        old, new = (t.element if t.kind == "vector" else t for t in (i.a.type, i.type))
        form = form.replace("OLD", str(old.bits)).replace("MASK", str((1 << new.bits) - 1))
        return [f"{self.local(i.result)} = {self.spread(i.type, form, self.value(i.a))}"]

    def emit_sext(self, block, i):
        return self.emit_cast(i, "signed({a}, OLD) & MASK")

    def emit_trunc(self, block, i):
        return self.emit_cast(i, "{a} & MASK")

    def emit_inttoptr(self, block, i):
        return self.emit_freeze(block, i)

    emit_ptrtoint = emit_inttoptr

    def emit_extractvalue(self, block, i):
        indices = "".join(f"[{k}]" for k in i.indices)
        return [f"{self.local(i.result)} = {self.value(i.a)}{indices}"]

    def emit_insertvalue(self, block, i):
        count = len(i.a.type.parts)
        a, b = self.value(i.a), self.value(i.b)
        values = [b if k == i.index else f"{a}[{k}]" for k in range(count)]
        return [f"{self.local(i.result)} = ({', '.join(values)},)"]

    def emit_extractelement(self, block, i):
        a, k = (self.value(operand) for operand in i.operands)
        return [f"{self.local(i.result)} = {a}[{k}]"]

    def emit_shufflevector(self, block, i):
        a, b = (self.value(operand) for operand in i.operands[:2])
        mask = i.operands[2].value
        mask = mask if isinstance(mask, list) else [mask] * i.operands[2].type.count
        both = self.constant_name()
        values = "".join("None, " if k is None else f"{both}[{k}], " for k in mask)
        return [f"{both} = {a} + ({b} or {a})", f"{self.local(i.result)} = ({values})"]

    def constant_name(self):
        self.temporaries += 1
        return f"t{self.temporaries}"

    def emit_insertelement(self, block, i):
        a, value, k = (self.value(operand) for operand in i.operands)
        return [f"{self.local(i.result)} = {a}[:{k}] + ({value},) + {a}[{k} + 1:]"]

    def emit_scalar(self, block, i):
        type = getattr(i, "a", None) and i.a.type
        if type and type.kind == "vector" and type.element.kind == "int":
            bits = type.element.bits
        elif type and type.kind == "int":
            bits = type.bits
        else:
            return [f"stopped({'no model of: ' + i.text.strip()!r})"]
        op, mask = i.op, (1 << bits) - 1
        if op in PLAIN:
            form = "({a} " + PLAIN[op] + " {b}) & " + str(mask)
        elif op in SPECIAL:
            form = SPECIAL[op].replace("BITS", str(bits)).replace("MASK", str(mask))
        else:
            return [f"stopped({'no model of: ' + i.text.strip()!r})"]
        a, b = self.value(i.a), self.value(i.b)
        return [f"{self.local(i.result)} = {self.spread(type, form, a, b)}"]

    def emit_call(self, block, i):
        if i.assembly is not None:
            return [f"stopped({'no model of: ' + i.text.strip()!r})"]
        name = i.callee
        arguments = [self.value(operand) for operand in i.arguments
                     if operand.type.kind != "void"]
        target = f"{self.local(i.result)} = " if i.result else ""
        if name in self.runner.externals:
            function = self.constant(self.runner.externals[name])
        elif name.startswith("llvm."):
            return self.intrinsic(i, name, arguments, target)
        elif name.startswith("%"):
            arguments, function = [self.local(name), *arguments], "apply"
        else:
            function = self.constant(Named(self.runner, name))
        return [f"{target}{function}({', '.join(arguments)})"]

    def intrinsic(self, i, name, arguments, target):
        if name.startswith(NO_OPERATIONS):
            return ()
        if name.startswith(("llvm.stacksave", "llvm.stackrestore")):
            return [f"{target}None"] if target else ()
        if name.startswith("llvm.trap"):
            return ['stopped("trap")']
        if name.startswith(("llvm.memcpy", "llvm.memmove")):
            return [f"copy({', '.join(arguments[:3])})"]
        if name.startswith("llvm.memset"):
            return [f"fill({', '.join(arguments[:3])})"]
        a, bits = arguments[0], i.arguments[0].type.bits
        sign = {"a": a, "b": arguments[1] if len(arguments) > 1 else "0"}
        found = re.match(r"llvm\.([su])(add|sub|mul)\.with\.overflow", name)
        if found:
            operator, is_signed = PLAIN[found[2]], found[1] == "s"
            if is_signed:
                sign = {k: f"signed({v}, {bits})" for k, v in sign.items()}
            return [f"{target}overflow({sign['a']} {operator} {sign['b']}, {bits}, {is_signed})"]
        found = re.match(r"llvm\.([su])(min|max)\.", name)
        if found:
            if found[1] == "u":
                return [f"{target}{found[2]}({sign['a']}, {sign['b']})"]
            key = f"lambda x: signed(x, {bits})"
            return [f"{target}{found[2]}({sign['a']}, {sign['b']}, key={key})"]
        if name.startswith("llvm.vector.reduce.add."):
            width = i.arguments[0].type.element.bits
            return [f"{target}sum({a}) & {(1 << width) - 1}"]
        if name.startswith("llvm.fshl."):
            count = f"{arguments[2]} % {bits}"
            return [f"{target}({a} << {count} | {arguments[1]} >> {bits} - {count}) & "
                    f"{(1 << bits) - 1}"]
        if name.startswith("llvm.usub.sat."):
            return [f"{target}max(0, {sign['a']} - {sign['b']})"]
        if name.startswith("llvm.abs."):
            return [f"{target}abs(signed({a}, {bits})) & {(1 << bits) - 1}"]
        if name.startswith("llvm.expect"):
            return [f"{target}{a}"]
        return [f"stopped({'no model of: ' + i.text.strip()!r})"]
