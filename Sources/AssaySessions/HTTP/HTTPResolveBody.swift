import Assay
import AssayBytes
import AssayModels
import AssayTelemetry
import AssayWire

/// The body of `POST /v1/entitlements`: items of evidence and a policy, or an answer of the App
/// Store Server API, or a list of purchases that Huawei's libraries return, as it came.
struct HTTPResolveBody: Sendable {
    private(set) var call = ResolveCall(items: [])
    private(set) var app = ""
    /// Milliseconds; 0 for the server's default.
    private(set) var timeout: UInt32 = 0
    /// The bytes of the items, one after the other.
    private(set) var evidence: [UInt8] = []

    /// Depth of objects and arrays: evidence can be JSON itself, two levels below the items.
    private static let depth = JSONLimits.depth + 3

    /// - Parameter app: the app entry that the query names.
    /// - Parameter limit: the largest number of items.
    init(_ body: Span<UInt8>, app: String, limit: Int) throws(HTTPProblem) {
        self.app = app
        let members = try HTTPJSONBody.members(of: body, depth: Self.depth)
        guard members["items"] != nil else {
            if let owned = OwnedPurchases.items(in: body) {
                try setOwned(owned, limit: limit)
                return
            }
            try Self.checkEvidence(body)
            call.items = [ResolveCall.Item(length: UInt32(body.count))]
            evidence = body.array
            return
        }
        guard app.isEmpty else { throw .queryBesideJSON }
        for (name, value) in members.pairs {
            switch name {
            case "items": try setItems(value, body, limit: limit)
            case "app": self.app = try HTTPParameters.text(value, name)
            case "at": call.at = Timestamp(milliseconds: try HTTPParameters.number(value, name))
            case "policy": call.policy = try EntitlementPolicy(json: value)
            case "expectations":
                let (expectations, devices) = try HTTPParameters.expectations(value)
                guard devices.isEmpty else {
                    throw HTTPParameters.problem("a device is expected of one item: use /v1/verify")
                }
                call.expectations = expectations
            case "timeout": timeout = try HTTPParameters.timeout(value.double)
            default:
                throw HTTPParameters.problem(
                    "unknown member \(HTTPParameters.quoted(name)); \(Self.names)")
            }
        }
    }

    private static let names = "the members: items, app, at, policy, expectations, timeout"

    /// Refuses a body that names nothing: its answer would read as "owns nothing".
    private static func checkEvidence(_ body: Span<UInt8>) throws(HTTPProblem) {
        let form = EvidenceForm.detect(body)
        guard !form.isEvidence, Verifier.likelyKind(of: body) == nil else { return }
        throw HTTPParameters.problem(
            "the body has no member items, and is no evidence, but \(form.textOfPath); "
                + names)
    }

    /// Takes each purchase of a list as an item.
    private mutating func setOwned(_ items: [[UInt8]], limit: Int) throws(HTTPProblem) {
        guard items.count <= limit else {
            throw HTTPParameters.problem(
                "the list has \(items.count) purchases; the limit is \(limit)")
        }
        for (index, item) in items.enumerated() {
            call.items.append(
                ResolveCall.Item(length: UInt32(item.count), label: "[\(index)]"))
            evidence += item
        }
    }

    private mutating func setItems(
        _ value: JSONValue, _ body: Span<UInt8>, limit: Int
    ) throws(HTTPProblem) {
        let items = try HTTPParameters.elements(value, "items", limit: limit)
        // At once: growing would hold it twice.
        evidence.reserveCapacity(value.range.count)
        for item in items {
            guard let members = item.members else {
                throw HTTPParameters.problem("an item is not an object")
            }
            var kind = ResolveCall.Kind.detected
            var label: String?
            for (name, value) in members.pairs {
                switch name {
                case "evidence": break
                case "label": label = try HTTPParameters.text(value, name)
                case "kind":
                    let text = try HTTPParameters.text(value, name)
                    guard let named = EvidenceKind(name: text) else {
                        guard text == "auto" else {
                            throw HTTPParameters.problem(
                                "unknown kind \(HTTPParameters.quoted(text)) of an item")
                        }
                        continue
                    }
                    kind = .named(named)
                default:
                    throw HTTPParameters.problem(
                        "unknown member \(HTTPParameters.quoted(name)) of an item; the members: "
                            + "evidence, kind, label")
                }
            }
            let start = evidence.count
            try HTTPJSONBody.evidence(members["evidence"]).withBytes(of: body) {
                $0.copy(to: &evidence, at: evidence.count)
            }
            call.items.append(
                ResolveCall.Item(kind, length: UInt32(evidence.count - start), label: label))
        }
    }
}
