/// The last head of a connection. A client asks for the same again and again: only the id differs,
/// and the other fields are compared instead of decoded.
///
/// Each connection has its own: none can fill it for another.
package struct RecentHead {
    private var head: RequestHead?
    /// The bytes of its fields after the id.
    private var rest: [UInt8] = []

    /// Longer heads, which have many expectations, are decoded.
    private static let longest = 256

    package init() {}

    /// Decodes the head of a request frame, as `codec` does. One that asks for a verification is
    /// compared.
    package mutating func decode(
        _ bytes: Span<UInt8>, by codec: MessageCodec
    ) throws(MessageError) -> RequestHead {
        guard let plain = MessageCodec.plainVerify(bytes),
            bytes.count - plain.rest <= Self.longest
        else { return try codec.decodeRequest(bytes) }
        let fields = bytes.extracting(plain.rest..<bytes.count)
        if var head, Self.equal(fields, rest.span) {
            head.id = plain.id
            return head
        }
        let decoded = try codec.decodeRequest(bytes)
        keep(decoded, fields)
        return decoded
    }

    /// Decodes a head without an id, as `codec` does.
    ///
    /// - Parameter id: the id that it gets, in place of one in the bytes.
    package mutating func decode(
        _ bytes: Span<UInt8>, id: UInt64, by codec: MessageCodec
    ) throws(MessageError) -> RequestHead {
        var found: RequestHead
        if let head, Self.equal(bytes, rest.span) {
            found = head
        } else {
            found = try codec.decodeRequest(bytes)
            if bytes.count <= Self.longest { keep(found, bytes) }
        }
        found.id = id
        return found
    }

    private mutating func keep(_ decoded: RequestHead, _ fields: Span<UInt8>) {
        rest.removeAll(keepingCapacity: true)
        for index in fields.indices { rest.append(fields[index]) }
        head = decoded
    }

    private static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}
