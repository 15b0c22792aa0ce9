import AssayBytes
import AssayModels

/// The OIDC token of a Pub/Sub push (RFC 7519): a JWT by RS256 with a signature that nobody has
/// checked.
struct UnverifiedPushToken: Sendable {
    fileprivate let keyName: String
    fileprivate let claims: JSONDocument
    private let digest: [UInt8]
    private let signature: [UInt8]

    /// Checks everything that needs no key.
    init(_ token: [UInt8], log: CheckLog?) throws(Refusal) {
        log?.begin(.segments, found: "\(token.count) characters")
        guard !token.isEmpty else {
            throw Refusal(
                .malformed,
                "the authorization has no token: turn authentication on for the push subscription")
        }
        let segments = try JWSSegments(token.span)
        claims = try JSONDocument.payload(
            try Base64URL.segment(token.span.extracting(segments.payload), named: "payload"),
            named: "payload")
        signature = try Base64URL.segment(
            token.span.extracting(segments.signature), named: "signature")
        log?.begin(.header, found: "\(segments.header.count) characters")
        let header = try JSONDocument.payload(
            try Base64URL.segment(token.span.extracting(segments.header), named: "header"),
            named: "header")
        try JWSHeader.checkExtensions(header.root)
        log?.begin(.algorithm, found: quoted(header.root["alg"]?.string), expected: "RS256")
        // The only one, whatever key has the name: a public key is no secret for HS256.
        guard header.root["alg"]?.equals("RS256") == true else {
            throw Refusal(.unsupportedAlgorithm, "the token's alg is not RS256")
        }
        guard let name = header.root["kid"]?.string else {
            throw Refusal(.malformed, "the token's header names no key (kid)")
        }
        keyName = name
        digest =
            SHA256.digest(token.span.extracting(0..<segments.payload.upperBound))
            .octets.span.array
    }

    /// Checks the signature under the key that the token names.
    fileprivate func checkSignature(_ keys: PushKeys?, log: CheckLog?) throws(Refusal) {
        let names = keys?.names ?? []
        log?.begin(
            .tokenKey, found: quoted(keyName),
            expected: names.isEmpty ? nil : names.prefix(8).joined(separator: ", "))
        guard let entry = keys?.entry(keyName) else {
            throw Refusal(
                .untrustedChain,
                names.isEmpty
                    ? "no JWK Set of Google is configured: add jwks in [app.google], or "
                        + "--google-jwks"
                    : "the token's key \(quoted(keyName)) is not in the JWK Set: fetch it again")
        }
        switch entry {
        case .unusable(let reason):
            throw Refusal(
                .unsupportedAlgorithm, "the token's key \(quoted(keyName)) is not used: \(reason)")
        case .usable(let key):
            log?.begin(.tokenSignature, expected: RSAScheme.pkcs1(.sha256).name)
            guard
                key.verifies(
                    signature: signature.span, overDigest: digest.span, algorithm: .sha256)
            else {
                throw Refusal(
                    .invalidSignature,
                    "the token's signature does not verify with the key \(quoted(keyName))")
            }
        }
    }
}

/// A token whose signature holds, which Google issued for this operator, and which has not expired.
struct VerifiedPushToken: Sendable {
    init(
        _ token: UnverifiedPushToken, _ policy: PushPolicy, at now: Timestamp, log: CheckLog?
    ) throws(Refusal) {
        try token.checkSignature(policy.keys, log: log)
        let claims = token.claims.root
        try Self.checkIssuer(claims, log)
        try Self.checkAudience(claims, policy.audiences, log)
        try Self.checkSender(claims, policy.serviceAccounts, log)
        try Self.checkDates(claims, now, log)
    }

    private static let issuers = ["https://accounts.google.com", "accounts.google.com"]

    private static func checkIssuer(_ claims: JSONValue, _ log: CheckLog?) throws(Refusal) {
        let issuer = claims["iss"]?.string
        log?.begin(.tokenIssuer, found: quoted(issuer), expected: issuers[0])
        guard let issuer, issuers.contains(where: issuer.equalsByBytes) else {
            throw Refusal(
                .untrustedChain, "the token's issuer is \(quoted(issuer)), not \(issuers[0])")
        }
    }

    private static func checkAudience(
        _ claims: JSONValue, _ accepted: [String], _ log: CheckLog?
    ) throws(Refusal) {
        // RFC 7519 allows a list. Google writes a string.
        let audiences =
            claims["aud"]?.elements.map { $0.compactMap(\.string) }
            ?? [claims["aud"]?.string].compactMap(\.self)
        log?.begin(
            .tokenAudience, found: audiences.prefix(4).map(quoted).joined(separator: ", "),
            expected: accepted.map(quoted).joined(separator: ", "))
        guard !accepted.isEmpty else {
            throw Refusal(
                .untrustedChain,
                "no audience is configured: add audiences in [app.google], or --google-audience")
        }
        guard audiences.contains(where: { accepted.contains(where: $0.equalsByBytes) }) else {
            throw Refusal(
                .untrustedChain,
                "the token's audience is \(quoted(audiences.first)), not \(quoted(accepted[0]))")
        }
    }

    private static func checkSender(
        _ claims: JSONValue, _ accepted: [String], _ log: CheckLog?
    ) throws(Refusal) {
        let email = claims["email"]?.string
        log?.begin(
            .tokenSender, found: quoted(email),
            expected: accepted.map(quoted).joined(separator: ", "))
        guard !accepted.isEmpty else {
            throw Refusal(
                .untrustedChain,
                "no service account is configured: add service-accounts in [app.google], or "
                    + "--google-service-account")
        }
        guard let email, accepted.contains(where: email.equalsByBytes) else {
            throw Refusal(
                .untrustedChain,
                "the token is of \(quoted(email)), not of \(quoted(accepted[0]))")
        }
        guard claims["email_verified"]?.bool == true else {
            throw Refusal(.untrustedChain, "the token's e-mail address is not verified")
        }
    }

    /// Compares `exp` and `iat`, and `nbf` if there is one.
    private static func checkDates(
        _ claims: JSONValue, _ now: Timestamp, _ log: CheckLog?
    ) throws(Refusal) {
        log?.begin(
            .tokenDates, found: "\(text(claims["iat"])) to \(text(claims["exp"]))",
            expected: now.rfc3339)
        guard let issued = seconds(claims["iat"]), let end = seconds(claims["exp"]) else {
            throw Refusal(.invalidDate, "the token has no iat or no exp")
        }
        let skew = Limits.clockSkewMilliseconds / 1000
        guard issued <= now.seconds + skew, issued < end else {
            throw Refusal(
                .invalidDate,
                "the token is of \(text(claims["iat"])), in the future or after its end")
        }
        if let start = claims["nbf"] {
            guard let start = seconds(start), start <= now.seconds + skew else {
                throw Refusal(.invalidDate, "the token is not valid yet (nbf)")
            }
        }
        guard now.seconds < end + skew else {
            throw Refusal(
                .invalidDate,
                "the token expired at \(text(claims["exp"])): verify a push when it arrives")
        }
    }

    /// A date of four-digit years, which no sum overflows.
    private static func seconds(_ value: JSONValue?) -> Int64? {
        guard let number = value?.number, CivilTime.seconds.contains(number.floor) else {
            return nil
        }
        return number.floor
    }

    private static func text(_ value: JSONValue?) -> String {
        seconds(value).map { Timestamp(milliseconds: $0 * 1000).rfc3339 } ?? "no date"
    }
}
