/// Writes frames.
package enum FrameWriter {
    /// Appends a frame.
    package static func append(head: Span<UInt8>, body: Span<UInt8>, to output: inout [UInt8]) {
        appendPrefix(headBytes: head.count, bodyBytes: body.count, to: &output)
        append(head, to: &output)
        append(body, to: &output)
    }

    /// Appends the two length fields that precede a head. The caller appends or sends head and
    /// body.
    package static func appendPrefix(headBytes: Int, bodyBytes: Int, to output: inout [UInt8]) {
        precondition(
            headBytes >= 0 && bodyBytes >= 0 && 4 + headBytes + bodyBytes <= Int(UInt32.max),
            "a frame's length has 32 bits")
        appendBigEndian(UInt32(4 + headBytes + bodyBytes), to: &output)
        appendBigEndian(UInt32(headBytes), to: &output)
    }

    private static func appendBigEndian(_ value: UInt32, to output: inout [UInt8]) {
        for shift: UInt32 in [24, 16, 8, 0] { output.append(UInt8(value >> shift & 0xff)) }
    }

    private static func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
        output.reserveCapacity(output.count + bytes.count)
        for index in bytes.indices { output.append(bytes[index]) }
    }
}
