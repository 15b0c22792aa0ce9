"""The messages in Java."""
import re
import textwrap

from contract import COLUMNS, NOTICE, THREE_VALUED, Enumeration, wrapped

JAVA = "clients/java/src/main/java/assay/client/model"


def escaped(text):
    """The text in Javadoc's HTML."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"((?:\n- .*)+)", lambda found: "\n<ul>" + found[1].replace("\n- ", "\n<li>")
                  + "\n</ul>", text)


class Java:
    def __init__(self, contract):
        self.contract = contract

    def type(self, field, boxed=False):
        base = {"string": "String", "bytes": "byte[]", "int32": "Integer", "uint32": "Long",
                "int64": "Long", "uint64": "Long"}.get(field.kind, field.kind)
        if field.kind == "bool":
            base = "Boolean" if field.name in THREE_VALUED or boxed else "boolean"
        return f"List<{base}>" if field.repeated else base

    def comment(self, text, indent=""):
        text = escaped(text)
        if len(indent) + len(text) + 7 <= COLUMNS and "\n" not in text:
            return [f"{indent}/** {text} */"]
        return [f"{indent}/**", *wrapped(text, indent + " * "), f"{indent} */"]

    def enum(self, enum):
        lines = [*self.comment(enum.comment), f"public enum {enum.name} {{"]
        for name, number, comment in enum.values:
            lines += [*self.comment(comment, "    "), f"    {name}({number}),"]
        return lines + [
            "    /** A number that this client does not know. */", "    UNRECOGNIZED(-1);", "",
            "    private final int number;", "",
            f"    {enum.name}(int number) {{", "        this.number = number;", "    }", "",
            "    int number() {", "        return number;", "    }", "",
            f"    static {enum.name} of(long number) {{",
            f"        for ({enum.name} value : values()) {{",
            "            if (value.number == (int) number) {", "                return value;",
            "            }", "        }", "        return UNRECOGNIZED;", "    }", "}"]

    def parameters(self, message):
        """The Javadoc of a record: its comment, and one tag for each component."""
        lines = ["/**", *wrapped(escaped(message.comment), " * ")]
        if message.fields:
            lines.append(" *")
        for field in message.fields:
            lines += textwrap.wrap(f"@param {field.camel()} {escaped(field.comment)}", COLUMNS,
                                   initial_indent=" * ", subsequent_indent=" *     ",
                                   break_on_hyphens=False)
        return lines + [" */"]

    def read(self, message, field):
        name = "b." + field.camel()
        if self.contract.is_message(field):
            value = f"{field.kind}.decode(in.message())"
        elif self.contract.is_enum(field):
            value = f"{field.kind}.of(in.number())"
        else:
            value = {"string": "in.text()", "bytes": "in.bytes()", "bool": "in.number() != 0",
                     "int32": "(int) in.number()", "uint32": "in.number() & 0xFFFFFFFFL"}.get(
                         field.kind, "in.number()")
        if field.repeated and self.contract.is_enum(field):
            return [f"                case {field.number} -> in.packed("
                    f"n -> {name}.add({field.kind}.of(n)));"]
        if field.repeated:
            return [f"                case {field.number} -> {name}.add({value});"]
        others = []
        if field.oneof:
            others = [f for f in message.oneofs()[field.oneof] if f is not field]
        if not others:
            return [f"                case {field.number} -> {name} = {value};"]
        return [f"                case {field.number} -> {{",
                *[f"                    b.{other.camel()} = null;" for other in others],
                f"                    {name} = {value};", "                }"]

    def written(self, field):
        name, number = field.camel(), field.number
        if field.repeated:
            if self.contract.is_enum(field):
                return [f"        out.packed({number}, {name}.stream().mapToLong("
                        f"{field.kind}::number));"]
            write = f"out.message({number}, value::encode)" if self.contract.is_message(field) \
                else {"string": f"out.text({number}, value)",
                      "bytes": f"out.bytes({number}, value)"}[field.kind]
            kind = self.type(field)[5:-1]
            return [f"        for ({kind} value : {name}) {{", f"            {write};",
                    "        }"]
        condition = f"{name} != null"
        write = {"string": f"out.text({number}, {name})",
                 "bytes": f"out.bytes({number}, {name})",
                 "bool": f"out.number({number}, {name} ? 1 : 0)"}.get(
                     field.kind, f"out.number({number}, {name})")
        if self.contract.is_enum(field):
            write = f"out.number({number}, {name}.number())"
        elif self.contract.is_message(field):
            write = f"out.message({number}, {name}::encode)"
        elif field.kind == "bool" and field.name not in THREE_VALUED:
            condition = name
        return [f"        if ({condition}) {{", f"            {write};", "        }"]

    def builder(self, message):
        lines = ["    /** Makes a " + message.name + ". What is not set is absent. */",
                 "    public static final class Builder {"]
        for field in message.fields:
            start = " = new ArrayList<>()" if field.repeated else ""
            lines.append(f"        private {self.type(field)} {field.camel()}{start};")
        if message.fields:
            lines.append("")
        lines += ["        private Builder() {}", ""]
        for field in message.fields:
            name = field.camel()
            value = f"new ArrayList<>({name})" if field.repeated else name
            check = []
            if self.contract.is_expectation(message, field):
                check = [f'            Expected.given("{self.path(message)}{name}", {name});']
            lines += [*self.comment(field.comment, "        "),
                      f"        public Builder {name}({self.type(field)} {name}) {{",
                      *check, f"            this.{name} = {value};", "            return this;",
                      "        }", ""]
        values = ", ".join(f"List.copyOf({field.camel()})" if field.repeated else field.camel()
                           for field in message.fields)
        lines += ["        /** Returns the message. */",
                  f"        public {message.name} build() {{",
                  *textwrap.wrap(f"return new {message.name}({values});", COLUMNS,
                                 initial_indent=" " * 12, subsequent_indent=" " * 16),
                  "        }", "    }"]
        return lines

    @staticmethod
    def path(message):
        """Where a caller gives the expectations of a message."""
        return "policy." if message.name == "EntitlementPolicy" else message.name.lower() + "."

    def constructor(self, message):
        """The constructor, which refuses expectations that are empty; nothing without any."""
        checks = [f'        Expected.valueOrAbsent("{self.path(message)}{field.camel()}", {field.camel()});'
                  for field in message.fields if self.contract.is_expectation(message, field)
                  and (field.repeated or field.kind in ("string", "bytes"))]
        if not checks:
            return []
        return [*self.comment("Refuses an expectation that is empty. Absent is null, and a list without "
                              "elements.", "    "), f"    public {message.name} {{", *checks, "    }", ""]

    def record(self, message):
        components = ", ".join(f"{self.type(field)} {field.camel()}" for field in message.fields)
        lines = self.parameters(message)
        lines += textwrap.wrap(f"public record {message.name}({components}) {{", COLUMNS,
                               subsequent_indent=" " * 8)
        lines += self.constructor(message)
        lines += ["    /** Returns a builder. */", "    public static Builder builder() {",
                  "        return new Builder();", "    }", "",
                  f"    static {message.name} decode(Reader in) {{",
                  "        Builder b = new Builder();",
                  "        while (in.next()) {"]
        if message.fields:
            lines.append("            switch (in.field()) {")
            for field in message.fields:
                lines += self.read(message, field)
            lines += ["                default -> in.skip();", "            }"]
        else:
            lines.append("            in.skip();")
        lines += ["        }", "        return b.build();", "    }", "",
                  "    void encode(Writer out) {"]
        for field in message.by_number():
            lines += self.written(field)
        return lines + ["    }", "", *self.builder(message), "}"]

    def files(self):
        files = {}
        for item in self.contract.enums + self.contract.messages:
            is_enum = isinstance(item, Enumeration)
            body = "\n".join(self.enum(item) if is_enum else self.record(item)) + "\n"
            imports = ""
            if "List<" in body:
                imports = "import java.util.ArrayList;\nimport java.util.List;\n\n"
            files[f"{JAVA}/{item.name}.java"] = \
                f"// {NOTICE}\npackage assay.client.model;\n\n{imports}{body}"
        return files
