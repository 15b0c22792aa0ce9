import AssayBytes
import AssayLocks

/// The public keys with which Google signs the OIDC tokens of Pub/Sub pushes: a JWK Set (RFC 7517),
/// as https://www.googleapis.com/oauth2/v3/certs has it. Google changes the keys every few days,
/// so `replace(_:)` takes the next set while threads verify by this one.
public final class PushKeys: Sendable {
    private let keys: Locked<[String: Entry]>

    /// A key of the set, by its `kid`.
    enum Entry: Sendable {
        case usable(RSAPublicKey)
        /// Why it is not used.
        case unusable(String)
    }

    /// Creates a set without keys, by which no token is accepted.
    public init() { keys = Locked([:]) }

    /// Reads a JWK Set.
    public convenience init(_ text: [UInt8]) throws(PushKeysError) {
        self.init()
        try replace(text)
    }

    /// Takes the keys of a JWK Set in the place of all earlier ones. An error changes nothing.
    public func replace(_ text: [UInt8]) throws(PushKeysError) {
        let new = try Self.read(text)
        keys.withLock { $0 = new }
    }

    /// The names (`kid`) of the keys that are used, in order.
    public var names: [String] {
        keys.withLock { keys in
            keys.compactMap { name, entry in
                if case .usable = entry { name } else { nil }
            }
        }.sorted()
    }

    /// The key of this name; nil if the set has none.
    func entry(_ name: String) -> Entry? { keys.withLock { $0[name] } }

    private static func read(_ text: [UInt8]) throws(PushKeysError) -> [String: Entry] {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument.parse(text, limit: Limits.pushKeysBytes)
        } catch {
            throw .notASet("it is not valid JSON: \(error)")
        }
        guard let members = document.root["keys"]?.elements else {
            throw .notASet("it has no array \"keys\"")
        }
        var entries: [String: Entry] = [:]
        for key in members {
            guard let name = key["kid"]?.string, !name.isEmpty else { continue }
            // A token's kid has to name one key.
            guard entries[name] == nil else { throw .notASet("two keys have the kid \"\(name)\"") }
            guard entries.count < Limits.pushKeys else {
                throw .notASet("it has more than \(Limits.pushKeys) keys")
            }
            entries[name] = try entry(key)
        }
        let isUsable = entries.values.contains { if case .usable = $0 { true } else { false } }
        guard isUsable else {
            let reasons = entries.values.compactMap {
                if case .unusable(let reason) = $0 { reason } else { nil }
            }
            throw .noKey(reasons.min())
        }
        return entries
    }

    private static func entry(_ key: JSONValue) throws(PushKeysError) -> Entry {
        for name in ["d", "p", "q", "dp", "dq", "qi", "k"] where key.hasMember(name) {
            throw .privateKey
        }
        guard key["kty"]?.equals("RSA") == true else { return .unusable("it is not an RSA key") }
        if let use = key["use"], !use.equals("sig") {
            return .unusable("its use is not sig")
        }
        if let algorithm = key["alg"], !algorithm.equals("RS256") {
            return .unusable("its alg is not RS256")
        }
        guard let modulus = octets(key["n"]), let exponent = octets(key["e"]) else {
            return .unusable("its n or e is not base64url")
        }
        guard
            let key = RSAPublicKey(
                modulus: modulus.span, exponent: exponent.span,
                smallestBits: Limits.smallestRSAKeyBits)
        else {
            let bits = modulus.count * 8 - (modulus.first ?? 0).leadingZeroBitCount
            return .unusable(
                PurchaseKeyError.unsupportedSize(bits: max(bits, 0), hasException: false).message)
        }
        return .usable(key)
    }

    private static func octets(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.string else { return nil }
        return try? Base64URL.decode(Array(text.utf8).span)
    }
}

/// The pushes of Google Play's notifications that an operator accepts for one app. All three are
/// needed: every customer of Google's can have a token signed for any audience.
public struct PushPolicy: Sendable, Equatable {
    /// Google's keys; nil accepts no push.
    public var keys: PushKeys?
    /// The audiences of the push subscription, one of which the token has to name.
    public var audiences: [String]
    /// The e-mail addresses of the service accounts that push.
    public var serviceAccounts: [String]

    /// Creates a policy. By default it accepts no push.
    public init(
        keys: PushKeys? = nil, audiences: [String] = [], serviceAccounts: [String] = []
    ) {
        self.keys = keys
        self.audiences = audiences
        self.serviceAccounts = serviceAccounts
    }

    public static func == (left: Self, right: Self) -> Bool {
        left.keys === right.keys && left.audiences == right.audiences
            && left.serviceAccounts == right.serviceAccounts
    }
}
