import Assay
import AssayBytes

/// The part of JSON Schema (2020-12) that `proto/openapi.json` uses. Another keyword is a fault.
struct JSONSchema {
    let document: JSONDocument

    /// The faults of a value, each with its location; none if it is valid.
    func faults(_ value: JSONValue, _ schema: JSONValue, at location: String = "$") -> [String] {
        guard let keywords = schema.members else { return ["\(location): the schema is no object"] }
        return keywords.pairs.flatMap { name, argument in
            faults(value, name, argument, schema, location)
        }
    }

    /// The object that a `$ref` names, or the value itself.
    func resolved(_ value: JSONValue) -> JSONValue {
        guard let path = value["$ref"]?.string else { return value }
        return path.split(separator: "/").dropFirst().reduce(document.root) { object, name in
            object[String(name)] ?? object
        }
    }

    private func faults(
        _ value: JSONValue, _ keyword: String, _ argument: JSONValue, _ schema: JSONValue,
        _ location: String
    ) -> [String] {
        switch keyword {
        case "description", "format", "example", "examples": return []
        case "$ref": return faults(value, resolved(schema), at: location)
        case "type":
            let types = argument.string.map { [$0] } ?? argument.elements!.compactMap(\.string)
            return types.contains { Self.isOf($0, value) } ? [] : ["\(location): not of \(types)"]
        case "enum":
            let isIn = argument.elements!.contains { $0.raw == value.raw }
            return isIn ? [] : ["\(location): not in the list: \(text(value))"]
        case "required":
            guard let members = value.members else { return [] }
            return argument.elements!.compactMap(\.string).filter { members[$0] == nil }
                .map { "\(location): \($0) is missing" }
        case "properties":
            return argument.members!.pairs.flatMap { name, schema in
                value[name].map { faults($0, schema, at: "\(location).\(name)") } ?? []
            }
        case "additionalProperties":
            return additional(value, argument, schema, location)
        case "items":
            return value.elements.map { elements in
                elements.enumerated().flatMap { index, element in
                    faults(element, argument, at: "\(location)[\(index)]")
                }
            } ?? []
        case "anyOf", "oneOf", "allOf", "not":
            return combined(value, keyword, argument, location)
        case "minimum", "maximum", "minLength", "minItems", "maxItems", "minProperties",
            "maxProperties", "pattern":
            return bounds(value, keyword, argument, location)
        default: return ["\(location): unknown keyword \(keyword)"]
        }
    }

    private func additional(
        _ value: JSONValue, _ argument: JSONValue, _ schema: JSONValue, _ location: String
    ) -> [String] {
        guard let members = value.members else { return [] }
        return members.pairs.flatMap { name, value -> [String] in
            if schema["properties"]?[name] != nil { return [] }
            return argument.bool == false
                ? ["\(location): unknown member \(name)"]
                : faults(value, argument, at: "\(location).\(name)")
        }
    }

    private func combined(
        _ value: JSONValue, _ keyword: String, _ argument: JSONValue, _ location: String
    ) -> [String] {
        if keyword == "not" {
            return faults(value, argument).isEmpty ? ["\(location): excluded"] : []
        }
        let found: [[String]] = argument.elements!.map { faults(value, $0, at: location) }
        let fitting = found.filter { $0.isEmpty }.count
        switch keyword {
        case "allOf": return found.flatMap { $0 }
        case "oneOf":
            return fitting == 1 ? [] : ["\(location): \(fitting) of oneOf"] + found.joined()
        default: return fitting > 0 ? [] : ["\(location): none of anyOf"] + found.joined()
        }
    }

    private func bounds(
        _ value: JSONValue, _ keyword: String, _ argument: JSONValue, _ location: String
    ) -> [String] {
        let isValid: Bool
        switch (keyword, value.kind) {
        case ("minimum", .number): isValid = number(value) >= number(argument)
        case ("maximum", .number): isValid = number(value) <= number(argument)
        case ("minLength", .string): isValid = value.string!.count >= Int(number(argument))
        case ("minItems", .array): isValid = Array(value.elements!).count >= Int(number(argument))
        case ("maxItems", .array): isValid = Array(value.elements!).count <= Int(number(argument))
        case ("maxProperties", .object): isValid = value.members!.count <= Int(number(argument))
        case ("pattern", .string):
            guard let pattern = try? Regex(argument.string!) else {
                return ["\(location): pattern"]
            }
            isValid = value.string!.firstMatch(of: pattern) != nil
        default: isValid = true
        }
        return isValid ? [] : ["\(location): \(keyword) \(text(argument)): \(text(value))"]
    }

    private static func isOf(_ type: String, _ value: JSONValue) -> Bool {
        switch type {
        case "object": value.kind == .object
        case "array": value.kind == .array
        case "string": value.kind == .string
        case "number": value.kind == .number
        case "integer": value.int64 != nil
        case "boolean": value.bool != nil
        case "null": value.isNull
        default: false
        }
    }

    private func number(_ value: JSONValue) -> Double { Double(text(value)) ?? .nan }

    private func text(_ value: JSONValue) -> String { String(decoding: value.raw, as: UTF8.self) }
}
