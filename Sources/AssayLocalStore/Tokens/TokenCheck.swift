import Assay
import AssayBytes

/// Why the store does not accept a request's JSON Web Token. The client gets a bare 401, as from
/// Apple; the page shows the reason.
package enum TokenRefusal: Error, Hashable, CaseIterable, Sendable {
    /// No Authorization field with a Bearer token.
    case missing
    /// Not three segments of base64url with JSON objects in the first two.
    case malformed
    /// The header's alg is not ES256.
    case algorithm
    /// The header has no kid.
    case noKeyId
    /// No registered key has the header's kid.
    case unknownKey
    /// The signature does not match.
    case signature
    /// The audience is not appstoreconnect-v1.
    case audience
    /// No issuer, or another one than the registered.
    case issuer
    /// No exp, or one in the past.
    case expired
    /// The exp is more than 60 minutes after iat, or after now without one.
    case tooLong
    /// The iat is in the future.
    case notYet
    /// No bid.
    case noBundle

    /// One sentence.
    package var reason: String {
        switch self {
        case .missing: "no Authorization: Bearer TOKEN"
        case .malformed: "the token is not a JSON Web Token"
        case .algorithm: "the token's alg is not ES256"
        case .noKeyId: "the token has no kid"
        case .unknownKey: "no key is registered under the token's kid"
        case .signature: "the token's signature does not match its key"
        case .audience: "the token's aud is not appstoreconnect-v1"
        case .issuer: "the token's iss is not the registered issuer"
        case .expired: "the token has expired: check exp, and the clock"
        case .tooLong: "the token is valid for more than 60 minutes"
        case .notYet: "the token's iat is in the future: check the clock"
        case .noBundle: "the token has no bid"
        }
    }
}

/// Checks the JSON Web Tokens of requests.
package struct TokenCheck: Sendable {
    private let keys: [String: PublicKey]
    private let issuer: String?

    /// The longest validity that Apple accepts, in seconds.
    private static let longest: Int64 = 3600
    /// Seconds by which clocks may differ at the end of a token. At its beginning Apple allows
    /// none.
    private static let skew: Int64 = 60

    /// - Parameters:
    ///   - keys: the registered keys; empty for a development mode that accepts any key.
    ///   - issuer: the issuer id; nil accepts any.
    package init(keys: [APIKey], issuer: String?) {
        self.keys = Dictionary(keys.map { ($0.id, $0.key) }) { $1 }
        self.issuer = issuer
    }

    /// Whether any key is accepted.
    package var acceptsAnyKey: Bool { keys.isEmpty }

    /// Checks the value of an Authorization field.
    ///
    /// - Parameter now: seconds since 1970.
    /// - Returns: the bundle identifier of the token.
    package func bundleId(
        of authorization: [UInt8]?, now: Int64
    ) throws(TokenRefusal) -> String {
        let prefix = Array("Bearer ".utf8)
        guard let authorization, authorization.count <= LocalStoreLimits.tokenBytes,
            authorization.starts(with: prefix)
        else { throw .missing }
        let token = authorization[prefix.count...]
        let segments = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard segments.count == 3 else { throw .malformed }
        let header = try Self.object(segments[0])
        let claims = try Self.object(segments[1])
        try checkSignature(token, segments.map(Array.init), header)
        guard claims["aud"]?.string == "appstoreconnect-v1" else { throw .audience }
        guard let claimed = claims["iss"]?.string, issuer == nil || claimed == issuer else {
            throw .issuer
        }
        try Self.checkTimes(claims, now)
        guard let bundle = claims["bid"]?.string, !bundle.isEmpty else { throw .noBundle }
        return bundle
    }

    // MARK: Signatures of offers

    func admits(issuer name: String) -> Bool { issuer == nil || name == issuer }

    /// Checks the header and the signature of a JWS for StoreKit. Returns its claims.
    func claims(ofSignature text: String) throws(SignatureRefusal) -> JSONObject {
        let token = Array(text.utf8)[...]
        let segments = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard token.count <= LocalStoreLimits.bodyBytes, segments.count == 3 else {
            throw .malformed
        }
        do throws(TokenRefusal) {
            let header = try Self.object(segments[0])
            let claims = try Self.object(segments[1])
            guard header["typ"]?.string == "JWT" else { throw TokenRefusal.algorithm }
            try checkSignature(token, segments.map(Array.init), header)
            return claims
        } catch {
            switch error {
            case .algorithm: throw .algorithm
            case .noKeyId: throw .noKeyId
            case .unknownKey: throw .unknownKey
            case .signature: throw .signature
            default: throw .malformed
            }
        }
    }

    /// Checks a signature in DER.
    func checkSignature(
        _ signature: [UInt8], over text: [UInt8], by id: String
    ) throws(SignatureRefusal) {
        guard !acceptsAnyKey else {
            // SEQUENCE { r, s } of a curve of 256 bits.
            guard signature.first == 0x30, (8...72).contains(signature.count) else {
                throw .signature
            }
            return
        }
        guard let key = keys[id] else { throw .unknownKey }
        guard key.verifiesECDSA(signature.span, over: text.span, digest: .sha256) else {
            throw .signature
        }
    }

    private static func object(_ segment: ArraySlice<UInt8>) throws(TokenRefusal) -> JSONObject {
        let segment = Array(segment)
        guard let text = try? Base64URL.decode(segment.span),
            let document = try? JSONDocument.parse(text), let object = document.root.members
        else { throw .malformed }
        return object
    }

    private func checkSignature(
        _ token: ArraySlice<UInt8>, _ segments: [[UInt8]], _ header: JSONObject
    ) throws(TokenRefusal) {
        guard header["alg"]?.string == "ES256" else { throw .algorithm }
        guard let id = header["kid"]?.string, !id.isEmpty else { throw .noKeyId }
        let last = segments[2]
        guard let signature = try? Base64URL.decode(last.span) else { throw .malformed }
        guard !acceptsAnyKey else {
            guard signature.count == 64 else { throw .signature }
            return
        }
        guard let key = keys[id] else { throw .unknownKey }
        let signed = Array(token.prefix(segments[0].count + 1 + segments[1].count))
        guard key.verifiesES256(signature.span, over: signed.span) else { throw .signature }
    }

    private static func checkTimes(_ claims: JSONObject, _ now: Int64) throws(TokenRefusal) {
        guard let end = claims["exp"]?.int64, end > now - skew else { throw .expired }
        var start = now + skew
        if let issued = claims["iat"] {
            guard let time = issued.int64, time <= now else { throw .notYet }
            start = time
        }
        let validity = end.subtractingReportingOverflow(start)
        guard !validity.overflow, validity.partialValue <= longest else { throw .tooLong }
    }
}
