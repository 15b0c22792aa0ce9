import AssayBytes
import AssayHTTP
import AssayModels

/// The store without a network, for fuzzing.
extension LocalStore {
    /// Answers one request, and lets time move without sending anything.
    ///
    /// - Returns: the status of the answer; nil for a method that the store does not have.
    package mutating func status(
        ofRequest method: String, path: String, query: Span<UInt8>, contentType: String,
        body: [UInt8], bundleId: String
    ) -> Int? {
        guard let method = StoreMethod(rawValue: method) else { return nil }
        let request = StoreRequest(
            method: method, path: path, query: HTTPQuery(query)?.parameters ?? [],
            contentType: contentType, authorization: Self.trialToken(bundleId, at: now.seconds),
            body: body,
            time: now.milliseconds)
        switch reply(to: request) {
        case .answer(let answer): return answer.status
        case .moving(let moved):
            while case .send(let id, _, _) = nextWork() { didSend(id, .socketIssue) }
            return answer(moved).status
        }
    }

    /// A token with a signature of the right length, for a store that accepts any key.
    static func trialToken(_ bundleId: String, at now: Int64) -> [UInt8] {
        var header = JSONWriter()
        header.object { object in
            object.member("alg", "ES256")
            object.member("kid", "TRIAL")
        }
        var claims = JSONWriter()
        claims.object { object in
            object.member("iss", "trial")
            object.member("aud", "appstoreconnect-v1")
            object.member("bid", bundleId)
            object.member("exp", now + 60)
        }
        let signature = [UInt8](repeating: 1, count: 64)
        let segments = [header.text, claims.text, signature].map { bytes in
            Base64URL.encode(bytes.span)
        }
        return Array("Bearer ".utf8) + segments.joined(separator: [UInt8(ascii: ".")])
    }
}
