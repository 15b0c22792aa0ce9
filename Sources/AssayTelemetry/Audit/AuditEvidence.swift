import AssayBytes
package import AssayModels

/// Evidence in the form in which the audit keeps it. None that can contain a secret is made into
/// text.
package enum AuditEvidence: Sendable {
    case text(String)
    /// Octets that are no text, in Base64.
    case encoded([UInt8])
    case omitted(Reason)

    /// Why evidence is not in its line.
    package enum Reason: String, Sendable {
        /// It is above the limit, or was verified as it arrived and not kept.
        case size
        /// A version 1 notification contains the app's shared secret.
        case secret
        /// It was not read as its kind. It can be anything that a client sent to the wrong place:
        /// a form with a password, a head with a key, encoded once more.
        case unread
    }

    /// - Parameters:
    ///   - verdict: what its verification found.
    ///   - kinds: what the caller named and what was detected.
    package init(_ bytes: Span<UInt8>, _ verdict: Verdict, as kinds: EvidenceKind...) {
        guard bytes.count <= AuditLimits.evidenceBytes else {
            self = .omitted(.size)
            return
        }
        // Other JSON with this member is mostly a version 1 notification under a wrong name.
        guard !kinds.contains(.notificationV1), !bytes.containsPassword else {
            self = .omitted(.secret)
            return
        }
        guard verdict != .malformed, verdict != .wrongKind else {
            self = .omitted(.unread)
            return
        }
        self =
            String(validating: bytes.array, as: UTF8.self).map { .text($0) }
            ?? .encoded(Base64.encode(bytes))
    }

    /// Bytes that its line needs for it, unless characters are escaped.
    var bytes: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .encoded(let text): text.count
        case .omitted: 0
        }
    }

    func write(to line: inout JSONWriter) {
        switch self {
        case .text(let text): line.member("evidence", text)
        case .encoded(let text):
            line.member("evidenceBase64", String(decoding: text, as: UTF8.self))
        case .omitted(let reason): line.member("evidenceOmitted", reason.rawValue)
        }
    }
}

extension Span<UInt8> {
    /// Whether there is the member with the shared secret, also with escapes and in JSON within a
    /// string of JSON. Tokens and Base64 have no quotes, so for most evidence there is nothing to
    /// compare.
    fileprivate var containsPassword: Bool {
        var start = 0
        while let quote = firstIndex(of: UInt8(ascii: "\""), from: start) {
            start = quote + 1
            if isPasswordName(at: start) { return true }
        }
        return false
    }

    private func isPasswordName(at start: Int) -> Bool {
        let name: StaticString = "password"
        var next = start
        for index in name.bytes.indices {
            guard let byte = escapedByte(at: &next), byte == name.bytes[index] else { return false }
        }
        while next < count, self[next] == UInt8(ascii: "\\") { next += 1 }
        return next < count && self[next] == UInt8(ascii: "\"")
    }

    /// The byte here, or that of an escape such as `\u0070`. Nil at the end, and for others.
    private func escapedByte(at next: inout Int) -> UInt8? {
        guard next < count else { return nil }
        guard self[next] == UInt8(ascii: "\\") else {
            next += 1
            return self[next - 1]
        }
        while next < count, self[next] == UInt8(ascii: "\\") { next += 1 }
        guard next + 5 <= count, self[next] == UInt8(ascii: "u") else { return nil }
        defer { next += 5 }
        return hexadecimal4(at: next + 1).flatMap { UInt8(exactly: $0) }
    }
}
