import AssayBytes
import AssayModels
import AssayTelemetry
import AssayWire

/// proto3's JSON mapping, of JSON to a message.
///
/// Unknown members are refused, as the mapping recommends: a misspelt expectation would be none.
extension RPCSchema {
    /// Objects and arrays within each other: the requests have five levels.
    private static let depth = 16

    /// Encodes the JSON of a message.
    func encode(_ body: Span<UInt8>, as name: String) throws(HTTPProblem) -> [UInt8] {
        guard let index = message(named: name) else {
            preconditionFailure("a message without a descriptor: \(name)")
        }
        return try encode(HTTPJSONBody.members(of: body, depth: Self.depth), index)
    }

    private func encode(_ object: JSONObject, _ index: Int) throws(HTTPProblem) -> [UInt8] {
        var message = MessageBuilder()
        var given: Set<Int> = []
        let fields = messages[index].fields
        for (name, value) in object.pairs {
            guard
                let field = fields.first(where: {
                    $0.jsonName.equalsByBytes(name) || $0.name.equalsByBytes(name)
                })
            else {
                let names = fields.map(\.jsonName).joined(separator: ", ")
                throw HTTPParameters.problem(
                    "unknown member \(HTTPParameters.quoted(name)); the members: \(names)")
            }
            guard given.insert(field.number).inserted else {
                throw HTTPParameters.problem("\(field.jsonName) is given under both of its names")
            }
            // As if it were absent.
            guard !value.isNull else { continue }
            guard field.isRepeated else {
                try encode(value, field, to: &message)
                continue
            }
            guard let elements = value.elements else {
                throw HTTPParameters.problem("\(field.jsonName) is not an array")
            }
            for element in elements { try encode(element, field, to: &message) }
        }
        return message.bytes
    }

    private func encode(
        _ value: JSONValue, _ field: Field, to message: inout MessageBuilder
    ) throws(HTTPProblem) {
        let (number, name) = (field.number, field.jsonName)
        switch field.type {
        case .bool:
            guard let bool = value.bool else { throw Self.problem(name, "true or false") }
            message.set(number, varint: bool ? 1 : 0)
        case .string:
            guard let text = value.string else { throw Self.problem(name, "a string") }
            message.set(number, text: text)
        case .bytes: message.set(number, bytes: try Self.bytes(value, name))
        case .message(let index):
            guard let members = value.members else { throw Self.problem(name, "an object") }
            message.set(number, bytes: try encode(members, index))
        case .enumeration(let index):
            message.set(number, varint: try self.number(value, of: enumerations[index], name))
        case .int32: message.set(number, varint: try Self.number(value, name, Int32.self))
        case .int64: message.set(number, varint: try Self.number(value, name, Int64.self))
        case .uint32: message.set(number, varint: try Self.number(value, name, UInt32.self))
        case .uint64: message.set(number, varint: try Self.number(value, name, UInt64.self))
        }
    }

    private static func problem(_ name: String, _ wanted: String) -> HTTPProblem {
        HTTPParameters.problem("\(name) is not \(wanted)")
    }

    /// A number, or its decimal digits as text.
    private static func number<Number: FixedWidthInteger>(
        _ value: JSONValue, _ name: String, _: Number.Type
    ) throws(HTTPProblem) -> UInt64 {
        let number: Number? =
            if let text = value.string { Number(text) } else {
                value.int64.flatMap { Number(exactly: $0) }
            }
        guard let number else {
            throw problem(name, "a whole number in the range of \(Number.self)")
        }
        // A negative number is extended to 64 bits, as the encoding demands.
        return UInt64(truncatingIfNeeded: number)
    }

    private func number(
        _ value: JSONValue, of enumeration: Enumeration, _ name: String
    ) throws(HTTPProblem) -> UInt64 {
        guard let text = value.string else { return try Self.number(value, name, Int32.self) }
        guard let known = enumeration.values.first(where: { $0.name.equalsByBytes(text) }) else {
            let names = enumeration.values.map(\.name).joined(separator: ", ")
            throw HTTPParameters.problem(
                "\(HTTPParameters.quoted(text)) is not a value of \(name); the values: \(names)")
        }
        return UInt64(truncatingIfNeeded: known.number)
    }

    /// Base64 of either alphabet, with or without padding.
    private static func bytes(
        _ value: JSONValue, _ name: String
    ) throws(HTTPProblem) -> [UInt8] {
        do throws(Base64Error) {
            let decoded = try value.withUTF8 { text throws(Base64Error) in
                var end = text.count
                for _ in 0..<2 where end > 0 && text[end - 1] == UInt8(ascii: "=") { end -= 1 }
                return try decode(text.extracting(0..<end))
            }
            guard let decoded else { throw Base64Error.length }
            return decoded
        } catch {
            throw problem(name, "base64: \(error)")
        }
    }

    /// Digits without padding.
    private static func decode(_ digits: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        for index in digits.indices
        where digits[index] == UInt8(ascii: "-") || digits[index] == UInt8(ascii: "_") {
            return try Base64URL.decode(digits)
        }
        var stream = Base64Stream()
        var bytes: [UInt8] = []
        try stream.decode(digits, into: &bytes)
        try stream.finish(into: &bytes)
        return bytes
    }
}
