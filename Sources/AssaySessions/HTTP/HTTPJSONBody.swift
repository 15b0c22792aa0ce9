import Assay
import AssayBytes
import AssayIO
import AssayModels
import AssayService
import AssayWire

/// The JSON body of a request: what it asks, and where its evidence is.
struct HTTPJSONBody: Sendable {
    let question: HTTPParameters
    let evidence: BodyContent
    /// The password of a request to verifyReceipt.
    let password: String?

    /// Which members the body has.
    enum Schema: Sendable {
        /// Those of `POST /v1/verify`.
        case verify
        /// Those of the evidence itself, beside a query.
        case evidence(HTTPParameters)
        /// Those of Apple's endpoint, for this app entry.
        case apple(isSandbox: Bool, app: String)
        /// Those of OpenIAP's contract, for this app entry.
        case purchase(app: String)
        /// A retention request and the answer to it, for this app entry.
        case retention(app: String, any RequestSigner)
    }

    /// Depth of objects and arrays: evidence can be JSON itself.
    static let depth = JSONLimits.depth + 1

    init(_ body: Span<UInt8>, as schema: Schema) throws(HTTPProblem) {
        let members = try Self.members(of: body, as: schema)
        switch schema {
        case .evidence(let question):
            guard members["evidence"] == nil, members["kind"] == nil else {
                throw .queryBesideJSON
            }
            self.question = question
            evidence = .part(0..<body.count)
            password = nil
        case .purchase(let app):
            // Unknown members are ignored: they are those of other stores.
            guard members["store"]?.string == "apple" else {
                throw .invalidMember("store", "the only store here is apple")
            }
            guard let token = members["jws"], token.kind == .string else {
                throw .invalidMember("jws", "jws is not a string")
            }
            evidence = try Self.evidence(token)
            password = nil
            question = try HTTPParameters(purchase: members, app: app)
        case .retention(let app, let signer):
            let key = try HTTPSignBody.key(members, app: app)
            guard let token = members["signedPayload"], token.kind == .string else {
                throw HTTPParameters.problem("signedPayload is not a string")
            }
            evidence = try Self.evidence(token)
            password = nil
            question = try HTTPParameters(retention: members, app: app, key: key, by: signer)
        case .verify:
            if members["evidence"] == nil, members["kind"] == nil,
                let kind = Verifier.likelyKind(of: body)
            {
                throw HTTPParameters.problem(
                    "the body is evidence itself: send it as the member evidence, or name its "
                        + "kind in the query, ?kind=\(kind.name)")
            }
            question = try HTTPParameters(members)
            evidence = try Self.evidence(members["evidence"])
            password = nil
        case .apple(let isSandbox, let app):
            // Unknown members are ignored, as by Apple.
            let receipt = try Self.receipt(members, body)
            evidence = try Self.evidence(receipt)
            password = members["password"]?.string
            question = HTTPParameters(
                VerifyReceiptQuery(members, isSandbox: isSandbox), app: app,
                kind: evidence.withBytes(of: body) { Verifier.beginsLikeAppReceipt($0) }
                    ? .appReceipt : .transactionReceipt)
        }
    }

    /// The members of a body of this schema.
    private static func members(
        of body: Span<UInt8>, as schema: Schema
    ) throws(HTTPProblem) -> JSONObject {
        guard case .apple = schema else { return try members(of: body, depth: depth) }
        return try membersOfApple(body)
    }

    /// The members of a body for Apple's endpoint. The refusal of one that is no JSON says what it
    /// is.
    static func membersOfApple(_ body: Span<UInt8>) throws(HTTPProblem) -> JSONObject {
        do throws(HTTPProblem) {
            return try members(of: body, depth: depth)
        } catch {
            let form = EvidenceForm.detect(body)
            guard ![.json, .receiptRequest, .emptyObject].contains(form.name) else { throw error }
            var problem = error
            problem.detail += "; it is " + form.textOfPath
            throw problem
        }
    }

    /// The receipt of a body for Apple's endpoint.
    static func receipt(
        _ members: JSONObject, _ body: Span<UInt8>
    ) throws(HTTPProblem) -> JSONValue {
        guard let receipt = members["receipt-data"] else { throw .noReceipt(.detect(body)) }
        guard receipt.kind == .string else { throw .receiptIsNoString }
        return receipt
    }

    /// The members of a body that has to be a JSON object.
    static func members(of body: Span<UInt8>, depth: Int) throws(HTTPProblem) -> JSONObject {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument.parse(
                body.array, limit: .max, depth: depth, values: ServerLimits.jsonValues)
        } catch {
            if case .tooManyValues(let limit) = error {
                throw HTTPParameters.problem(
                    "the body has more than \(limit) JSON names and values")
            }
            throw HTTPProblem(400, .invalidArgument, "the body is not JSON: \(error)")
        }
        guard let members = document.root.members else {
            throw HTTPProblem(400, .invalidArgument, "the body is not a JSON object")
        }
        return members
    }

    static func evidence(_ value: JSONValue?) throws(HTTPProblem) -> BodyContent {
        guard let value else {
            throw HTTPProblem(400, .invalidArgument, "the member evidence is missing")
        }
        let evidence: BodyContent
        if let content = value.plainContent {
            evidence = .part(content)
        } else if let text = value.string {
            evidence = .decoded(Array(text.utf8))
        } else if value.kind == .object {
            // The body of a notification or an answer of the Server API, as it came.
            evidence = .part(value.range)
        } else {
            throw HTTPProblem(
                400, .invalidArgument,
                "evidence is not a string (base64 for a receipt) or an object")
        }
        guard !evidence.isEmpty else { throw .emptyEvidence }
        return evidence
    }
}

extension HTTPProblem {
    static let emptyEvidence = HTTPProblem(
        400, .invalidArgument, "evidence is empty")

    /// The refusal of a body that Apple's endpoint has no use for, with what it is.
    static func noReceipt(_ form: EvidenceForm) -> HTTPProblem {
        HTTPProblem(
            400, .invalidArgument, "the body has no member receipt-data: it is " + form.textOfPath)
    }

    static let receiptIsNoString = HTTPProblem(
        400, .invalidArgument, "receipt-data is not a string")
}
