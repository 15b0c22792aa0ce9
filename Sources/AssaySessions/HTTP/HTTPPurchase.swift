import Assay
import AssayBytes
import AssayEntitlements
import AssayHTTP
import AssayModels
import AssayTelemetry
import AssayWire

/// The state of a purchase in OpenIAP's verification contract.
enum HTTPPurchaseState: String, Sendable {
    case entitled = "ENTITLED"
    case readyToConsume = "READY_TO_CONSUME"
    case expired = "EXPIRED"
    case canceled = "CANCELED"
    case inauthentic = "INAUTHENTIC"
    case unknown = "UNKNOWN"

    init(_ verification: Verification, at now: Timestamp) {
        guard case .transaction(let transaction)? = verification.evidence else {
            self = Self.isInauthentic(verification.verdict) ? .inauthentic : .unknown
            return
        }
        self.init(transaction.payload, verification, at: now)
    }

    /// Access is that of `/v1/entitlements`: the two never disagree about one token.
    private init(
        _ transaction: JWSTransactionDecodedPayload, _ verification: Verification,
        at now: Timestamp
    ) {
        if transaction.revocationDate != nil {
            self = .canceled
        } else if transaction.type == .consumable {
            self = .readyToConsume
        } else if transaction.isUpgraded == true {
            // Another subscription has replaced it.
            self = .expired
        } else if Entitlements(of: [EvidenceItem(verification)], at: now).entitlesToAny {
            // The app knows how long a subscription without renewal lasts.
            self = .entitled
        } else {
            self = transaction.expiresDate.map { $0 <= now } ?? false ? .expired : .unknown
        }
    }

    /// Whether the verdict says that there is no genuine signature.
    private static func isInauthentic(_ verdict: Verdict) -> Bool {
        switch verdict {
        case .malformed, .unsupportedAlgorithm, .untrustedChain, .invalidChain,
            .wrongCertificatePurpose, .certificateRevoked, .certificateExpired, .invalidSignature,
            .invalidDate:
            true
        case .valid, .wrongKind, .wrongBundle, .wrongApp, .wrongEnvironment, .mismatch: false
        }
    }

    var isValid: Bool { self == .entitled || self == .readyToConsume }
}

extension Entitlements {
    fileprivate var entitlesToAny: Bool {
        apps.contains { app in
            app.subscriptionGroups.contains(where: \.isEntitled)
                || app.nonConsumables.contains(where: \.isEntitled)
                || app.nonRenewing.contains(where: \.isEntitled)
        }
    }
}

extension Verification {
    /// The answer of OpenIAP's contract.
    func purchaseJSON(withPayload: Bool, at now: Timestamp) -> [UInt8] {
        let state = HTTPPurchaseState(self, at: now)
        var writer = JSONWriter(capacity: 256)
        writer.object { object in
            object.member("store", "apple")
            object.member("isValid", state.isValid)
            object.member("state", state.rawValue)
            if case .transaction(let transaction)? = evidence {
                object.member("productId", transaction.payload.productId)
            }
            object.member("environment", environment?.rawValue)
            // Not in the contract, whose clients ignore unknown members.
            if verdict != .valid { object.member("detail", detail) }
            if withPayload {
                for member in VerificationReport(self).members {
                    object.member("clientPayload", raw: member.text)
                }
            }
        }
        return writer.text
    }
}

extension HTTPProblem {
    /// The error of OpenIAP's contract.
    var purchaseJSON: [UInt8] {
        var writer = JSONWriter(capacity: 256)
        writer.object { object in
            object.array("errors") { list in
                list.object { error in
                    error.member("code", purchaseCode)
                    error.member("message", detail)
                    error.member("path", member)
                }
            }
        }
        return writer.text
    }

    private var purchaseCode: String {
        switch status {
        case 401: "MISSING_API_KEY"
        case 403 where code == .unauthenticated: "INVALID_API_KEY"
        case 400, 405, 413, 415: "INVALID_INPUT"
        case 429: "TOO_MANY_REQUESTS"
        default: code.name
        }
    }

    static let missingKey = HTTPProblem(
        401, .unauthenticated, "the request has no Authorization: Bearer KEY")

    static let invalidKey = HTTPProblem(403, .unauthenticated, "the API key is not known")

    static func invalidMember(_ name: String, _ detail: String) -> Self {
        var problem = HTTPProblem(400, .invalidArgument, detail)
        problem.member = name
        return problem
    }
}

/// The id that a client gives a request, for its own log; it returns in the response.
enum HTTPCorrelation {
    /// Characters of an id: those of UUIDs and of common tracing ids.
    private static let longest = 64

    /// The client's id, or a random one if it has none that is usable.
    static func id(_ value: Span<UInt8>?) -> String {
        if let value, (1...longest).contains(value.count), isUsable(value) { return value.httpText }
        return String(UInt64.random(in: .min ... .max), width: 16, radix: 16)
            + String(UInt64.random(in: .min ... .max), width: 16, radix: 16)
    }

    private static func isUsable(_ value: Span<UInt8>) -> Bool {
        for index in value.indices {
            switch value[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
                UInt8(ascii: "."):
                continue
            default: return false
            }
        }
        return true
    }
}
