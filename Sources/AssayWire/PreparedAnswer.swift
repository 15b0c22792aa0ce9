/// The head of a response without a body, encoded except for its id.
public struct PreparedAnswer: Sendable {
    /// All encoded fields after the first, which is the id.
    private let rest: [UInt8]

    /// Encodes the head once.
    public init(_ head: ResponseHead, by codec: MessageCodec) {
        var encoded: [UInt8] = []
        codec.encode(head, into: &encoded)
        rest = Array(encoded.dropFirst(1 + Self.varintBytes(head.id)))
    }

    /// Appends the response frame for the request with this id.
    public func append(answering id: UInt64, to output: inout [UInt8]) {
        FrameWriter.appendPrefix(
            headBytes: 1 + Self.varintBytes(id) + rest.count, bodyBytes: 0, to: &output)
        output.append(MessageCodec.idTag)
        var left = id
        while left >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: left) | 0x80)
            left >>= 7
        }
        output.append(UInt8(left))
        output.append(contentsOf: rest)
    }

    private static func varintBytes(_ value: UInt64) -> Int {
        max(1, (UInt64.bitWidth - value.leadingZeroBitCount + 6) / 7)
    }
}
