package import AssayModels

/// One of Apple's payloads, or an object inside one, that is decoded from JSON members.
package protocol PayloadObject: Sendable, Equatable {
    init(from members: inout JSONMembers) throws(JSONError)
}

/// A cursor over the members of one object.
///
/// A lookup starts behind the last hit and wraps around, so that reading members in about their
/// order costs one comparison each. An absent member and JSON null are nil; another JSON type
/// than the field's is refused.
package struct JSONMembers: Sendable {
    private let document: JSONDocument
    private let start: Int
    private let end: Int
    /// Index of the name at which the next lookup begins.
    private var position: Int

    init(document: JSONDocument, object: Int) {
        self.document = document
        start = object + 1
        end = Int(document.tokens[object].next)
        position = start
    }

    /// The member's value, JSON null included.
    package mutating func value(_ name: String) -> JSONValue? {
        guard let index = find(name) else { return nil }
        return JSONValue(document: document, index: index)
    }

    /// All names and values, in the text's order.
    package var pairs: [(name: String, value: JSONValue)] {
        var pairs: [(name: String, value: JSONValue)] = []
        var index = start
        while index < end {
            let name = document.string(document.tokens[index])
            pairs.append((name, JSONValue(document: document, index: index + 1)))
            index = Int(document.tokens[index + 1].next)
        }
        return pairs
    }

    /// Token index of the member's value.
    private mutating func find(_ name: String) -> Int? {
        let wanted = name.utf8.span
        let tag = JSONToken.tag(wanted, 0..<wanted.count)
        if start == 1, document.rootNames & JSONNames.bits(tag) == 0 { return nil }
        guard
            let index = find(wanted, tag, from: position, to: end)
                ?? find(wanted, tag, from: start, to: position)
        else { return nil }
        position = Int(document.tokens[index + 1].next)
        return index + 1
    }

    /// Token index of the name, among those in a range.
    @inline(__always)
    private func find(_ name: Span<UInt8>, _ tag: UInt16, from first: Int, to last: Int) -> Int? {
        let tokens = document.tokens.span
        var index = first
        while index < last {
            let token = tokens[index]
            if token.tag == tag || token.tag == JSONToken.anyTag, document.equals(token, name) {
                return index
            }
            index = Int(tokens[index + 1].next)
        }
        return nil
    }

    /// As `find`, where JSON null is an absent member.
    private mutating func present(_ name: String) -> JSONToken? {
        guard let index = find(name) else { return nil }
        let token = document.tokens[index]
        return token.kind == .null ? nil : token
    }

    private func number(_ token: JSONToken) -> JSONNumber? {
        guard token.kind == .number else { return nil }
        return JSONNumber(document.text.span.extracting(token.range))
    }

    // MARK: Optional members

    package mutating func string(_ name: String) throws(JSONError) -> String? {
        guard let token = present(name) else { return nil }
        guard token.kind == .string else { throw .wrongType(member: name, expected: .string) }
        return document.string(token)
    }

    package mutating func bool(_ name: String) throws(JSONError) -> Bool? {
        guard let token = present(name) else { return nil }
        switch token.kind {
        case .true: return true
        case .false: return false
        default: throw .wrongType(member: name, expected: .bool)
        }
    }

    package mutating func int32(_ name: String) throws(JSONError) -> Int32? {
        guard let token = present(name) else { return nil }
        guard let number = number(token), number.exact, let value = Int32(exactly: number.floor)
        else { throw .wrongType(member: name, expected: .int32) }
        return value
    }

    package mutating func int64(_ name: String) throws(JSONError) -> Int64? {
        guard let token = present(name) else { return nil }
        guard let number = number(token), number.exact else {
            throw .wrongType(member: name, expected: .int64)
        }
        return number.floor
    }

    /// Milliseconds since 1970, fractions cut off towards the past.
    package mutating func date(_ name: String) throws(JSONError) -> Timestamp? {
        guard let token = present(name) else { return nil }
        guard token.kind == .number else { throw .wrongType(member: name, expected: .date) }
        guard let number = number(token) else { throw .dateOutOfRange(member: name) }
        return Timestamp(milliseconds: number.floor)
    }

    package mutating func strings(_ name: String) throws(JSONError) -> [String]? {
        guard let value = value(name), !value.isNull else { return nil }
        guard let elements = value.elements else {
            throw .wrongType(member: name, expected: .strings)
        }
        var strings: [String] = []
        for element in elements {
            guard let string = element.string else {
                throw .wrongType(member: name, expected: .strings)
            }
            strings.append(string)
        }
        return strings
    }

    package mutating func enumeration<Value: RawRepresentable>(
        _ name: String
    ) throws(JSONError) -> Value? where Value.RawValue == String {
        guard let string = try string(name) else { return nil }
        return Value(rawValue: string)
    }

    package mutating func enumeration<Value: RawRepresentable>(
        _ name: String
    ) throws(JSONError) -> Value? where Value.RawValue == Int32 {
        guard let number = try int32(name) else { return nil }
        return Value(rawValue: number)
    }

    package mutating func object<Object: PayloadObject>(
        _ name: String
    ) throws(JSONError) -> Object? {
        guard let value = value(name), !value.isNull else { return nil }
        guard var members = value.members else {
            throw .wrongType(member: name, expected: .object)
        }
        return try Object(from: &members)
    }

    package mutating func objects<Object: PayloadObject>(
        _ name: String
    ) throws(JSONError) -> [Object]? {
        guard let value = value(name), !value.isNull else { return nil }
        guard let elements = value.elements else {
            throw .wrongType(member: name, expected: .objects)
        }
        var objects: [Object] = []
        for element in elements {
            guard var members = element.members else {
                throw .wrongType(member: name, expected: .objects)
            }
            objects.append(try Object(from: &members))
        }
        return objects
    }

    // MARK: Required members

    package mutating func requiredString(_ name: String) throws(JSONError) -> String {
        try required(try string(name), name)
    }

    package mutating func requiredInt32(_ name: String) throws(JSONError) -> Int32 {
        try required(try int32(name), name)
    }

    package mutating func requiredInt64(_ name: String) throws(JSONError) -> Int64 {
        try required(try int64(name), name)
    }

    package mutating func requiredDate(_ name: String) throws(JSONError) -> Timestamp {
        try required(try date(name), name)
    }

    package mutating func requiredEnumeration<Value: RawRepresentable>(
        _ name: String
    ) throws(JSONError) -> Value where Value.RawValue == String {
        try required(try enumeration(name), name)
    }

    private func required<Value>(_ value: Value?, _ name: String) throws(JSONError) -> Value {
        guard let value else { throw .missingMember(name) }
        return value
    }
}
