import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// A protocol on a connection: what the received bytes ask for, and how answers are written.
///
/// A session owns the request that is arriving and the order of the answers. It reads what its
/// connection has received, gives requests to the `Service`, and appends answers to the
/// connection's output. The connection owns the socket, the timeouts, the count of memory and the
/// quota of a turn. A session does not know what the service does with a request. Belongs to the
/// loop's thread.
protocol Session: AnyObject {
    // MARK: Reading

    /// Takes one step on the received bytes. Returns false if it needs more bytes, or waits.
    func takeNext(_ connection: Connection) -> Bool
    /// The receipt that is verified as it arrives; nil without one.
    var arrivingReceipt: ArrivingReceipt? { get }
    /// Whether a request has begun to arrive, apart from the bytes that were not taken yet.
    var isWithinRequest: Bool { get }
    /// Whether the request that is arriving is read to its end: it is answered no earlier.
    var isReadToEnd: Bool { get }
    /// Whether a client that ends its writing has left. If not, it possibly waits for its answers.
    var endsWithPeer: Bool { get }
    /// Whether there is work that neither received bytes nor requests in flight show.
    var isBusy: Bool { get }
    /// Whether no request is arriving and no answer is due. Unlike one that is not busy, a silent
    /// session can have streams on which the client waits for news.
    var isSilent: Bool { get }
    /// Ends such streams.
    func endStreams(_ connection: Connection)
    /// Whether the client was not yet able to know that the server drains: what it has sent is
    /// still accepted.
    var acceptsWhileDraining: Bool { get }
    /// Drops what has arrived of a request.
    ///
    /// - Parameter refusal: the answer to a Resolve; nil if the connection takes none.
    func dropArriving(_ connection: Connection, _ refusal: ResponseHead?)

    /// What it holds, apart from answers that wait.
    var held: SessionBytes { get }
    /// Bytes of answers that wait for those before them.
    var waitingBytes: Int { get }

    // MARK: Answers

    /// Records a request that was accepted.
    func didAccept(_ port: ReplyPort)
    /// Answers with the result of a call, or with the reason of a refusal.
    func answer(_ head: ResponseHead, _ connection: Connection)
    /// Answers with the result that the form of the request appends, when its turn comes.
    ///
    /// - Parameter bytes: the size of the result; nil if it is not known before.
    func answer(
        to id: UInt64, bytes: Int?, _ connection: Connection,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void)
    /// Answers with the reason why the connection ends.
    func answerLast(_ head: ResponseHead, _ connection: Connection)
    /// Appends what was kept for the end of the turn. Called before the connection writes.
    func willFlush(_ connection: Connection)
    /// Notifies the client that the server is draining.
    func announceDrain(_ connection: Connection)

    // MARK: Time

    /// Measures how fast requests arrive. Called several times a second.
    func measureRates(_ connection: Connection)
    /// Refuses an arriving request whose answer would come too late.
    func refuseOverdue(_ connection: Connection)
    /// The arrival rate of a request that is slow through the peer's fault, and holds memory.
    func slowRate(_ connection: Connection) -> Int?
    /// Refuses a request that arrives slowly, to free its memory for others.
    func refuseSlow(_ connection: Connection)
}

/// What a session holds, in bytes.
struct SessionBytes {
    /// Answers that the peer does not admit yet. The connection is read nevertheless: what admits
    /// them is in what the peer sends.
    var heldBack = 0
    /// Requests that have begun to arrive or whose answers are due, whatever they hold.
    var open = 0
    /// The protocol's engine.
    var engine = 0
    /// What the session has collected itself.
    var collected = 0
    /// Whether what is arriving is the body of a request that is read whole, and so held.
    var isCollecting = false
}

extension Session {
    var isBusy: Bool { false }
    var isSilent: Bool { !isBusy && !isWithinRequest }
    func endStreams(_ connection: Connection) {}
    var acceptsWhileDraining: Bool { false }
    var waitingBytes: Int { 0 }
    func didAccept(_ port: ReplyPort) {}
    func willFlush(_ connection: Connection) {}
}
