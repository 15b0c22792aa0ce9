/// The head of a response without a body, encoded except for its id.
package struct PreparedAnswer: Sendable {
    /// All encoded fields after the first, which is the id.
    private let rest: [UInt8]

    /// Encodes the head once.
    package init(_ head: ResponseHead, by codec: MessageCodec) {
        var encoded: [UInt8] = []
        codec.encode(head, into: &encoded)
        rest = Array(encoded.dropFirst(1 + MessageWriter.varintBytes(head.id)))
    }

    /// Appends the response frame for the request with this id.
    package func append(answering id: UInt64, to output: inout [UInt8]) {
        FrameWriter.appendPrefix(
            headBytes: 1 + MessageWriter.varintBytes(id) + rest.count, bodyBytes: 0, to: &output)
        output.append(MessageCodec.idTag)
        var left = id
        while left >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        output.append(UInt8(left))
        output.append(contentsOf: rest)
    }
}
