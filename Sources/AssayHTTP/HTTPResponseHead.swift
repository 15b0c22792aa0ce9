/// The head of a response of HTTP/1.1, as a client needs it that sends many requests: the status,
/// and where the response ends.
package struct HTTPResponseHead: Equatable, Sendable {
    package let status: Int
    /// Bytes of the head, with the empty line at its end.
    package let headBytes: Int
    /// Bytes of the body that follows.
    package let bodyBytes: Int

    /// The result of reading the bytes of a connection.
    package enum Reading: Equatable, Sendable {
        case head(HTTPResponseHead)
        case incomplete
        /// No response, or one without `Content-Length`; the value says what is wrong.
        case fault(String)
    }

    /// The largest head. The server's own have a few hundred bytes.
    private static let limit = 16 << 10

    /// Reads the head with which bytes begin.
    package static func read(_ bytes: Span<UInt8>) -> Reading {
        let prefix = Array("HTTP/1.1 ".utf8)
        for index in 0..<min(bytes.count, prefix.count) where bytes[index] != prefix[index] {
            return .fault("the answer is not HTTP/1.1")
        }
        guard let end = endOfHead(bytes) else {
            return bytes.count > limit ? .fault("a head above \(limit) bytes") : .incomplete
        }
        guard let status = number(bytes, from: prefix.count), (100...599).contains(status) else {
            return .fault("a response without a status")
        }
        guard let length = contentLength(bytes.extracting(..<end)) else {
            return .fault("a response without Content-Length, with the status \(status)")
        }
        return .head(HTTPResponseHead(status: status, headBytes: end, bodyBytes: length))
    }

    private static func endOfHead(_ bytes: Span<UInt8>) -> Int? {
        let last = min(bytes.count, limit)
        var index = 3
        while index < last {
            if bytes[index] == .lineFeed, bytes[index - 1] == .carriageReturn,
                bytes[index - 2] == .lineFeed, bytes[index - 3] == .carriageReturn
            {
                return index + 1
            }
            index += 1
        }
        return nil
    }

    private static func contentLength(_ head: Span<UInt8>) -> Int? {
        let name = "content-length:"
        var lines = HTTPLines(head, 0..<head.count)
        while case let line = lines.next(), !line.isEmpty {
            guard line.count > name.utf8.count else { continue }
            let given = head.extracting(line.lowerBound..<line.lowerBound + name.utf8.count)
            guard given.equalsLowercase(name) else { continue }
            var digits = line.lowerBound + name.utf8.count
            while digits < line.upperBound, head[digits].isBlank { digits += 1 }
            return number(head, from: digits)
        }
        return nil
    }

    /// The decimal number at a position, of at most nine digits; nil without one.
    private static func number(_ bytes: Span<UInt8>, from start: Int) -> Int? {
        var (number, index) = (0, start)
        while index < bytes.count, (0x30...0x39).contains(bytes[index]), index - start < 10 {
            number = number * 10 + Int(bytes[index]) - 0x30
            index += 1
        }
        return index > start && index - start < 10 ? number : nil
    }
}
