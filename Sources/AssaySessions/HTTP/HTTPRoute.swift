import Assay
import AssayHTTP
import AssayService
import AssayTelemetry

/// The paths.
enum HTTPRoute: CaseIterable, Sendable {
    case verify, batch, entitlements, fetch, health, info, openAPI
    case verifyReceipt, sandboxVerifyReceipt, purchase, purchaseAlias
    case signPromotionalOffer, signIntroductoryOffer, signAdvancedCommerce, signRetentionAnswer

    var path: String {
        switch self {
        case .verify: "/v1/verify"
        case .batch: "/v1/verify/batch"
        case .entitlements: "/v1/entitlements"
        case .fetch: "/v1/fetch"
        case .health: "/v1/health"
        case .info: "/v1/info"
        case .openAPI: "/v1/openapi.json"
        case .verifyReceipt: "/verifyReceipt"
        case .sandboxVerifyReceipt: "/sandbox/verifyReceipt"
        case .purchase: "/v1/purchase/verify"
        case .purchaseAlias: "/v1/verify-purchase"
        case .signPromotionalOffer: "/v1/sign/promotional-offer"
        case .signIntroductoryOffer: "/v1/sign/introductory-offer"
        case .signAdvancedCommerce: "/v1/sign/advanced-commerce"
        case .signRetentionAnswer: "/v1/sign/retention-answer"
        }
    }

    init?(_ path: Span<UInt8>) {
        for route in Self.allCases where path.equals(route.path) {
            self = route
            return
        }
        return nil
    }

    var isRead: Bool {
        switch self {
        case .health, .info, .openAPI: true
        case .verify, .batch, .entitlements, .fetch, .verifyReceipt, .sandboxVerifyReceipt,
            .purchase, .purchaseAlias, .signPromotionalOffer, .signIntroductoryOffer,
            .signAdvancedCommerce, .signRetentionAnswer:
            false
        }
    }

    /// What the path signs; nil for other paths, and for answers to retention requests.
    var signature: SignatureKind? {
        switch self {
        case .signPromotionalOffer: .promotionalOffer
        case .signIntroductoryOffer: .introductoryOffer
        case .signAdvancedCommerce: .advancedCommerce
        default: nil
        }
    }

    /// The methods, for `Allow`.
    var methods: String { isRead ? "GET, HEAD, OPTIONS" : "POST, OPTIONS" }

    func has(_ method: HTTPHead.Method) -> Bool {
        switch method {
        case .get, .head: isRead
        case .post: !isRead
        case .options: true
        case .put, .delete, .connect, .other: false
        }
    }

    /// The content of answers without a result.
    var content: HTTPResponseStyle.Content {
        switch self {
        case .verifyReceipt: .apple(VerifyReceiptQuery(isSandbox: false))
        case .sandboxVerifyReceipt: .apple(VerifyReceiptQuery(isSandbox: true))
        case .purchase, .purchaseAlias: .purchase(withPayload: false)
        case .verify, .batch, .entitlements, .fetch, .health, .info, .openAPI,
            .signPromotionalOffer, .signIntroductoryOffer, .signAdvancedCommerce,
            .signRetentionAnswer:
            .report
        }
    }

    /// Whether the answer is long, and has a quota of each turn.
    var isLong: Bool { self == .info || self == .openAPI }
}

/// What a path names: a resource, or a call of the services.
enum HTTPTarget: Sendable {
    case route(HTTPRoute)
    case method(RPCMethod)

    init?(_ path: Span<UInt8>) {
        if let route = HTTPRoute(path) {
            self = .route(route)
        } else if let method = RPCMethod(path) {
            self = .method(method)
        } else {
            return nil
        }
    }

    /// The paths, for the refusal of another one.
    static let paths = HTTPRoute.allCases.map(\.path) + RPCMethod.allCases.map(\.path)

    /// The methods, for `Allow`.
    var methods: String {
        switch self {
        case .route(let route): route.methods
        case .method(let method): method.isRead ? "GET, POST, OPTIONS" : "POST, OPTIONS"
        }
    }

    func has(_ name: HTTPHead.Method) -> Bool {
        switch self {
        case .route(let route): route.has(name)
        case .method(let method):
            name == .post || name == .options || name == .get && method.isRead
        }
    }

    /// The content of answers without a result; nil for a request in no known form.
    ///
    /// - Parameter isHTTP2: whether the answer can have trailers, which gRPC needs, and begin
    ///   before the end of the request, as streams do.
    func content(
        _ head: HTTPHead, _ bytes: Span<UInt8>, isHTTP2: Bool
    ) -> HTTPResponseStyle.Content? {
        switch self {
        case .route(let route): route.content
        case .method(let method):
            method.form(of: head, bytes).flatMap {
                $0.framing.hasStreams && !isHTTP2 ? nil : .rpc($0)
            }
        }
    }

    /// The fields that a page of an allowed origin can send.
    var requestFields: String {
        switch self {
        case .route: "Content-Type, Authorization, " + HTTPField.traceNames
        case .method: RPCMethod.requestFields
        }
    }

    /// Whether it is asked by probes.
    var isHealth: Bool {
        switch self {
        case .route(let route): route == .health
        case .method(let method): [.health, .healthList, .watch].contains(method)
        }
    }

    /// Whether the answer is long, and has a quota of each turn.
    var isLong: Bool {
        switch self {
        case .route(let route): route.isLong
        case .method(let method): method.isLong
        }
    }
}

/// The media types of bodies.
enum HTTPMediaType {
    case json
    /// JSON texts on lines of their own.
    case lines
    /// Raw evidence.
    case evidence

    /// Nil for other types.
    init?(_ value: Span<UInt8>) {
        var end = 0
        while end < value.count, value[end] != UInt8(ascii: ";") { end += 1 }
        while end > 0, value[end - 1] == UInt8(ascii: " ") { end -= 1 }
        let type = value.extracting(0..<end)
        if type.equalsLowercase("application/json") {
            self = .json
        } else if type.equalsLowercase("application/x-ndjson")
            || type.equalsLowercase("application/jsonl")
        {
            self = .lines
        } else if type.equalsLowercase("application/jose")
            || type.equalsLowercase("application/pkcs7-mime")
            || type.equalsLowercase("application/octet-stream")
        {
            self = .evidence
        } else {
            return nil
        }
    }

    static let jsonName = "application/json"
    static let problemName = "application/problem+json"
    static let linesName = "application/x-ndjson"

    static let names =
        "application/json, or application/jose, application/pkcs7-mime or "
        + "application/octet-stream with the evidence alone"
}
