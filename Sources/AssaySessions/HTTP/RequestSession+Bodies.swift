import Assay
import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayWire

/// Performs requests whose bodies have arrived.
extension RequestSession {
    /// Performs a request whose body has arrived.
    func perform(
        _ plan: HTTPBodyPlan, _ body: SlabBytes?, _ id: UInt64, _ connection: Connection
    ) {
        switch plan {
        case .skip, .lines, .messages: break
        case .receipt(let receipt): complete(receipt, connection)
        case .evidence(let question, _):
            complete(id, body, connection) { body in
                verify(body, question, id, connection, began: began(of: id, connection))
            }
        case .json(let schema, _):
            complete(id, body, connection) { body in parse(body, as: schema, id, connection) }
        case .resolve(let app, _):
            complete(id, body, connection) { body in resolve(body, app: app, id, connection) }
        case .fetch(let app, _):
            complete(id, body, connection) { body in fetch(body, app: app, id, connection) }
        case .message(let call, _):
            let none: [UInt8] = []
            take(
                call, body ?? connection.inlet.hold(none.span), id, connection,
                began: began(of: id, connection))
        case .sign(let kind, let app, _):
            complete(id, body, connection) { body in
                sign(body, kind, app: app, id, connection)
            }
        }
    }

    private func complete(_ receipt: ArrivingReceipt, _ connection: Connection) {
        let service = connection.context.service
        var problem: HTTPProblem?
        if receipt.remaining > 0 {
            problem = .undecodable(.malformed)
        } else {
            problem = open(receipt, connection)
        }
        guard let problem else { return service.complete(receipt, from: connection.flow) }
        service.drop(receipt, from: connection.flow)
        refuse(receipt.id, problem, connection)
    }

    /// Reads what is around a receipt that has arrived in JSON. Returns the reason to refuse it.
    private func open(_ receipt: ArrivingReceipt, _ connection: Connection) -> HTTPProblem? {
        guard let envelope = receipt.envelope as? ReceiptEnvelope else { return nil }
        var style = self[style: receipt.id]
        guard case .apple(let query) = style.content else { return nil }
        do throws(HTTPProblem) {
            let members = try envelope.finish()
            style.content = .apple(VerifyReceiptQuery(members, isSandbox: query.isSandbox))
            self[style: receipt.id] = style
            receipt.form = style
            let password = members["password"]?.string
            return receipt.admits(password: password) ? nil : .wrongPassword
        } catch {
            return error
        }
    }

    private func complete(
        _ id: UInt64, _ body: SlabBytes?, _ connection: Connection, _ action: (SlabBytes) -> Void
    ) {
        if let body, body.count > 0 { action(body) } else { refuse(id, .emptyBody, connection) }
    }

    /// Has the evidence verified, unless the admission rejects it.
    private func verify(
        _ evidence: SlabBytes, _ question: HTTPParameters, _ id: UInt64, _ connection: Connection,
        began: UInt64
    ) {
        var question = question
        let style = self[style: id]
        let isLine = style.framing.isLine
        // A batch prefers to wait, and its sender is not slow: the server reads at its own pace.
        if isLine, question.timeout == 0 {
            question.timeout = connection.limits.longestTimeoutMilliseconds
        }
        let head = question.head(id, as: question.estimate(evidence.span), mayWait: isLine)
        connection.context.service.take(
            Request(head, as: style, began: isLine ? connection.now : began), evidence,
            from: connection.flow)
    }

    /// Reads a JSON body, and has its evidence verified.
    func parse(
        _ body: SlabBytes, as schema: HTTPJSONBody.Schema, _ id: UInt64, _ connection: Connection
    ) {
        let began = began(of: id, connection)
        perform(id, body, connection) { body throws(HTTPProblem) in
            try HTTPJSONBody(body.span, as: schema)
        } then: { [self] result in
            didParse(result, body, id, connection, began: began)
        }
    }

    /// Reads the items of a Resolve, and has them verified and decided.
    private func resolve(_ body: SlabBytes, app: String, _ id: UInt64, _ connection: Connection) {
        let (began, limit) = (began(of: id, connection), connection.limits.resolveItems)
        perform(id, body, connection) { body throws(HTTPProblem) in
            try HTTPResolveBody(body.span, app: app, limit: limit)
        } then: { [self] result in
            switch result {
            case .failure(let problem): refuse(id, problem, connection)
            case .success(let parsed):
                let head = RequestHead(
                    id: id, call: .resolve(parsed.call), app: parsed.app,
                    timeoutMilliseconds: parsed.timeout)
                let evidence = connection.inlet.hold(parsed.evidence.span)
                connection.context.service.take(
                    Request(head, as: self[style: id], began: began), evidence,
                    from: connection.flow)
            }
            connection.updateBudget()
        }
    }

    /// Reads what to fetch, and has it fetched.
    private func fetch(_ body: SlabBytes, app: String?, _ id: UInt64, _ connection: Connection) {
        let began = began(of: id, connection)
        perform(id, body, connection) { body throws(HTTPProblem) in
            try HTTPFetchBody(body.span, app: app)
        } then: { [self] result in
            switch result {
            case .failure(let problem): refuse(id, problem, connection)
            case .success(let parsed):
                let head = RequestHead(
                    id: id, call: .fetch(parsed.call), app: parsed.app,
                    timeoutMilliseconds: parsed.timeout)
                connection.context.service.take(
                    Request(head, as: self[style: id], began: began),
                    parsed.evidence.bytes(of: body, by: connection.inlet),
                    from: connection.flow)
            }
        }
    }

    private func didParse(
        _ result: Result<HTTPJSONBody, HTTPProblem>, _ body: SlabBytes, _ id: UInt64,
        _ connection: Connection, began: UInt64
    ) {
        switch result {
        case .failure(let problem): refuse(id, problem, connection)
        case .success(let parsed):
            self[style: id] = self[style: id].answering(parsed.question)
            let app = connection.context.service.app(named: parsed.question.app)
            if parsed.question.content.isApple,
                app?.secrets.admits(password: parsed.password) == false
            {
                return refuse(id, .wrongPassword, connection)
            }
            let evidence = parsed.evidence.bytes(of: body, by: connection.inlet)
            verify(evidence, parsed.question, id, connection, began: began)
        }
        connection.updateBudget()
    }
}
