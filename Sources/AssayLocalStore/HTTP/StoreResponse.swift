import Assay

/// Writes answers as HTTP/1.1.
enum StoreResponse {
    static let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// - Parameters:
    ///   - closes: whether the connection ends after the answer.
    ///   - isHead: whether the request is HEAD: the answer has no body.
    static func bytes(_ answer: StoreAnswer, closes: Bool, isHead: Bool = false) -> [UInt8] {
        var head = "HTTP/1.1 \(answer.status) \(reason(answer.status))\r\n"
        if !answer.body.isEmpty { head += "Content-Type: \(answer.type)\r\n" }
        head += "Content-Length: \(answer.body.count)\r\n"
        head += "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
        if answer.type.hasPrefix("text/html") {
            head +=
                "Content-Security-Policy: default-src 'none'; style-src \(StoreStyle.source); "
                + "form-action 'self'; frame-ancestors 'none'\r\n"
        }
        for (name, value) in answer.fields { head += "\(name): \(value)\r\n" }
        if closes { head += "Connection: close\r\n" }
        return Array((head + "\r\n").utf8) + (isHead ? [] : answer.body)
    }

    /// The reason phrase (RFC 9110, section 15).
    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 303: "See Other"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
