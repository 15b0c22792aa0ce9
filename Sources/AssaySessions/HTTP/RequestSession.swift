import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// A session of HTTP, in either version: what a request asks for and how it is answered is the same
/// in both.
protocol RequestSession: Session {
    /// A request whose body is arriving.
    associatedtype Arriving: HTTPExchange

    /// The endpoint of the listener.
    var endpoint: Endpoint { get }
    /// What the bodies hold that are arriving.
    var bodies: HTTPBodies { get }
    /// The head of the last message that was performed.
    var recentHead: RecentHead { get set }
    /// How the answer to a request is written that has none yet.
    subscript(style id: UInt64) -> HTTPResponseStyle { get set }
    /// Whether the request still needs its answer.
    func isOpen(_ id: UInt64) -> Bool
    /// Whether the request is not complete yet.
    func isArriving(_ id: UInt64) -> Bool
    /// When the first byte of a request arrived, in milliseconds of the loop's clock.
    func began(of id: UInt64, _ connection: Connection) -> UInt64
    /// Records the message of a call, before it is performed. Throws the reason to refuse it.
    func didRead(_ request: RPCRequest, of id: UInt64) throws(HTTPProblem)
    /// Answers with a response that is complete.
    func answer(to id: UInt64, _ response: HTTPResponse, _ connection: Connection)
    /// Answers with the reason why there is no result.
    func answer(to id: UInt64, _ problem: HTTPProblem, _ connection: Connection)
    /// Writes the head of the answer to a batch, before the first line arrives.
    ///
    /// - Parameter asksForBody: whether the client waits for an interim response.
    func beginLines(_ id: UInt64, asksForBody: Bool, _ connection: Connection)
    /// Begins a line of the answer to a batch. Returns the id of its request.
    func beginLine(_ style: HTTPResponseStyle, of exchange: Arriving) -> UInt64
    /// Ends the answer to a batch after its last line.
    func endLines(_ exchange: Arriving, _ connection: Connection)
    /// Ends the answer to a batch of which a line was refused, and drops the rest.
    func breakLines(_ exchange: Arriving, _ connection: Connection)
    /// Takes data of a call with a stream of messages. Returns the bytes used; nil if it waits.
    func takeMessages(
        _ data: SlabBytes, _ call: RPCCall, _ exchange: Arriving, limit: Int,
        _ connection: Connection
    ) -> Int?
    /// Records that the last byte of a receipt was passed on.
    func didEndReceipt(
        _ receipt: ArrivingReceipt, of exchange: Arriving, _ connection: Connection)
    /// Drops what has arrived of a body, and what follows of it. The code that calls it drops a
    /// receipt itself.
    func drop(_ exchange: Arriving)
    /// Drops a body and refuses its request: what follows is not worth reading.
    func drop(_ exchange: Arriving, tooLarge problem: HTTPProblem, _ connection: Connection)
}

extension RequestSession {
    func didRead(_ request: RPCRequest, of id: UInt64) throws(HTTPProblem) {}

    /// Parses a body: a short one here, as a part of the connection's quota of the turn, and others
    /// on a background thread.
    ///
    /// - Parameter work: the bytes to parse; nil for those of the body.
    func perform<Value: Sendable>(
        _ id: UInt64, _ body: SlabBytes, _ connection: Connection,
        work: Int? = nil,
        _ parse: @escaping @Sendable (SlabBytes) throws(HTTPProblem) -> Value,
        then done: @escaping (Result<Value, HTTPProblem>) -> Void
    ) {
        let bytes = work ?? body.count
        guard bytes > ServerLimits.bytesParsedInPlace else {
            connection.inlet.pay(for: .json(body.span))
            return done(result(of: parse, body))
        }
        let mine = LoopBound(done, to: connection.context.server.loop)
        let job = ParseJob(of: connection.flow, id: id, self[style: id].trace, bytes: bytes) {
            let parsed = result(of: parse, body)
            return { mine.value(parsed) }
        }
        connection.context.service.parse(job)
    }
}

/// The result of parsing a body, on any thread.
private func result<Value>(
    of parse: (SlabBytes) throws(HTTPProblem) -> Value, _ body: SlabBytes
) -> Result<Value, HTTPProblem> {
    do throws(HTTPProblem) {
        return .success(try parse(body))
    } catch {
        return .failure(error)
    }
}
