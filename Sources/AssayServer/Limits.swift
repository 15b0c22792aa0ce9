import Assay
import AssayIO
import AssayWire

/// Every bound of the server, with its reason.
public struct ServerLimits: Sendable {
    /// A frame, without its length.
    public var frameBytes = FrameLimits.request.frameBytes
    /// A frame's head.
    public var headBytes = FrameLimits.request.headBytes
    /// The body of a JWS kind: the verifier's own limit.
    public var jwsBytes = Limits.jwsBytes
    /// The body of a notification: the verifier's own limit.
    public var notificationBytes = Limits.notificationBytes
    /// An app receipt above this is verified while it arrives; smaller ones come whole in one
    /// read or two and go to the workers with the rest.
    public var streamedReceiptBytes = 64 << 10
    /// Requests of one connection that are being verified. More are refused, or wait where they
    /// say that they may.
    public var requestsInFlight = RequestLimits.inFlight
    /// Evidence of those requests: 32 KB for each, above the usual notification. A connection that
    /// has more is not read from until some are answered.
    public var evidenceBytesPerConnection = 32 << 20
    /// What is held for all connections: evidence that is being verified, frames and receipts that
    /// are arriving, answers that were not read. Above, requests are refused until some of it has
    /// gone.
    public var evidenceBytes = 256 << 20
    /// Where room is short, receipts that arrive more slowly give way, the slowest first: a client
    /// in the same network sends a hundred times faster.
    static let slowReceiptBytesPerSecond = 1 << 20
    /// Of a frame whose head is not complete, when there is no room for more.
    public var unansweredBytes = 4 << 10
    /// How long a request may have to wait for a worker. Above, it is refused at once: a longer
    /// queue answers no more, only later, and what waits in it leaves the processor's cache. Long
    /// enough for some four thousand at a time.
    public var queueDelayMilliseconds: UInt64 = 100
    /// How long sockets are left alone while half of that time is queued: enough for several
    /// requests of each of a hundred connections, and never the time that the queue lasts.
    var restMilliseconds: UInt64 { min(max(queueDelayMilliseconds / 5, 1), 10) }
    /// Fewer fill what is read by themselves, and stand still while they are not read.
    static let connectionsToRestFrom = 8
    /// Chains that were not seen before and are validated: some 2 ms each, so a tenth of one
    /// processor. Apple changes its own about once in two years.
    public var unknownChainsPerSecond = 50
    /// Such chains that wait: what the longest time that a request can have is enough for. Any
    /// number of requests can wait for one chain.
    public var unknownChainsWaiting = 1_500
    /// A slice of work that takes longer is a defect: 64 notifications of the largest size take
    /// less than a tenth of a second.
    public var workerStallMilliseconds: UInt64 = 10_000
    /// Answers that the peer has not read. Above, the connection is not read from.
    public var outputBytes = 256 << 10
    /// Frames of one connection in one turn of the loop, so that one that pipelines starves
    /// nobody.
    public var framesPerTurn = 32
    /// Bytes of an answer that count as one of those frames.
    static let answerBytesPerFrame = 4 << 10
    /// Requests that one worker takes at a time: the batched arithmetic gains nothing above it,
    /// and the answers of a slice wait for its last one.
    public var requestsPerSlice = 64
    /// Connections and TLS handshakes at a time; more wait to be accepted. Half of them are shared
    /// out among the listeners (`ListenerShares`). An idle one takes some 1 KB, and a look ten
    /// times a second: so many are nothing, and more than backends that share a server have.
    public var connections = 10_000
    /// Descriptors that connections leave free: one that each listener has accepted and holds back,
    /// and for reading the configuration anew.
    public static let reservedDescriptors = 16
    /// Connections that the system keeps until they are accepted.
    public var backlog = Listener.usualBacklog
    /// A request's time where it names none, and the longest that it can name.
    public var defaultTimeoutMilliseconds: UInt32 = 2_000
    public var longestTimeoutMilliseconds: UInt32 = 30_000
    /// TLS handshakes at a time whose peer has to send more; of more the oldest go, so that silent
    /// peers keep nobody out. And as many that wait for their turn; more wait to be accepted.
    public var handshakes = 1_000
    /// Percent of the loop's thread that TLS handshakes may take, a second's at once; more wait.
    /// One takes as long as some twenty requests: who floods a server with them leaves most of it
    /// to those who are connected, and a restart's are over soon all the same.
    public var handshakePercent = 25
    /// In one turn of the loop: less than a handshake that signs takes, so one of those, or several
    /// that only end.
    static let handshakeNanosecondsPerTurn: UInt64 = 200_000
    /// Who has waited longer for its turn may have given up.
    static let handshakePatienceMilliseconds: UInt64 = 500
    /// A TLS handshake, from the connection's begin.
    public var handshakeMilliseconds: UInt64 = 10_000
    /// A connection with nothing in flight in either direction.
    public var idleMilliseconds: UInt64 = 300_000
    /// A frame may come as slowly as it likes for this long, then at least this fast.
    public var frameGraceMilliseconds: UInt64 = 5_000
    public var frameBytesPerSecond = 64 << 10
    /// Answers of which the peer takes nothing.
    public var writeStallMilliseconds: UInt64 = 10_000
    /// How long a connection that is over waits for the peer to see it.
    public var lingerMilliseconds: UInt64 = 2_000
    /// While draining: a connection without work closes when nothing has come for this long.
    public var drainQuietMilliseconds: UInt64 = 100
    /// How long a server that was asked to end still serves, while those that send it clients
    /// learn of it.
    public var drainDelayMilliseconds: UInt64 = 0
    /// A drain takes no longer, once that time is over.
    public var drainMilliseconds: UInt64 = 10_000

    public init() {}
}

extension ServerLimits {
    var frames: FrameLimits { FrameLimits(frameBytes: frameBytes, headBytes: headBytes) }
}
