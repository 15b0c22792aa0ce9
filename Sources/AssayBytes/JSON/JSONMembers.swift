public import AssayModels

/// A member name known to this library, with its precomputed tag.
@usableFromInline
package struct JSONName: ExpressibleByStringLiteral, Sendable {
    @usableFromInline let name: StaticString
    @usableFromInline let tag: UInt16

    @inlinable @inline(__always)
    package init(stringLiteral name: StaticString) {
        self.name = name
        let bytes = name.bytes
        tag = JSONToken.tag(bytes, 0..<bytes.count)
    }

    @usableFromInline
    package var text: String { name.description }
}

/// A cursor over the members of one object.
///
/// A lookup in a nested object starts after the last hit and wraps around, so that reading
/// members in roughly their order costs one comparison each. An absent member and JSON null are
/// nil. A JSON type other than the field's throws `wrongType`.
@usableFromInline
package struct JSONMembers: ~Escapable {
    @usableFromInline let text: Span<UInt8>
    @usableFromInline let tokens: Span<JSONToken>
    @usableFromInline let names: JSONNameIndex
    @usableFromInline let start: Int
    @usableFromInline let end: Int
    /// The token index of the name where the next lookup begins.
    @usableFromInline var position: Int

    @_lifetime(copy text, copy tokens)
    @inlinable
    init(text: Span<UInt8>, tokens: Span<JSONToken>, names: JSONNameIndex, object: Int) {
        self.text = text
        self.tokens = tokens
        self.names = names
        start = object + 1
        end = Int(tokens[object].next)
        position = start
    }

    /// Whether the object has the member; JSON null counts.
    @inlinable @inline(__always)
    package mutating func has(_ name: JSONName) -> Bool { find(name) != nil }

    /// Returns the token index of the member's value.
    @inlinable @inline(__always)
    mutating func find(_ name: JSONName) -> Int? {
        switch names.entry(JSONNameIndex.slot(name.tag)) {
        case .none: nil
        case .only(let index): isName(tokens[index], name.tag, name.name.bytes) ? index + 1 : nil
        case .several: search(name)
        }
    }

    @inlinable
    mutating func search(_ name: JSONName) -> Int? {
        let wanted = name.name.bytes
        guard
            let index = search(wanted, name.tag, from: position, to: end)
                ?? search(wanted, name.tag, from: start, to: position)
        else { return nil }
        position = Int(tokens[index + 1].next)
        return index + 1
    }

    /// Returns the token index of the name, searching only a range of tokens.
    @inlinable @inline(__always)
    func search(
        _ name: Span<UInt8>, _ tag: UInt16, from first: Int, to last: Int
    ) -> Int? {
        var index = first
        while index < last {
            if isName(tokens[index], tag, name) { return index }
            index = Int(tokens[index + 1].next)
        }
        return nil
    }

    @inlinable @inline(__always)
    func isName(_ token: JSONToken, _ tag: UInt16, _ name: Span<UInt8>) -> Bool {
        guard token.tag == tag || token.tag == JSONToken.anyTag else { return false }
        return text.string(token, is: name)
    }

    /// Like `find`, but treats JSON null as an absent member.
    @inlinable @inline(__always)
    mutating func present(_ name: JSONName) -> Int? {
        guard let index = find(name) else { return nil }
        return tokens[index].kind == .null ? nil : index
    }

    @inlinable
    func number(_ token: JSONToken) -> JSONNumber? {
        guard token.kind == .number else { return nil }
        return JSONNumber(text.extracting(token.range))
    }

    // MARK: Optional members

    @inlinable
    package mutating func string(_ name: JSONName) throws(JSONError) -> String? {
        guard let index = present(name) else { return nil }
        guard tokens[index].kind == .string else { throw wrongType(name, .string) }
        return text.string(tokens[index])
    }

    /// The first of two spellings of a member that is present.
    @inlinable
    package mutating func string(
        _ name: JSONName, or other: JSONName
    ) throws(JSONError) -> String? {
        if let value = try string(name) { return value }
        return try string(other)
    }

    /// The JSON text of a value of any type.
    @inlinable
    package mutating func text(_ name: JSONName) -> String? {
        present(name).map { text.validatedText(tokens[$0].range) }
    }

    @inlinable
    package mutating func bool(_ name: JSONName) throws(JSONError) -> Bool? {
        guard let index = present(name) else { return nil }
        switch tokens[index].kind {
        case .true: return true
        case .false: return false
        default: throw wrongType(name, .bool)
        }
    }

    @inlinable
    package mutating func int32(_ name: JSONName) throws(JSONError) -> Int32? {
        guard let index = present(name) else { return nil }
        guard let number = number(tokens[index]), number.exact,
            let value = Int32(exactly: number.floor)
        else { throw wrongType(name, .int32) }
        return value
    }

    @inlinable
    package mutating func int64(_ name: JSONName) throws(JSONError) -> Int64? {
        guard let index = present(name) else { return nil }
        guard let number = number(tokens[index]), number.exact else {
            throw wrongType(name, .int64)
        }
        return number.floor
    }

    /// Milliseconds since 1970; fractions are rounded down (towards the past).
    @inlinable
    package mutating func date(_ name: JSONName) throws(JSONError) -> Timestamp? {
        guard let index = present(name) else { return nil }
        guard tokens[index].kind == .number else { throw wrongType(name, .date) }
        guard let number = number(tokens[index]) else {
            throw .dateOutOfRange(member: name.text)
        }
        return Timestamp(milliseconds: number.floor)
    }

    @inlinable
    package mutating func strings(_ name: JSONName) throws(JSONError) -> [String]? {
        guard let array = present(name) else { return nil }
        guard tokens[array].kind == .array else { throw wrongType(name, .strings) }
        var strings: [String] = []
        var index = array + 1
        while index < tokens[array].next {
            guard tokens[index].kind == .string else { throw wrongType(name, .strings) }
            strings.append(text.string(tokens[index]))
            index = Int(tokens[index].next)
        }
        return strings
    }

    @inlinable
    package mutating func enumeration<Value: RawRepresentable>(
        _ name: JSONName
    ) throws(JSONError) -> Value? where Value.RawValue == String {
        guard let string = try string(name) else { return nil }
        return Value(rawValue: string)
    }

    @inlinable
    package mutating func enumeration<Value: RawRepresentable>(
        _ name: JSONName
    ) throws(JSONError) -> Value? where Value.RawValue == Int32 {
        guard let number = try int32(name) else { return nil }
        return Value(rawValue: number)
    }

    /// Calls `body` with a cursor over the members of an object.
    @inlinable
    package mutating func withObject<Object>(
        _ name: JSONName, _ body: (inout JSONMembers) throws(JSONError) -> Object
    ) throws(JSONError) -> Object? {
        guard let index = present(name) else { return nil }
        guard tokens[index].kind == .object else { throw wrongType(name, .object) }
        var members = JSONMembers(text: text, tokens: tokens, names: .unknown, object: index)
        return try body(&members)
    }

    /// Calls `body` with a cursor over the members of each object of an array.
    @inlinable
    package mutating func withObjects<Object>(
        _ name: JSONName, _ body: (inout JSONMembers) throws(JSONError) -> Object
    ) throws(JSONError) -> [Object]? {
        guard let array = present(name) else { return nil }
        guard tokens[array].kind == .array else { throw wrongType(name, .objects) }
        var objects: [Object] = []
        var index = array + 1
        while index < tokens[array].next {
            guard tokens[index].kind == .object else { throw wrongType(name, .objects) }
            var members = JSONMembers(text: text, tokens: tokens, names: .unknown, object: index)
            objects.append(try body(&members))
            index = Int(tokens[index].next)
        }
        return objects
    }

    /// Calls `body` with a cursor over the members of each member, of any name, that is an object
    /// with one of two members.
    @inlinable
    package mutating func withObjects<Object>(
        having first: JSONName, or second: JSONName,
        _ body: (inout JSONMembers) throws(JSONError) -> Object
    ) throws(JSONError) -> [(name: String, object: Object)] {
        var objects: [(name: String, object: Object)] = []
        var index = start
        while index < end {
            let value = index + 1
            if tokens[value].kind == .object {
                var members = JSONMembers(
                    text: text, tokens: tokens, names: .unknown, object: value)
                if members.has(first) ? true : members.has(second) {
                    objects.append((text.string(tokens[index]), try body(&members)))
                }
            }
            index = Int(tokens[value].next)
        }
        return objects
    }

    @usableFromInline
    func wrongType(_ name: JSONName, _ expected: JSONError.Expected) -> JSONError {
        .wrongType(member: name.text, expected: expected)
    }

    // MARK: Required members

    @inlinable
    package mutating func requiredString(_ name: JSONName) throws(JSONError) -> String {
        try required(try string(name), name)
    }

    @inlinable
    package mutating func requiredInt32(_ name: JSONName) throws(JSONError) -> Int32 {
        try required(try int32(name), name)
    }

    @inlinable
    package mutating func requiredInt64(_ name: JSONName) throws(JSONError) -> Int64 {
        try required(try int64(name), name)
    }

    @inlinable
    package mutating func requiredDate(_ name: JSONName) throws(JSONError) -> Timestamp {
        try required(try date(name), name)
    }

    @inlinable
    package mutating func requiredEnumeration<Value: RawRepresentable>(
        _ name: JSONName
    ) throws(JSONError) -> Value where Value.RawValue == String {
        try required(try enumeration(name), name)
    }

    @inlinable
    func required<Value>(_ value: Value?, _ name: JSONName) throws(JSONError) -> Value {
        guard let value else { throw .missingMember(name.text) }
        return value
    }

    // MARK: Dates of unverified payloads

    /// The result of `firstNumber`: the first of two members that is present and not null.
    @usableFromInline
    package enum FirstNumber {
        case none
        case number(JSONNumber)
        /// Not a number, or one outside the range of 64 bits.
        case other(JSONName)
    }

    @inlinable
    package mutating func firstNumber(_ first: JSONName, _ second: JSONName) -> FirstNumber {
        if let index = present(first) {
            return number(tokens[index]).map { .number($0) } ?? .other(first)
        }
        guard let index = present(second) else { return .none }
        return number(tokens[index]).map { .number($0) } ?? .other(second)
    }
}
