import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// A protocol on a connection: what the received bytes ask for, and how answers are written.
///
/// A session owns the request that is arriving and the order of the answers. It takes bytes from
/// its connection's inlet, gives requests to the `Service`, and appends answers to the connection's
/// output. The connection owns the socket, the timeouts, the count of memory and the quota of a
/// turn. A session does not know what the service does with a request. Belongs to the loop's
/// thread.
protocol Session: AnyObject {
    var traits: SessionTraits { get }

    // MARK: Reading

    /// Takes one step on the received bytes. Returns false if it needs more bytes, or waits.
    func takeNext(_ connection: Connection) -> Bool
    /// What is at the front. Read before each step.
    var state: SessionState { get }
    /// What it holds, apart from answers that wait.
    var held: SessionBytes { get }

    // MARK: Answers

    /// Answers with the result of a call, or with the reason of a refusal.
    func answer(_ head: ResponseHead, _ connection: Connection)
    /// Answers with the result that the form of the request appends, when its turn comes.
    ///
    /// - Parameter bytes: the size of the result; nil if it is not known before.
    func answer(
        to id: UInt64, bytes: Int?, _ connection: Connection,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void)
    /// Appends what was kept for the end of the turn. Called before the connection writes.
    func flush(_ connection: Connection)

    // MARK: Time

    /// What it waits for.
    var activity: SessionActivity { get }
    /// Measures how fast requests arrive, and refuses one whose answer would come too late. Called
    /// several times a second.
    func sweep(_ connection: Connection)
    /// The request that arrives most slowly, and holds memory; nil without one.
    func slowest(_ connection: Connection) -> SlowRequest?

    // MARK: The end

    /// Ends what it has begun, as far as this stage asks for.
    func end(_ stage: SessionEnd, _ connection: Connection)
}

/// What is true of all sessions of a protocol.
struct SessionTraits {
    /// Whether a client that ends its writing has left. If not, it possibly waits for its answers.
    var endsWithPeer = false
    /// Whether the client was not yet able to know that the server drains: what it has sent is
    /// still accepted.
    var acceptsWhileDraining = false
}

/// What is at the front of the received bytes.
struct SessionState {
    /// Whether a request has begun to arrive, apart from the bytes that were not taken yet.
    var isWithinRequest = false
    /// Whether what follows is of a receipt that is verified as it arrives.
    var isReceipt = false
    /// Whether the request that is arriving is read to its end: it is answered no earlier.
    var isReadToEnd = false
    /// Bytes of answers that wait for those before them.
    var waitingBytes = 0
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

/// What a session waits for.
enum SessionActivity {
    /// Nothing.
    case idle
    /// News, on streams that its client keeps: no request is arriving, and no answer is due.
    case silent
    /// A request, or the client's confirmation.
    case busy
}

/// A request that arrives slowly and holds memory.
struct SlowRequest {
    /// Bytes a second.
    let rate: Int
    /// Refuses it, to free its memory for others.
    let refuse: () -> Void
}

/// How a session ends.
enum SessionEnd {
    /// The client is notified that the server drains.
    case announced
    /// Streams on which nothing is in flight end: the client goes on elsewhere.
    case silent
    /// The last answer is the reason why the connection ends.
    case refused(ResponseHead)
    /// Nothing more is read: what has arrived of a request is dropped.
    case stopped
}

extension Session {
    func flush(_ connection: Connection) {}
}
