import AssayBytes

/// What the bytes of a peer say.
package enum HTTP2Event: Sendable {
    /// The head of a request.
    case head(stream: Int32, HTTP2Head)
    /// A head that no request can have, of a stream that was reset.
    case refusedHead(HTTPFault)
    /// Data of a request: a range of the received bytes.
    case data(stream: Int32, Range<Int>)
    /// The request is complete.
    case end(stream: Int32)
    /// The stream has ended. By the peer's reset or an error, if its code is not 0.
    case closed(stream: Int32, code: UInt32)
    /// The peer has received what was sent before `HTTP2Connection.ping`.
    case pong
}

/// The head of a request, which requests with the same bytes share. It is as large as thirty
/// events, so it has memory of its own: 32 KB of data are up to 3,000 events.
package final class HTTP2Head: Sendable {
    package let head: HTTPHead
    /// The values of the fields, at the positions that `head` has.
    package let bytes: [UInt8]
    /// Why the head is above a limit; its fields end there.
    package let fault: HTTPFault?

    init(_ head: HTTPHead, _ bytes: [UInt8], _ fault: HTTPFault?) {
        self.head = head
        self.bytes = bytes
        self.fault = fault
    }
}

/// Why a connection of HTTP/2 can't go on.
package struct HTTP2Fault: Error, Equatable, CustomStringConvertible {
    /// nghttp2's code.
    package let code: Int32
    package let description: String
}

/// A block of fields while it arrives: the head of a request, or its trailers, which have the same
/// limit and no meaning here.
struct HTTP2HeadBuilder {
    private let limits: HTTP2Limits
    private let isHead: Bool
    private var head = HTTPHead()
    private var bytes: [UInt8] = []
    /// The size of the fields as RFC 9113, section 6.5.2, counts it.
    private(set) var listBytes = 0
    /// Why no request has this block.
    var fault: HTTPFault?

    init(_ limits: HTTP2Limits, isHead: Bool) {
        self.limits = limits
        self.isHead = isHead
    }

    /// Adds a field. Those above the limit are counted and dropped.
    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        listBytes += HTTP2Limits.listBytes(name, value)
        guard listBytes <= limits.headListBytes else {
            fault = fault ?? .headTooLarge(limit: limits.headListBytes)
            return
        }
        guard isHead, fault == nil else { return }
        let range = bytes.count..<bytes.count + value.count
        unsafe value.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
        guard name.count > 0 else { return }
        if name[0] == UInt8(ascii: ":") {
            addPseudo(name, value, range)
        } else if let field = HTTPField.named(name) {
            // nghttp2 has refused connection-specific fields, and a second Content-Length.
            if field == .host, let authority = head[.host] {
                // One name, or two that differ: nothing decides which is meant.
                if !bytes[authority].elementsEqual(bytes[range]) { fault = .repeatedField(field) }
                return
            }
            if !head.add(field, at: range) { fault = .repeatedField(field) }
            if field == .contentLength, let length = Int(value.httpText) {
                head.body = .length(length)
            }
        }
    }

    private mutating func addPseudo(
        _ name: Span<UInt8>, _ value: Span<UInt8>, _ range: Range<Int>
    ) {
        if name.equals((":method" as StaticString).bytes) {
            head.method = HTTPHead.Method(named: value)
        } else if name.equals((":authority" as StaticString).bytes) {
            if limits.needsHost, !HTTPHost.isValid(value) { fault = .invalidHost }
            head[.host] = range
        } else if name.equals((":path" as StaticString).bytes) {
            let limit = HTTPLimits().targetBytes
            if value.count > limit { fault = .targetTooLong(limit: limit) }
            let mark = value.firstIndex(of: UInt8(ascii: "?"), from: 0)
            head.path = range.lowerBound..<range.lowerBound + (mark ?? value.count)
            if let mark { head.query = range.lowerBound + mark + 1..<range.upperBound }
        }
    }

    /// What the block says; nil for trailers within their limit.
    ///
    /// - Parameter ends: whether the request has no body.
    func finish(ends: Bool, stream: Int32) -> HTTP2Event? {
        if let fault, !isHead || fault.status == 400 { return .refusedHead(fault) }
        guard isHead else { return nil }
        var head = head
        if ends {
            head.body = .length(0)
        } else if head[.contentLength] == nil {
            // Of unknown size, as a chunked body is.
            head.body = .chunked
        }
        return .head(stream: stream, HTTP2Head(head, bytes, fault))
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
