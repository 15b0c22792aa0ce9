import Assay
import AssayBytes
import AssayModels
import AssayWire

/// The body of `POST /v1/fetch`: a transaction, and what to ask the App Store about its customer.
struct HTTPFetchBody {
    private(set) var call = FetchCall(of: "")
    private(set) var app = ""
    /// Milliseconds; 0 for the server's default.
    private(set) var timeout: UInt32 = 0

    /// A policy has objects of two levels.
    private static let depth = 4

    /// - Parameter app: the app entry that an API key chose; nil where none is needed.
    init(_ body: Span<UInt8>, app chosen: String?) throws(HTTPProblem) {
        let members = try HTTPJSONBody.members(of: body, depth: Self.depth)
        guard members["transactionId"] != nil else {
            throw HTTPQuestion.problem("transactionId is missing")
        }
        for (name, value) in members.pairs {
            switch name {
            case "transactionId": call.transactionId = try HTTPQuestion.text(value, name)
            case "lists": call.lists = try Self.lists(value)
            case "app": app = try HTTPQuestion.text(value, name)
            case "at": call.at = Timestamp(milliseconds: try HTTPQuestion.number(value, name))
            case "policy": call.policy = try EntitlementPolicy(json: value)
            case "timeout": timeout = try HTTPQuestion.timeout(value.double)
            default:
                throw HTTPQuestion.problem(
                    "unknown member \(HTTPQuestion.quoted(name)); the members: transactionId, "
                        + "lists, app, at, policy, timeout")
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
