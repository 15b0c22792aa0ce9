import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Signs for Apple: off unless an app entry has keys and API keys for it.
extension RequestSession {
    /// Decides what happens to the body of a request for a signature.
    ///
    /// - Parameter kind: nil for an answer to a retention request.
    func planSignature(
        _ kind: SignatureKind?, app: String, limit: Int, _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        let signer = try signer(of: app, connection)
        if let kind { return .sign(kind, app: app, limit: limit) }
        guard signer.appAppleId != nil else { throw .retentionNeedsApp }
        return .json(.retention(app: app, signer), limit: limit)
    }

    /// Reads a request, and answers with its signature.
    func sign(
        _ body: SlabBytes, _ kind: SignatureKind, app: String, _ id: UInt64,
        _ connection: Connection
    ) {
        perform(id, body, connection) { body throws(HTTPProblem) in
            try HTTPSignBody(body.span, app: app)
        } then: { [self] result in
            do throws(HTTPProblem) {
                let json = try signature(kind, result.get(), of: app, for: id, connection)
                connection.answerAtOnce(.sign, ResponseHead(id: id), of: self[style: id].trace) {
                    answer(json, to: id, connection)
                }
                connection.inlet.pay(for: .signature)
            } catch {
                refuse(id, error, connection)
            }
        }
    }

    /// Signs a request, unless the server drains.
    ///
    /// - Parameter app: the entry with the keys, which a reload can have removed meanwhile.
    func signature(
        _ kind: SignatureKind, _ request: HTTPSignBody, of app: String?, for id: UInt64,
        _ connection: Connection
    ) throws(HTTPProblem) -> [UInt8] {
        if let refusal = connection.context.service.drainRefusal(id, from: connection.flow) {
            throw HTTPProblem(refusal)
        }
        let signer = try signer(of: app, connection)
        do throws(SigningFailure) {
            return try signer.sign(kind, request.json, key: request.key)
        } catch {
            throw HTTPProblem(error)
        }
    }

    func signer(
        of app: String?, _ connection: Connection
    ) throws(HTTPProblem) -> any RequestSigner {
        guard let app, let signer = connection.context.service.app(named: app)?.signer else {
            throw .noSigningKeys
        }
        return signer
    }
}

extension Verification {
    /// The signed answer to a retention request. A request that was refused gets none.
    func answered(by respond: RetentionResponder) throws(AnswerFault) -> [UInt8] {
        guard verdict == .valid, case .realtimeRequest(let request)? = evidence else {
            throw .refused(self)
        }
        do throws(SigningFailure) {
            return try respond(request.payload)
        } catch {
            throw .signing(error)
        }
    }
}
