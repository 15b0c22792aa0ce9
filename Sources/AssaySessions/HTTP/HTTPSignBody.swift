import AssayBytes
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// The body of `POST /v1/sign/…`: the members of a request, beside those of the server.
struct HTTPSignBody: Sendable {
    /// The request without the members of the server.
    let json: [UInt8]
    /// The name of a key; nil for the default.
    let key: String?

    /// A request of Advanced Commerce has items with offers.
    private static let depth = 8

    /// - Parameter app: the app entry that the API key chose.
    init(_ body: Span<UInt8>, app: String) throws(HTTPProblem) {
        let members = try HTTPJSONBody.members(of: body, depth: Self.depth)
        key = try Self.key(members, app: app)
        var writer = JSONWriter(capacity: body.count)
        writer.object { object in
            for (name, value) in members.pairs where name != "app" && name != "key" {
                object.member(name, raw: value.raw)
            }
        }
        json = writer.text
    }

    /// Reads `key`, and checks that `app` is the entry that the API key chose.
    static func key(_ members: JSONObject, app: String) throws(HTTPProblem) -> String? {
        if let named = members["app"] {
            guard try HTTPParameters.text(named, "app") == app else {
                throw .otherKey
            }
        }
        guard let key = members["key"] else { return nil }
        return try HTTPParameters.text(key, "key")
    }
}

extension HTTPParameters {
    /// The question of a retention request, and the answer that was chosen for it.
    init(
        retention members: JSONObject, app: String, key: String?, by signer: any RequestSigner
    ) throws(HTTPProblem) {
        for (name, value) in members.pairs {
            switch name {
            case "signedPayload", "answer", "key", "app": break
            case "timeout": timeout = try Self.timeout(value.double)
            case "expectations": expectations = try Self.expectations(value).expectations
            default:
                throw Self.problem(
                    "unknown member \(Self.quoted(name)); the members: signedPayload, answer, "
                        + "expectations, app, key, timeout")
            }
        }
        guard let answer = members["answer"] else { throw Self.problem("answer is missing") }
        guard answer.kind == .object else { throw Self.problem("answer is not an object") }
        // The policy has Apple's rule, by which the id decides in Production alone.
        expectations.appAppleId = signer.appAppleId
        kind = .realtimeRequest
        self.app = app
        do throws(SigningFailure) {
            content = .retention(try signer.retentionAnswer(answer.raw, key: key))
        } catch {
            throw HTTPProblem(error)
        }
    }
}

extension HTTPProblem {
    init(_ failure: SigningFailure) {
        switch failure.reason {
        case .invalidRequest: self.init(400, .invalidArgument, failure.message)
        default: self.init(500, .failedPrecondition, failure.message)
        }
    }

    static let signingOff = HTTPProblem(
        404, .unimplemented, "no app entry has sign-api-keys: the path is off")
    static let noSigningKeys = HTTPProblem(
        404, .unimplemented, "the app entry has no keys: add a table below [app.keys]")
    static let retentionNeedsApp = HTTPProblem(
        404, .unimplemented,
        "the app entry has no app-apple-id, by which it knows its own retention requests")
}
