import AssayBytes
import AssayIO

/// A site's answer to a request.
package struct HTTPAnswer: Sendable {
    package var status: Int
    package var contentType: String
    /// Further fields.
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        _ status: Int, contentType: String = "text/plain; charset=utf-8",
        fields: [(name: String, value: String)] = [], body: [UInt8]
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
    }
}

extension HTTPAnswer {
    /// Asks the client to send the body.
    package static let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// The bytes of the response.
    ///
    /// - Parameters:
    ///   - closes: whether the connection ends after the answer.
    ///   - isHead: whether the request is HEAD: the response has no body.
    func bytes(closes: Bool, isHead: Bool) -> [UInt8] {
        var bytes = Array("HTTP/1.1 \(status) \(HTTPStatus.reason(status))\r\nDate: ".utf8)
        HTTPDate.append(secondsSince1970: SystemClock.wallMilliseconds / 1000, to: &bytes)
        var head = "\r\n"
        if !body.isEmpty { head += "Content-Type: \(contentType)\r\n" }
        head += "Content-Length: \(body.count)\r\n"
        head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if closes { head += "Connection: close\r\n" }
        bytes += (head + "\r\n").utf8
        return isHead ? bytes : bytes + body
    }
}
