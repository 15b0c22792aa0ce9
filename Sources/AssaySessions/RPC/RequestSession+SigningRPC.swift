import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Signatures as calls of the services, with the keys and the permission of HTTP.
extension RequestSession {
    /// The app entry that the API key of a call chooses, if it can perform the call.
    func appOfSigner(
        _ method: RPCMethod, _ head: HTTPHead, _ bytes: Span<UInt8>, _ connection: Connection
    ) throws(HTTPProblem) -> String {
        let app = try appOfSigningKey(head, bytes, connection)
        let signer = try signer(of: app, connection)
        guard method != .signRetentionAnswer || signer.appAppleId != nil else {
            throw .retentionNeedsApp
        }
        return app
    }

    /// Answers a call with its signature.
    func sign(
        _ request: RPCRequest, _ kind: SignatureKind, _ call: RPCCall, _ id: UInt64,
        _ connection: Connection
    ) throws(HTTPProblem) {
        let form = call.form
        let json = try RPCSchema.services.json(
            ofRequest: request.signed, as: form.method.request)
        let body = try HTTPSignBody(json.span, app: call.app ?? "")
        let signed = try signature(kind, body, of: call.app, for: id, connection)
        let message = try form.message(ofSignature: signed)
        connection.answerAtOnce(.sign, ResponseHead(id: id), of: self[style: id].trace) {
            answer(message, form, to: id, connection)
        }
        connection.inlet.pay(for: .signature)
    }

    /// Keeps the answer that was chosen for a retention request, until the request is verified.
    ///
    /// - Returns: the head, with the expectation that the request is for the entry's app.
    func retention(
        _ request: RPCRequest, _ head: RequestHead, _ call: RPCCall, _ connection: Connection
    ) throws(HTTPProblem) -> RequestHead {
        guard case .verify(var verify) = head.call else { return head }
        let signer = try signer(of: call.app, connection)
        let json = try RPCSchema.services.json(
            ofRequest: request.signed, as: call.form.method.request)
        let members = try HTTPJSONBody.members(of: json.span, depth: HTTPJSONBody.depth)
        let key = try HTTPSignBody.key(members, app: call.app ?? "")
        guard let answer = members["answer"] else {
            throw HTTPParameters.problem("answer is missing")
        }
        do throws(SigningFailure) {
            self[style: head.id].retention = try signer.retentionAnswer(answer.raw, key: key)
        } catch {
            throw HTTPProblem(error)
        }
        var head = head
        // The policy has Apple's rule, by which the id decides in Production alone.
        verify.expectations.appAppleId = signer.appAppleId
        head.call = .verify(verify)
        return head
    }
}
