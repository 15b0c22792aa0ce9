/// The head of an answer without a body, encoded but for its id.
public struct PreparedAnswer: Sendable {
    /// All fields but the first, which is the id.
    private let rest: [UInt8]

    public init(_ head: ResponseHead, by codec: MessageCodec) {
        var encoded: [UInt8] = []
        codec.encode(head, into: &encoded)
        rest = Array(encoded.dropFirst(1 + Self.varintBytes(head.id)))
    }

    /// Appends the frame of the answer to that request.
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
