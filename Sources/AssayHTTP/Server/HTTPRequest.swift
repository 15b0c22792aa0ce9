import AssayBytes

/// A request to an `HTTPServer`.
package struct HTTPRequest: Sendable {
    package var method: HTTPHead.Method
    /// The path as sent, without its query. Percent escapes are not decoded.
    package var path: String
    /// The bytes after the question mark; nil without one.
    package var query: [UInt8]?
    package var source: HTTPOriginPolicy.Source
    package var contentType: String?
    package var authorization: String?
    package var accept: String?
    /// Nil before the body has arrived.
    package var body: [UInt8]?

    package init(method: HTTPHead.Method, path: String, host: String? = nil) {
        self.method = method
        self.path = path
        source = .init(
            host: host, origin: nil, fetchSite: nil, isReading: method == .get || method == .head)
    }

    init(_ head: HTTPHead, _ bytes: Span<UInt8>) {
        method = head.method
        path = bytes.extracting(head.path).httpText
        query = head.query.map { bytes.extracting($0).array }
        source = .init(head, bytes)
        contentType = head[.contentType].map { bytes.extracting($0).httpText }
        accept = head[.accept].map { bytes.extracting($0).httpText }
        authorization = head[.authorization].map { bytes.extracting($0).httpText }
    }
}
