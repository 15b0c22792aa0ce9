/// Finds HEADERS with the number of a stream that the peer has passed over. Such a stream is closed
/// since the peer opened a later one (RFC 9113, section 5.1.1), and its use is an error of the
/// connection, as is PRIORITY on stream 0 (section 6.3). nghttp2 1.52 ignores both.
///
/// HEADERS of a stream that was open are trailers, or were sent before the peer knew its end:
/// nghttp2 decides about those.
struct HTTP2StreamOrder {
    private var last: Int32 = -1
    /// The numbers that the peer has passed over, in ranges of odd numbers. Clients count up and
    /// pass over none, or a few that they gave up; older ones than these are ignored.
    private var skipped: [ClosedRange<Int32>] = []

    private static let rangesKept = 16

    /// Reads the head of a frame. Returns whether it is an error of the connection.
    mutating func isBroken(byType type: UInt8, on stream: Int32) -> Bool {
        switch type {
        case Self.priority: return stream == 0
        case Self.headers: return !opens(stream)
        default: return false
        }
    }

    /// Returns false for a stream that was passed over. nghttp2 refuses even numbers.
    private mutating func opens(_ stream: Int32) -> Bool {
        guard stream > last else { return !skipped.contains { $0.contains(stream) } }
        guard stream & 1 == 1 else { return true }
        if stream > last + 2 {
            if skipped.count == Self.rangesKept { skipped.removeFirst() }
            skipped.append(last + 2...stream - 2)
        }
        last = stream
        return true
    }

    private static let headers: UInt8 = 1
    private static let priority: UInt8 = 2
}
