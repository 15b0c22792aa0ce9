import AssayBytes

/// The protected header of a token (RFC 7515, 4). Tests can make every part invalid.
package struct MintedJWSHeader: Sendable {
    package var alg: String? = "ES256"
    /// The strings of `x5c`. Nil omits the member.
    package var x5c: [String]?
    /// Additional members as name and JSON value, written after those two.
    package var extraMembers: [(name: String, json: String)] = []
    /// Replaces the whole header, with bytes that need not be JSON.
    package var raw: [UInt8]?

    package init(certificates: [[UInt8]]) {
        x5c = certificates.map { String(decoding: Base64.encode($0.span), as: UTF8.self) }
    }

    package init(raw: [UInt8]) { self.raw = raw }

    /// The JSON text without white space, with its members in Apple's order.
    package var json: [UInt8] {
        if let raw { return raw }
        var members: [String] = []
        if let alg { members.append("\"alg\":\"\(alg)\"") }
        if let x5c {
            members.append("\"x5c\":[\(x5c.map { "\"\($0)\"" }.joined(separator: ","))]")
        }
        members += extraMembers.map { "\"\($0.name)\":\($0.json)" }
        return Array("{\(members.joined(separator: ","))}".utf8)
    }
}
