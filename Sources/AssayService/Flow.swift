package import AssayIO
package import AssayTelemetry
package import AssayWire

/// A connection, as the service sees it: its client, its requests in flight, and the caller that
/// takes their answers. The connection and its requests hold the flow. The flow holds the
/// connection until it closes, so no request keeps a closed connection. Belongs to the loop's
/// thread.
package final class Flow {
    /// A unique number of the connection.
    let number: UInt64
    /// The client of the connection.
    package let peer: Peer
    let telemetry: Telemetry
    private let loop: EventLoop
    /// Nil once the connection has closed.
    private var caller: (any Caller)?
    var inFlight = RequestsInFlight()
    /// When the last received bytes could have been read, in nanoseconds of the loop's clock.
    private var lastArrival: UInt64
    /// A background thread parses a body of this connection, or the body waits for one. Nothing
    /// more is read meanwhile, so each connection holds one body, and has one turn in the queue.
    var isParsing = false

    package init(_ number: UInt64, of peer: Peer, _ telemetry: Telemetry, on loop: EventLoop) {
        self.number = number
        self.peer = peer
        self.telemetry = telemetry
        self.loop = loop
        lastArrival = loop.clockNanoseconds
    }

    // MARK: The connection

    /// Sends answers to this connection from now on.
    package func begin(_ caller: any Caller) { self.caller = caller }

    /// Releases the connection, which has closed. Later answers are dropped.
    package func end() { caller = nil }

    /// Whether the connection is closed, and takes no answer.
    var isClosed: Bool { caller?.isClosed ?? true }
    /// Whether the client has left. An answer of the App Store, which takes seconds, is not needed.
    var hasClientLeft: Bool { caller?.hasClientLeft ?? true }
    /// Whether the client was not yet able to know that the server drains.
    var acceptsWhileDraining: Bool { caller?.acceptsWhileDraining ?? false }

    /// Milliseconds since the last received bytes could have been read.
    package var age: UInt64 {
        let now = loop.now
        return now - min(lastArrival / 1_000_000, now)
    }

    /// Nanoseconds of the monotonic clock.
    var nanoseconds: UInt64 { loop.nanoseconds }

    /// When the last received bytes could have been read, in nanoseconds of the monotonic clock.
    package var arrived: UInt64 { loop.clock.monotonic(at: lastArrival) }

    /// Records a read of the connection.
    ///
    /// - Parameter arrival: when its bytes could have been read.
    package func didRead(_ arrival: UInt64) { lastArrival = arrival }

    // MARK: Requests

    /// The number of requests in flight.
    package var count: Int { inFlight.count }
    package var isEmpty: Bool { inFlight.isEmpty }

    /// Whether the number of requests in flight is at its limit.
    package func isFull(_ limit: Int) -> Bool { inFlight.count >= limit }

    /// Whether a request with this id is in flight.
    package func contains(_ id: UInt64) -> Bool { inFlight.contains(id) }

    /// Whether the connection can read another request, for what its requests hold.
    package func canRead(_ limit: Int) -> Bool { !isParsing && inFlight.evidenceBytes < limit }

    /// Whether further answers can be made.
    ///
    /// - Parameter unread: bytes of answers that the peer has not read.
    package func canAnswer(unread: Int) -> Bool {
        peer.canAnswer(unread: unread, due: inFlight.answersDue)
    }

    /// Releases spare memory of an idle connection.
    package func giveBackMemory() { inFlight.giveBackMemory() }

    /// The lines in which its requests wait for verification.
    func makeLines() -> RequestLines { inFlight.makeLines(of: peer) }

    /// Accepts a request, which has a port from now on.
    func accept(_ id: UInt64, _ call: CallLabel, _ cost: RequestCost) {
        telemetry.didStart(call)
        inFlight.insert(id, cost)
    }

    /// Marks requests in flight that their client has given up. Returns false if there are none.
    func giveUp(_ ids: [UInt64]) -> Bool { inFlight.giveUp(ids) }

    /// Whether a request in flight was given up.
    func hasGivenUp(_ id: UInt64) -> Bool { inFlight.hasGivenUp(id) }

    /// Whether the client waits for the answer to a request in flight.
    func awaits(_ id: UInt64) -> Bool { !isClosed && !inFlight.hasGivenUp(id) }

    /// Ends an accepted request: gives its memory back, and then has it answered.
    func end(_ id: UInt64, _ cost: RequestCost, _ answer: ((any Caller)?) -> Void) {
        peer.takeBack(cost)
        inFlight.remove(id, cost)
        answer(caller)
    }

    /// Answers a request that is not verified, and counts it.
    func answerAtOnce(_ call: CallLabel, _ head: ResponseHead, of trace: RequestTrace?) {
        caller?.answerAtOnce(call, head, of: trace)
    }

    /// States work for which the connection's turn pays.
    func pay(for work: Work) { caller?.pay(for: work) }

    /// Lets the connection go on: it can possibly read another request.
    func proceed() { caller?.proceed() }
}

/// Takes the answers of a flow: the connection.
package protocol Caller: AnyObject {
    var isClosed: Bool { get }
    var hasClientLeft: Bool { get }
    var acceptsWhileDraining: Bool { get }
    /// Answers an accepted request with the result that the form of the request appends.
    ///
    /// - Parameter bytes: the size of the result; nil if it is not known before.
    func answer(
        to id: UInt64, bytes: Int?,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void)
    /// Answers an accepted request without a result.
    ///
    /// - Parameter refusal: nil for a request that was given up.
    func refuse(_ refusal: ResponseHead?)
    /// Answers a request that is not accepted.
    func answerAtOnce(_ call: CallLabel, _ head: ResponseHead, of trace: RequestTrace?)
    func pay(for work: Work)
    func proceed()
}
