import AssayBytes
import AssayHTTP
import AssayService
import AssayTelemetry
import AssayWire

/// A call of the services.
enum RPCMethod: CaseIterable, Sendable {
    case verify, resolve, fetch, info, health, healthList
    case signPromotionalOffer, signIntroductoryOffer, signAdvancedCommerce, signRetentionAnswer
    case verifyStream, watch, reflection, reflectionAlpha

    /// The path of its requests.
    var path: String {
        switch self {
        case .verify: "/assay.v1.Verifier/Verify"
        case .resolve: "/assay.v1.Verifier/Resolve"
        case .fetch: "/assay.v1.Verifier/Fetch"
        case .info: "/assay.v1.Verifier/Info"
        case .health: "/grpc.health.v1.Health/Check"
        case .healthList: "/grpc.health.v1.Health/List"
        case .signPromotionalOffer: "/assay.v1.Signer/SignPromotionalOffer"
        case .signIntroductoryOffer: "/assay.v1.Signer/SignIntroductoryOffer"
        case .signAdvancedCommerce: "/assay.v1.Signer/SignAdvancedCommerce"
        case .signRetentionAnswer: "/assay.v1.Signer/SignRetentionAnswer"
        case .verifyStream: "/assay.v1.Verifier/VerifyStream"
        case .watch: "/grpc.health.v1.Health/Watch"
        case .reflection: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
        case .reflectionAlpha: "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
        }
    }

    init?(_ path: Span<UInt8>) {
        for method in Self.allCases where path.equals(method.path) {
            self = method
            return
        }
        return nil
    }

    /// Whether a path is that of a call, also of one that the server does not have: the full name
    /// of a service, which has a package, and a method.
    static func isPath(_ path: Span<UInt8>) -> Bool {
        guard path.count > 1, path[0] == UInt8(ascii: "/"),
            let slash = path.firstIndex(of: UInt8(ascii: "/"), from: 1),
            path.firstIndex(of: UInt8(ascii: "/"), from: slash + 1) == nil,
            let dot = path.firstIndex(of: UInt8(ascii: "."), from: 1)
        else { return false }
        return dot < slash && slash + 1 < path.count
    }

    /// The fields that a page of an allowed origin can send with a call: those that clients of
    /// Connect and gRPC-Web send. The last three are ignored.
    static let requestFields =
        "Content-Type, Authorization, Connect-Protocol-Version, Connect-Timeout-Ms, Grpc-Timeout, "
        + "Grpc-Encoding, Grpc-Accept-Encoding, X-Grpc-Web, X-User-Agent, " + HTTPField.traceNames

    /// The services that Health knows. Empty: the server as a whole.
    static let services = [
        "", "assay.v1.Verifier", "assay.v1.Signer", "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection",
    ]

    /// Whether the call has a stream of messages in either direction, which gRPC has, and Connect
    /// over HTTP/2.
    var isStreaming: Bool {
        switch self {
        case .verifyStream, .watch, .reflection, .reflectionAlpha: true
        case .verify, .resolve, .fetch, .info, .health, .healthList, .signPromotionalOffer,
            .signIntroductoryOffer, .signAdvancedCommerce, .signRetentionAnswer:
            false
        }
    }

    /// Whether messages have descriptors, and so a form in JSON.
    var isDescribed: Bool { self != .reflection && self != .reflectionAlpha }

    /// The types of the messages, in the descriptors.
    var request: String {
        switch self {
        case .verify: "assay.v1.VerifyRequest"
        case .resolve: "assay.v1.ResolveRequest"
        case .fetch: "assay.v1.FetchRequest"
        case .info: "assay.v1.InfoRequest"
        case .signPromotionalOffer: "assay.v1.SignPromotionalOfferRequest"
        case .signIntroductoryOffer: "assay.v1.SignIntroductoryOfferRequest"
        case .signAdvancedCommerce: "assay.v1.SignAdvancedCommerceRequest"
        case .signRetentionAnswer: "assay.v1.SignRetentionAnswerRequest"
        case .health, .watch: "grpc.health.v1.HealthCheckRequest"
        case .healthList: "grpc.health.v1.HealthListRequest"
        case .verifyStream: "assay.v1.VerifyStreamRequest"
        case .reflection, .reflectionAlpha: "grpc.reflection.v1.ServerReflectionRequest"
        }
    }

    var answer: String {
        switch self {
        case .verify: "assay.v1.VerifyResponse"
        case .resolve: "assay.v1.ResolveResponse"
        case .fetch: "assay.v1.FetchResponse"
        case .info: "assay.v1.InfoResponse"
        case .signPromotionalOffer: "assay.v1.SignPromotionalOfferResponse"
        case .signIntroductoryOffer: "assay.v1.SignIntroductoryOfferResponse"
        case .signAdvancedCommerce: "assay.v1.SignAdvancedCommerceResponse"
        case .signRetentionAnswer: "assay.v1.SignRetentionAnswerResponse"
        case .health, .watch: "grpc.health.v1.HealthCheckResponse"
        case .healthList: "grpc.health.v1.HealthListResponse"
        case .verifyStream: "assay.v1.VerifyStreamResponse"
        case .reflection, .reflectionAlpha: "grpc.reflection.v1.ServerReflectionResponse"
        }
    }

    /// The fields that the call shares with the head of a frame.
    var headFields: [Int] {
        switch self {
        case .verify: [4, 5, 9]
        case .resolve: [4, 9, 10]
        case .fetch: [4, 11]
        case .signRetentionAnswer: [4, 5]
        case .verifyStream: [1, 2, 4, 5, 9]
        case .info, .health, .healthList, .watch, .reflection, .reflectionAlpha,
            .signPromotionalOffer, .signIntroductoryOffer, .signAdvancedCommerce:
            []
        }
    }

    /// Whether a request can have evidence.
    var hasEvidence: Bool {
        switch self {
        case .verify, .verifyStream, .resolve, .fetch, .signRetentionAnswer: true
        case .info, .health, .healthList, .watch, .reflection, .reflectionAlpha,
            .signPromotionalOffer, .signIntroductoryOffer, .signAdvancedCommerce:
            false
        }
    }

    /// What the call signs; nil for other calls, and for answers to retention requests.
    var signature: SignatureKind? {
        switch self {
        case .signPromotionalOffer: .promotionalOffer
        case .signIntroductoryOffer: .introductoryOffer
        case .signAdvancedCommerce: .advancedCommerce
        case .verify, .verifyStream, .resolve, .fetch, .info, .health, .healthList, .watch,
            .reflection, .reflectionAlpha, .signRetentionAnswer:
            nil
        }
    }

    /// Whether the call signs, for which it needs an API key.
    var signs: Bool { signature != nil || self == .signRetentionAnswer }

    /// Whether Connect's GET can make the call: it changes nothing, and its request is small.
    var isRead: Bool { self == .info || self == .health || self == .healthList }

    /// Whether the head of a request and the settings decide alone what happens to its message.
    /// Other calls also depend on keys of app entries, or on a quota of each turn.
    var isDecidedByHead: Bool { self == .verify || self == .resolve }

    /// Whether the answer is long, and has a quota of each turn.
    var isLong: Bool { self == .info }
}
