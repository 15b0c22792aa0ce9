/// Reads the fields of an encoded protobuf message, one after the other. It owns no bytes.
///
/// For messages of which the reader needs a few fields, or whose types are known at run time only;
/// `MessageCodec` decodes whole messages.
package struct FieldReader: Sendable {
    /// The index of the next field.
    package private(set) var position: Int

    package init(at position: Int = 0) { self.position = position }

    package struct Field: Equatable, Sendable {
        package let number: Int
        package let value: Value
        /// The bytes of the whole field.
        package let range: Range<Int>
    }

    package enum Value: Equatable, Sendable {
        case varint(UInt64)
        /// Text, bytes, a nested message or packed numbers. The range can end beyond the bytes
        /// that have arrived.
        case bytes(Range<Int>)
        /// A number of four or eight bytes.
        case fixed
    }

    /// The largest number of a field.
    private static let largestNumber: UInt64 = 1 << 29 - 1
    /// Bytes of a tag and of a length, which have 32 bits; protobuf's runtimes refuse more.
    private static let mostPrefixBytes = 5

    /// Reads the next field of a complete message; nil at its end.
    package mutating func next(in bytes: Span<UInt8>) throws(MessageError) -> Field? {
        guard position < bytes.count else { return nil }
        guard let field = try begin(in: bytes), field.range.upperBound <= bytes.count else {
            throw .malformed
        }
        position = field.range.upperBound
        return field
    }

    /// Reads the start of the next field, whose content possibly has not arrived; nil if its tag or
    /// its length is incomplete. `skip(_:)` goes on after it.
    package func begin(in bytes: Span<UInt8>) throws(MessageError) -> Field? {
        guard position < bytes.count else { return nil }
        guard let tag = try Self.varint(in: bytes, at: position) else { return nil }
        let number = tag.value >> 3
        guard (1...Self.largestNumber).contains(number),
            tag.end - position <= Self.mostPrefixBytes
        else { throw .malformed }
        let value: Value
        let end: Int
        switch tag.value & 7 {
        case 0:
            guard let content = try Self.varint(in: bytes, at: tag.end) else { return nil }
            (value, end) = (.varint(content.value), content.end)
        case 1: (value, end) = (.fixed, tag.end + 8)
        case 2:
            guard let length = try Self.varint(in: bytes, at: tag.end) else { return nil }
            guard length.value <= UInt64(UInt32.max),
                length.end - tag.end <= Self.mostPrefixBytes
            else { throw .malformed }
            end = length.end + Int(length.value)
            value = .bytes(length.end..<end)
        case 5: (value, end) = (.fixed, tag.end + 4)
        // Groups, which proto3 does not have.
        default: throw .malformed
        }
        return Field(number: Int(number), value: value, range: position..<end)
    }

    /// Goes on after a field of `begin(in:)`.
    package mutating func skip(_ field: Field) { position = field.range.upperBound }

    /// Reads the next number of a packed field that begins at the position; nil at its end.
    package mutating func nextPacked(in bytes: Span<UInt8>) throws(MessageError) -> UInt64? {
        guard position < bytes.count else { return nil }
        guard let number = try Self.varint(in: bytes, at: position) else { throw .malformed }
        position = number.end
        return number.value
    }

    /// Decodes a varint of up to ten bytes; nil if it is incomplete.
    private static func varint(
        in bytes: Span<UInt8>, at start: Int
    ) throws(MessageError) -> (value: UInt64, end: Int)? {
        var value: UInt64 = 0
        for index in 0..<10 {
            guard start + index < bytes.count else { return nil }
            let byte = bytes[start + index]
            // The tenth byte has one bit.
            guard index < 9 || byte <= 1 else { throw .malformed }
            value |= UInt64(byte & 0x7F) << UInt64(7 * index)
            if byte < 0x80 { return (value, start + index + 1) }
        }
        throw .malformed
    }
}

/// Builds a protobuf message field by field, in the order of the calls.
package struct MessageBuilder: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func set(_ number: Int, varint value: UInt64) {
        append(UInt64(number) << 3)
        append(value)
    }

    package mutating func set(_ number: Int, bytes content: [UInt8]) {
        append(UInt64(number) << 3 | 2)
        append(UInt64(content.count))
        bytes += content
    }

    package mutating func set(_ number: Int, text: String) { set(number, bytes: Array(text.utf8)) }

    private mutating func append(_ value: UInt64) {
        var left = value
        while left >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        bytes.append(UInt8(left))
    }
}
