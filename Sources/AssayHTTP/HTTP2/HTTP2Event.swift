import AssayBytes

/// What the bytes of a peer say.
package enum HTTP2Event: Sendable {
    /// The head of a request. Its positions are in these bytes. It is as large as thirty other
    /// events, so it has memory of its own: 32 KB of data are up to 3,000 events.
    indirect case head(stream: Int32, HTTPHead, [UInt8])
    /// Data of a request: a range of the received bytes.
    case data(stream: Int32, Range<Int>)
    /// The request is complete.
    case end(stream: Int32)
    /// The stream has ended. By the peer's reset or an error, if its code is not 0.
    case closed(stream: Int32, code: UInt32)
    /// The peer has received what was sent before `HTTP2Connection.ping`.
    case pong
}

/// Why a connection of HTTP/2 can't go on.
package struct HTTP2Fault: Error, Equatable, CustomStringConvertible {
    /// nghttp2's code.
    package let code: Int32
    package let description: String
}

/// A request's head while its fields arrive.
struct HTTP2HeadBuilder {
    private var head = HTTPHead()
    private var bytes: [UInt8] = []
    private var listBytes = 0
    private var hasMethod = false
    private var fault = false

    /// Adds a field. Returns false if the head is above the limit.
    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>, limit: Int) -> Bool {
        // RFC 9113, section 6.5.2.
        listBytes += name.count + value.count + 32
        guard listBytes <= limit else { return false }
        let range = bytes.count..<bytes.count + value.count
        unsafe value.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        guard name.count > 0 else { return true }
        if name[0] == UInt8(ascii: ":") {
            addPseudo(name, value, range)
        } else if let field = HTTPField.named(name) {
            // nghttp2 has refused connection-specific fields, and a second Content-Length.
            if field == .host, let authority = head[.host] {
                // One name, or two that differ: nothing decides which is meant.
                if !bytes[authority].elementsEqual(bytes[range]) { fault = true }
                return true
            }
            if head[field] != nil { fault = true }
            head[field] = range
            if field == .contentLength, let length = Int(value.httpText) {
                head.body = .length(length)
            }
        }
        return true
    }

    private mutating func addPseudo(
        _ name: Span<UInt8>, _ value: Span<UInt8>, _ range: Range<Int>
    ) {
        if name.equals(":method") {
            head.method = HTTPHead.Method(named: value)
        } else if name.equals(":authority") {
            if !HTTPHost.isValid(value) { fault = true }
            head[.host] = range
        } else if name.equals(":path") {
            let mark = value.firstIndex(of: UInt8(ascii: "?"), from: 0)
            head.path = range.lowerBound..<range.lowerBound + (mark ?? value.count)
            if let mark { head.query = range.lowerBound + mark + 1..<range.upperBound }
        }
    }

    /// The head, and the bytes of its positions; nil for one that no request can have.
    ///
    /// - Parameter ends: whether the request has no body.
    func finish(ends: Bool) -> (HTTPHead, [UInt8])? {
        guard !fault else { return nil }
        var head = head
        if ends {
            head.body = .length(0)
        } else if head[.contentLength] == nil {
            // Of unknown size, as a chunked body is.
            head.body = .chunked
        }
        return (head, bytes)
    }
}

/// Whether bytes begin with the preface of HTTP/2 (RFC 9113, section 3.4), which no request of
/// HTTP/1.1 does.
package enum HTTP2Preface: Sendable {
    case none, incomplete, complete

    package init(_ bytes: Span<UInt8>) {
        let preface = HTTP2Connection.preface
        for index in 0..<min(bytes.count, preface.count) where bytes[index] != preface[index] {
            self = .none
            return
        }
        self = bytes.count < preface.count ? .incomplete : .complete
    }
}
