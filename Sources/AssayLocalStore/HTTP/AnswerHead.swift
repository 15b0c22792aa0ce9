/// The status of a backend's answer to a notification, read from the bytes that have arrived.
package enum AnswerHead: Equatable, Sendable {
    case needMore
    case status(Int)
    /// Not an answer of HTTP/1.
    case invalid

    /// Reads the first status that is final: interim answers (1xx) are skipped.
    package init(_ bytes: Span<UInt8>) {
        var start = 0
        while true {
            guard let end = Self.end(of: bytes, from: start) else {
                // A status line that is wrong is wrong before the head is complete.
                let isWrong =
                    Self.status(bytes, from: start, to: bytes.count) == nil
                    && bytes.count - start >= Self.lineLength
                let isLong = bytes.count - start > LocalStoreLimits.answerHeadBytes
                self = isWrong || isLong ? .invalid : .needMore
                return
            }
            guard let status = Self.status(bytes, from: start, to: end) else {
                self = .invalid
                return
            }
            guard (100...199).contains(status) else {
                self = .status(status)
                return
            }
            start = end
        }
    }

    /// Bytes of `HTTP/1.1 200`.
    private static let lineLength = 12

    /// The offset after the empty line.
    private static func end(of bytes: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        while index + 3 < bytes.count {
            if bytes[index] == 0x0D, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D,
                bytes[index + 3] == 0x0A
            {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    private static func status(_ bytes: Span<UInt8>, from start: Int, to end: Int) -> Int? {
        guard end - start >= lineLength else { return nil }
        var index = start
        for byte in "HTTP/1.".utf8 {
            guard bytes[index] == byte else { return nil }
            index += 1
        }
        guard bytes[index] == 0x30 || bytes[index] == 0x31, bytes[index + 1] == 0x20 else {
            return nil
        }
        var status = 0
        for offset in index + 2..<index + 5 {
            guard (0x30...0x39).contains(bytes[offset]) else { return nil }
            status = status * 10 + Int(bytes[offset] - 0x30)
        }
        if end > index + 5, bytes[index + 5] != 0x20, bytes[index + 5] != 0x0D { return nil }
        return (100...599).contains(status) ? status : nil
    }
}
