import AssayHTTP
import AssayWire

/// A call of the services.
enum RPCMethod: CaseIterable, Sendable {
    case verify, resolve, fetch, info, health

    /// The path of its requests.
    var path: String {
        switch self {
        case .verify: "/assay.v1.Verifier/Verify"
        case .resolve: "/assay.v1.Verifier/Resolve"
        case .fetch: "/assay.v1.Verifier/Fetch"
        case .info: "/assay.v1.Verifier/Info"
        case .health: "/grpc.health.v1.Health/Check"
        }
    }

    init?(_ path: Span<UInt8>) {
        for method in Self.allCases where path.equals(method.path) {
            self = method
            return
        }
        return nil
    }

    /// The services that Health knows. Empty: the server as a whole.
    static let services = ["", "assay.v1.Verifier", "grpc.health.v1.Health"]

    /// The types of the messages, in the descriptors.
    var request: String {
        switch self {
        case .verify: "assay.v1.VerifyRequest"
        case .resolve: "assay.v1.ResolveRequest"
        case .fetch: "assay.v1.FetchRequest"
        case .info: "assay.v1.InfoRequest"
        case .health: "grpc.health.v1.HealthCheckRequest"
        }
    }

    var answer: String {
        switch self {
        case .verify: "assay.v1.VerifyResponse"
        case .resolve: "assay.v1.ResolveResponse"
        case .fetch: "assay.v1.FetchResponse"
        case .info: "assay.v1.InfoResponse"
        case .health: "grpc.health.v1.HealthCheckResponse"
        }
    }

    /// The fields that the call shares with the head of a frame.
    var headFields: [Int] {
        switch self {
        case .verify: [4, 5, 9]
        case .resolve: [4, 9, 10]
        case .fetch: [4, 11]
        case .info, .health: []
        }
    }

    /// Whether a request has evidence.
    var hasEvidence: Bool { self == .verify || self == .resolve }

    /// Whether Connect's GET can make the call: it changes nothing, and its request is small.
    var isRead: Bool { self == .info || self == .health }

    /// Whether the answer is long, and has a share of each turn.
    var isLong: Bool { self == .info }
}
