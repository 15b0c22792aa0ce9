"""The messages in Go."""
import re

from contract import CONTRACT, NUMBERS, THREE_VALUED, wrapped

# Prefix of an enumeration's constants in Go, where constants have no scope of their own.
GO_PREFIXES = {
    "EvidenceKind": "Kind", "InAppSelection": "InApp", "ServingStatus": "Serving",
}


class Go:
    def __init__(self, contract):
        self.contract = contract
        # Of these an empty string is given, and nil is absent.
        self.expected = {field for message in contract.messages for field in message.fields
                         if contract.is_expectation(message, field)}

    def is_pointer(self, field):
        return not field.repeated and (
            field.kind == "string" and field in self.expected or field.kind in NUMBERS or self.contract.is_message(field)
            or field.kind == "bool" and field.name in THREE_VALUED)

    def base(self, field):
        return {"bytes": "[]byte"}.get(field.kind, field.kind)

    def type(self, field):
        if field.repeated:
            return ("[]*" if self.contract.is_message(field) else "[]") + self.base(field)
        return ("*" if self.is_pointer(field) else "") + self.base(field)

    def enum(self, enum):
        prefix = GO_PREFIXES.get(enum.name, enum.name)
        lines = [*wrapped(f"{enum.name}: {enum.comment}", "// "), f"type {enum.name} int32", "",
                 "const ("]
        for name, number, comment in enum.values:
            constant = prefix + "".join(part.title() for part in name.split("_"))
            lines += [*wrapped(comment, "\t// "), f"\t{constant} {enum.name} = {number}"]
        variable = enum.name[0].lower() + enum.name[1:] + "Names"
        lines += [")", "", f"var {variable} = map[{enum.name}]string{{"]
        lines += [f'\t{number}: "{name}",' for name, number, _ in enum.values]
        lines += ["}", "", "// String returns the name in the contract, without its prefix.",
                  f"func (v {enum.name}) String() string {{",
                  f"\treturn nameOf({variable}, v)", "}", ""]
        return lines

    def struct(self, message):
        # gofmt's form of a list.
        comment = message.comment.replace("\n- ", "\n  - ")
        lines = [*wrapped(f"{message.name}: {comment}", "// "),
                 f"type {message.name} struct {{"]
        for field in message.fields:
            lines += [*wrapped(field.comment, "\t// "),
                      f"\t{field.pascal()} {self.type(field)}"]
        return [*lines, "}", ""]

    def written(self, field):
        name, number = "m." + field.pascal(), field.number
        if field.repeated:
            if self.contract.is_enum(field):
                return [f"\tb = appendPacked(b, {number}, {name})"]
            function = "appendMessage" if self.contract.is_message(field) else \
                {"string": "appendText", "bytes": "appendBytes"}[field.kind]
            write = f"{function}(b, {number}, v)"
            return [f"\tfor _, v := range {name} {{", f"\t\tb = {write}", "\t}"]
        condition, write = {
            "string": (f'{name} != ""', f"appendText(b, {number}, {name})"),
            "bytes": (f"{name} != nil", f"appendBytes(b, {number}, {name})"),
            "bool": (name, f"appendNumber(b, {number}, 1)"),
        }.get(field.kind, (f"{name} != nil", f"appendNumber(b, {number}, uint64(*{name}))"))
        if field.kind == "string" and self.is_pointer(field):
            condition, write = f"{name} != nil", f"appendText(b, {number}, *{name})"
        elif self.contract.is_enum(field):
            condition, write = f"{name} != 0", f"appendNumber(b, {number}, uint64({name}))"
        elif self.contract.is_message(field):
            write = f"appendMessage(b, {number}, {name})"
        elif field.kind == "bool" and self.is_pointer(field):
            condition, write = f"{name} != nil", f"appendBool(b, {number}, *{name})"
        return [f"\tif {condition} {{", f"\t\tb = {write}", "\t}"]

    def read(self, message, field):
        name = "m." + field.pascal()
        lines = [f"\t\tcase {field.number}:"]
        if field.oneof:
            others = [f for f in message.oneofs()[field.oneof] if f is not field]
            if others:
                targets = ", ".join("m." + f.pascal() for f in others)
                lines.append(f"\t\t\t{targets} = {', '.join(['nil'] * len(others))}")
        if self.contract.is_message(field):
            if field.repeated:
                return lines + [f"\t\t\tv := new({field.kind})", f"\t\t\t{name} = append({name}, v)",
                                "\t\t\terr = f.message(d, v)"]
            return lines + [f"\t\t\tif {name} == nil {{", f"\t\t\t\t{name} = new({field.kind})",
                            "\t\t\t}", f"\t\t\terr = f.message(d, {name})"]
        if field.repeated:
            if self.contract.is_enum(field):
                return lines + [f"\t\t\t{name}, err = packed({name}, f)"]
            reader = {"string": "f.text()", "bytes": "f.octets()"}[field.kind]
            return lines + [f"\t\t\tvar v {self.base(field)}", f"\t\t\tv, err = {reader}",
                            f"\t\t\t{name} = append({name}, v)"]
        if self.contract.is_enum(field):
            return lines + [f"\t\t\t{name}, err = enumeration[{field.kind}](f)"]
        reader = {"string": "f.text()", "bytes": "f.octets()", "bool": "f.truth()"}.get(
            field.kind, f"pointer[{field.kind}](f)")
        if field.kind == "bool" and self.is_pointer(field):
            reader = "f.truthPointer()"
        if field.kind == "string" and self.is_pointer(field):
            reader = "f.textPointer()"
        return lines + [f"\t\t\t{name}, err = {reader}"]

    def codec(self, message):
        lines = [f"func (m *{message.name}) marshal(b []byte) []byte {{"]
        for field in message.by_number():
            lines += self.written(field)
        lines += ["\treturn b", "}", ""]
        lines += [f"func (m *{message.name}) unmarshal(d *decoder, b []byte) error {{",
                  "\tfor len(b) > 0 {", "\t\tf, rest, err := nextField(b)", "\t\tif err != nil {",
                  "\t\t\treturn err", "\t\t}"]
        if message.fields:
            lines.append("\t\tswitch f.number {")
            for field in message.fields:
                lines += self.read(message, field)
            lines += ["\t\t}", "\t\tif err != nil {", "\t\t\treturn err", "\t\t}"]
        else:
            lines[-4] = "\t\t_, rest, err := nextField(b)"
        return lines + ["\t\tb = rest", "\t}", "\treturn nil", "}", ""]

    def validation(self, message):
        """The method that refuses expectations which are given and empty; nothing without any."""
        checks = []
        for field in message.by_number():
            if field in self.expected and (field.repeated or field.kind in ("string", "bytes")):
                function = "List" if field.repeated else {"string": "Text", "bytes": "Bytes"}[field.kind]
                name = field.pascal()
                checks.append(f'\t\tempty{function}("{message.name}.{name}", m.{name}),')
        if not checks:
            return []
        return ["// Validate returns an error of the kind ErrArgument for an expectation that is given and",
                "// empty. The client calls it before it sends anything.",
                f"func (m *{message.name}) Validate() error {{", "\tif m == nil {", "\t\treturn nil", "\t}",
                "\treturn refuseEmpty(", *checks, "\t)", "}", ""]

    def files(self):
        lines = [f"// Code generated by script/generate-clients from {CONTRACT}. DO NOT EDIT.", "",
                 "package assay", ""]
        for enum in self.contract.enums:
            lines += self.enum(enum)
        for message in self.contract.messages:
            lines += self.struct(message)
        for message in self.contract.messages:
            lines += self.validation(message)
            lines += self.codec(message)
        return {"clients/go/messages.go": gofmt(lines)}


def gofmt(lines):
    """Aligns what gofmt aligns, so that the script needs no Go: fields and constants stand each
    under a comment and need none; maps do."""
    out, block = [], []
    for line in lines + [""]:
        if re.match(r'^\t\d+: "', line):
            block.append(line)
            continue
        width = max((len(entry.split(":")[0]) for entry in block), default=0)
        for entry in block:
            key, value = entry.split(": ", 1)
            out.append(key + ":" + " " * (width - len(key) + 1) + value)
        block = []
        out.append(line)
    return "\n".join(out[:-1]).rstrip("\n") + "\n"
