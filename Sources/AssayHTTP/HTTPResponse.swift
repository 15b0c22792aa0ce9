/// A response, whatever version of HTTP carries it. `HTTP1Writer` and `HTTP2Fields` write it.
package struct HTTPResponse: Sendable {
    package typealias Field = (name: String, value: String)

    package var status: Int
    /// The media type of the body; nil without a body.
    package var contentType: String?
    /// The fields that not every response has.
    package var fields: [Field]
    package var body: [UInt8]

    package init(
        _ status: Int, contentType: String? = "text/plain; charset=utf-8", fields: [Field] = [],
        body: [UInt8] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
    }

    /// The fields of every response: none may be kept by a cache, or taken for another type.
    static let everywhere: [Field] = [
        ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
    ]

    /// Whether it has a body, and the fields that describe it (RFC 9110, section 8.6).
    var canHaveBody: Bool { status != 204 }
}
