/// The last head of a connection that asked for a verification. A client asks for the same again
/// and again: only the id differs, and what follows it is compared instead of decoded.
///
/// Each connection has its own: none can fill it for another.
package struct RecentHead {
    private var head: RequestHead?
    /// The bytes of its fields after the id.
    private var rest: [UInt8] = []

    /// Longer heads, which have many expectations, are decoded.
    private static let longest = 256

    package init() {}

    /// Decodes the head of a request frame, as `codec` does.
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
        rest.removeAll(keepingCapacity: true)
        for index in fields.indices { rest.append(fields[index]) }
        head = decoded
        return decoded
    }

    private static func equal(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }
}
