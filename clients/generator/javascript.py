"""The messages in JavaScript: tables for the codec, and declarations for TypeScript."""
import textwrap

from contract import COLUMNS, NOTICE, fail, wrapped


class JavaScript:
    def __init__(self, contract):
        self.contract = contract

    def type(self, field):
        base = {"string": "string", "bool": "boolean", "bytes": "Uint8Array", "int32": "number",
                "uint32": "number", "int64": "bigint", "uint64": "bigint"}.get(
                    field.kind, field.kind)
        return base + "[]" if field.repeated else base

    def schema(self):
        lines = [f"// {NOTICE}", "",
                 "// Enumerations: the names by number.", ""]
        for enum in self.contract.enums:
            if [number for _, number, _ in enum.values] != list(range(len(enum.values))):
                fail(f"the numbers of {enum.name} have gaps")
            names = ", ".join(f"'{name}'" for name, _, _ in enum.values)
            text = "\n".join(textwrap.wrap(names, COLUMNS - 4, initial_indent="  ",
                                           subsequent_indent="  "))
            lines += [f"export const {enum.name} = [", text + ",", "]", ""]
        lines += ["// Messages: the fields by number, each as [name, type, isRepeated, oneof]. A type is",
                  "// the name of a scalar, the names of an enumeration, or a message.", ""]
        names = [message.name for message in self.contract.messages]
        for name in names:
            lines.append(f"export const {name} = {{}}")
        for message in self.contract.messages:
            if not message.fields:
                continue
            lines += ["", f"Object.assign({message.name}, {{"]
            for field in message.fields:
                known = self.contract.is_enum(field) or self.contract.is_message(field)
                kind = field.kind if known else f"'{field.kind}'"
                entry = [f"'{field.camel()}'", kind]
                if field.repeated or field.oneof:
                    entry.append("true" if field.repeated else "false")
                if field.oneof:
                    others = [str(other.number) for other in message.oneofs()[field.oneof]
                              if other is not field]
                    entry.append("[" + ", ".join(others) + "]")
                line = f"  {field.number}: [" + ", ".join(entry) + "],"
                lines.append(line)
            lines.append("})")
        lines += ["", "// Fields that narrow what the caller accepts: the names by message.",
                  "export const EXPECTATIONS = new Map(["]
        for message in self.contract.messages:
            names = [f"'{field.camel()}'" for field in message.fields
                     if self.contract.is_expectation(message, field)]
            if names:
                lines += textwrap.wrap(f"[{message.name}, [{', '.join(names)}]],", COLUMNS - 4,
                                       initial_indent="  ", subsequent_indent="    ")
        lines.append("])")
        return "\n".join(lines) + "\n"

    def comment(self, text, indent=""):
        if len(indent) + len(text) + 7 <= COLUMNS and "\n" not in text:
            return [f"{indent}/** {text} */"]
        return [f"{indent}/**", *wrapped(text, indent + " * "), f"{indent} */"]

    def types(self):
        requests = self.contract.reachable("RequestHead")
        lines = [f"// {NOTICE}", ""]
        for enum in self.contract.enums:
            lines += self.comment(enum.comment + " UNRECOGNIZED is a number that this client does "
                                  "not know.")
            lines.append(f"export type {enum.name} =")
            for name, _, comment in enum.values:
                lines += [*self.comment(comment, "  "), f"  | '{name}'"]
            lines += ["  | 'UNRECOGNIZED'", ""]
        for message in self.contract.messages:
            lines += [*self.comment(message.comment), f"export interface {message.name} {{"]
            for field in message.fields:
                # The decoder makes every list; a caller need not.
                mark = "" if field.repeated and message.name not in requests else "?"
                lines += [*self.comment(field.comment, "  "),
                          f"  {field.camel()}{mark}: {self.type(field)}"]
            lines += ["}", ""]
        return "\n".join(lines).rstrip("\n") + "\n"

    def files(self):
        return {"clients/node/src/messages.js": self.schema(),
                "clients/node/src/messages.d.ts": self.types()}
