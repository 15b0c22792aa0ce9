import AssayBytes
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// The body of `POST /v1/fetch`: a transaction or evidence of one, and what to ask the App Store
/// about its customer.
struct HTTPFetchBody: Sendable {
    private(set) var call = FetchCall(of: "")
    /// Names the transaction, if the call does not.
    private(set) var evidence = BodyContent.part(0..<0)
    private(set) var app = ""
    /// Milliseconds; 0 for the server's default.
    private(set) var timeout: UInt32 = 0

    /// Evidence can be JSON itself.
    private static let depth = HTTPJSONBody.depth

    /// - Parameter app: the app entry that an API key chose; nil where none is needed.
    init(_ body: Span<UInt8>, app chosen: String?) throws(HTTPProblem) {
        let members = try HTTPJSONBody.members(of: body, depth: Self.depth)
        let hasEvidence = members["evidence"] != nil
        guard (members["transactionId"] == nil) == hasEvidence else {
            throw HTTPParameters.problem(
                !hasEvidence
                    ? "transactionId is missing; evidence that names one will do as well"
                    : "transactionId and evidence exclude each other")
        }
        for (name, value) in members.pairs {
            switch name {
            case "transactionId": call.transactionId = try HTTPParameters.text(value, name)
            case "evidence": evidence = try HTTPJSONBody.evidence(value)
            case "lists": call.lists = try Self.lists(value)
            case "app": app = try HTTPParameters.text(value, name)
            case "at": call.at = Timestamp(milliseconds: try HTTPParameters.number(value, name))
            case "policy": call.policy = try EntitlementPolicy(json: value)
            case "timeout": timeout = try HTTPParameters.timeout(value.double)
            default:
                throw HTTPParameters.problem(
                    "unknown member \(HTTPParameters.quoted(name)); the members: transactionId, "
                        + "evidence, lists, app, at, policy, timeout")
            }
        }
        guard let chosen else { return }
        guard app.isEmpty || app.utf8.elementsEqual(chosen.utf8) else {
            throw .otherKey
        }
        app = chosen
    }

    private static func lists(_ value: JSONValue) throws(HTTPProblem) -> [FetchCall.List] {
        guard let elements = value.elements else {
            throw HTTPParameters.problem("lists is not an array")
        }
        var lists: [FetchCall.List] = []
        for element in elements {
            switch element.string {
            case "statuses": lists.append(.statuses)
            case "history": lists.append(.history)
            default: throw HTTPParameters.problem("a list is neither \"statuses\" nor \"history\"")
            }
        }
        return lists
    }
}

extension HTTPProblem {
    static let otherKey = HTTPProblem(
        403, .permissionDenied, "the API key is one of another app entry")
}
