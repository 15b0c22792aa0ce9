import Assay
import AssayBytes
import AssayModels
import AssayWire

/// The body of `POST /v1/fetch`: a transaction or evidence of one, and what to ask the App Store
/// about its customer.
struct HTTPFetchBody {
    private(set) var call = FetchCall(of: "")
    private(set) var app = ""
    /// Milliseconds; 0 for the server's default.
    private(set) var timeout: UInt32 = 0

    /// Evidence can be JSON itself.
    private static let depth = HTTPJSONBody.depth

    /// - Parameter app: the app entry that an API key chose; nil where none is needed.
    init(_ body: Span<UInt8>, app chosen: String?) throws(HTTPProblem) {
        let members = try HTTPJSONBody.members(of: body, depth: Self.depth)
        let evidence = members["evidence"]
        guard (members["transactionId"] == nil) != (evidence == nil) else {
            throw HTTPQuestion.problem(
                evidence == nil
                    ? "transactionId is missing; evidence that names one will do as well"
                    : "transactionId and evidence exclude each other")
        }
        for (name, value) in members.pairs {
            switch name {
            case "transactionId": call.transactionId = try HTTPQuestion.text(value, name)
            case "evidence": call.transactionId = try Self.transactionId(in: value, body)
            case "lists": call.lists = try Self.lists(value)
            case "app": app = try HTTPQuestion.text(value, name)
            case "at": call.at = Timestamp(milliseconds: try HTTPQuestion.number(value, name))
            case "policy": call.policy = try EntitlementPolicy(json: value)
            case "timeout": timeout = try HTTPQuestion.timeout(value.double)
            default:
                throw HTTPQuestion.problem(
                    "unknown member \(HTTPQuestion.quoted(name)); the members: transactionId, "
                        + "evidence, lists, app, at, policy, timeout")
            }
        }
        guard let chosen else { return }
        guard app.isEmpty || app.utf8.elementsEqual(chosen.utf8) else {
            throw .otherKey
        }
        app = chosen
    }

    /// The identifier that evidence names. What the App Store answers about it is verified.
    private static func transactionId(
        in value: JSONValue, _ body: Span<UInt8>
    ) throws(HTTPProblem) -> String {
        let id =
            switch try HTTPJSONBody.evidence(value) {
            case .part(let range): Inspection.transactionId(of: body.extracting(range))
            case .decoded(let bytes): Inspection.transactionId(of: bytes.span)
            }
        guard let id else {
            throw HTTPQuestion.problem(
                "the evidence names no transaction: a receipt without purchases has none")
        }
        return id
    }

    private static func lists(_ value: JSONValue) throws(HTTPProblem) -> [FetchCall.List] {
        guard let elements = value.elements else {
            throw HTTPQuestion.problem("lists is not an array")
        }
        var lists: [FetchCall.List] = []
        for element in elements {
            switch element.string {
            case "statuses": lists.append(.statuses)
            case "history": lists.append(.history)
            default: throw HTTPQuestion.problem("a list is neither \"statuses\" nor \"history\"")
            }
        }
        return lists
    }
}

extension HTTPProblem {
    static let otherKey = HTTPProblem(
        403, .permissionDenied, "the API key is one of another app entry")
}
