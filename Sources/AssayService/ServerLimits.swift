import Assay
import AssayTelemetry
import AssayWire

/// The limits of the server, each with its reason.
public struct ServerLimits: Sendable {
    /// Bytes of a frame, without its length prefix.
    public var frameBytes = FrameLimits.request.frameBytes
    /// Bytes of a frame's head.
    package var headBytes = FrameLimits.request.headBytes
    /// Bytes of the body of a JWS kind: the verifier's own limit.
    package var jwsBytes = Limits.jwsBytes
    /// Bytes of the body of a notification: the verifier's own limit.
    package var notificationBytes = Limits.notificationBytes
    /// Bytes of the body of a Server API answer: the verifier's own limit.
    package var serverAnswerBytes = Limits.serverAnswerBytes
    /// Bytes of the body of a version 1 notification: the verifier's own limit.
    package var notificationV1Bytes = Limits.notificationV1Bytes
    /// Bytes of a JSON body over HTTP: a receipt of 3 MB in base64. Such a body is held whole; raw
    /// evidence can be larger.
    package var httpJSONBytes = 4 << 20
    /// Bytes of the evidence that names the transaction of a Fetch, and of a request of HTTP with
    /// it: a receipt of 1,000 purchases has 300 KB.
    package static let fetchEvidenceBytes = 1 << 20
    /// Bytes of the body of `/v1/sign/…`: a request of Advanced Commerce with 100 items has 20 KB.
    package static let httpSignBytes = 64 << 10
    /// JSON bodies above this size are parsed on a background thread: a token with its expectations
    /// has less.
    /// A body of this size takes a quarter of a millisecond at worst.
    package static let bytesParsedInPlace = 8 << 10
    /// Bytes of an arriving receipt that are verified at a time: they fit in the processor's cache,
    /// and take 0.3 ms at worst.
    package static let receiptSliceBytes = 32 << 10
    /// Bytes of a message that are kept at a time while its evidence has not begun.
    package static let seekBytes = 32 << 10
    /// Names and values in a JSON body. Evidence is one value; expectations and durations have a
    /// few thousand.
    package static let jsonValues = 100_000
    /// Product ids in expectations, and products with a duration: more than an app has.
    package static let products = 2_048
    /// Environments in expectations: more than Apple has.
    package static let environments = 16
    /// Bytes of a refused body of HTTP that are read so that the connection can go on. The
    /// connection ends where a body has more.
    package static let refusedBodyBytes = 4 << 20
    /// App receipts above this size are verified while they arrive. Smaller ones arrive whole in
    /// one or two reads and join the batch like all other evidence.
    package var streamedReceiptBytes = 64 << 10
    /// Requests of one connection that are being verified. Further requests are rejected, or wait
    /// if they set `mayWait`.
    package var requestsInFlight = RequestLimits.inFlight
    /// Items in one Resolve.
    package var resolveItems = RequestLimits.resolveItems
    /// The answer to a Resolve with more items is computed on a background thread. Those of fewer
    /// items take a fraction of a millisecond.
    static let itemsDecidedInPlace = 200
    /// Evidence bytes of those requests: 32 KB each, above the usual notification. A connection
    /// over this limit is not read until some requests are answered.
    package var evidenceBytesPerConnection = 32 << 20
    /// Bytes held for all connections: evidence that is being verified, frames and receipts that
    /// are arriving, answers that peers have not read. Over this limit, requests are rejected
    /// until memory is freed.
    public var evidenceBytes = 256 << 20
    /// When memory is low, receipts that arrive more slowly than this are rejected, the slowest
    /// first. A client in the same network sends a hundred times faster.
    static let slowReceiptBytesPerSecond = 1 << 20
    /// Bytes kept of a frame whose head is incomplete while the memory is exhausted.
    package var unansweredBytes = 4 << 10
    /// The longest time that an accepted request waits for its verification. Requests that would
    /// wait longer are rejected at once: a longer queue does not answer more requests, it only
    /// answers them later, and their evidence leaves the processor's cache. Long enough for about
    /// four thousand requests at a time. A lasting overload shortens it: see `QueueLimit`.
    public var queueDelayMilliseconds: UInt64 = 100
    /// How long sockets are left unread while half of that delay is queued: long enough for
    /// several requests of each of a hundred connections, and always shorter than the queue.
    var restMilliseconds: UInt64 { min(max(queueDelayMilliseconds / 5, 1), 10) }
    /// The number of connections from which reads pause under load. Fewer connections fill their
    /// reads without a pause, and stall while they are not read.
    static let connectionsToRestFrom = 8
    /// Unknown chains validated per second. One takes 0.2 to 0.4 ms where the keys of root and
    /// intermediate have tables, so the default is a tenth of one processor. In the first second
    /// after a start, and without tables, it takes 1 to 2 ms. Apple changes its own chains about
    /// once in two years.
    public var unknownChainsPerSecond = 300
    /// Unknown chains that wait for validation: those of five seconds. A longer queue would cost
    /// the loop more at each turn. Any number of requests can wait for one chain.
    package var unknownChainsWaiting = 1_500
    /// A slice of work that takes longer is a defect: 64 notifications of the largest size take
    /// less than a tenth of a second.
    package var workerStallMilliseconds: UInt64 = 10_000
    /// Answer bytes that the peer has not read. Over this limit, the connection is not read.
    package var outputBytes = 256 << 10
    /// Frames taken from one connection in one turn of the loop, so that a connection that
    /// pipelines does not starve the others.
    package var framesPerTurn = 32
    /// The time that counts as one of those frames, where the requests of a turn take longer than
    /// their number says: one of gRPC or of JSON takes several times as long as a frame.
    package static let nanosecondsPerFrame: UInt64 = 4_000
    /// Bytes of an answer that count as one of those frames.
    package static let answerBytesPerRequest = 4 << 10
    /// Requests that one thread takes at a time. The batched arithmetic gains nothing above it,
    /// and the answers of a slice wait for its last request.
    package var requestsPerSlice = 64
    /// Connections and TLS handshakes at a time; more wait to be accepted. Half are divided among
    /// the listeners (`ListenerSockets`). An idle connection costs a check every 100 ms and memory,
    /// which counts in `evidenceBytes`: 1 to 2 KB, with HTTP/2 14 KB more, with TLS 20 KB more. The
    /// default is more than the number of backends that share a server.
    public var connections = 10_000
    /// Descriptors that connections leave free: one accepted connection held back by each
    /// listener, and the files read by a reload.
    package static let reservedDescriptors = 16
    /// The limit of the admin listener's connections: more than supervisors, scrapers and browsers
    /// open. They have descriptors of their own, at most an eighth of the process's, so that
    /// they and the clients don't keep each other out.
    package static func adminConnections(ofDescriptors descriptors: Int) -> Int {
        max(min(256, descriptors / 8), 1)
    }
    /// Timeout of a request that names none.
    public var defaultTimeoutMilliseconds: UInt32 = 2_000
    /// The longest timeout that a request can name.
    public var longestTimeoutMilliseconds: UInt32 = 30_000
    /// Fetches at a time. Apple allows 50 requests a second of a kind and answers in a tenth of a
    /// second, so this many keep one app at its limit. A connection gets half of the free slots.
    public var fetches = 32
    /// Bytes of the App Store's answers to one Fetch: those of about 800 transactions. Memory is
    /// reserved as they arrive; all fetches together get a quarter of `evidenceBytes`.
    package var fetchBytes = 4 << 20
    /// Bytes that a Fetch reserves at its start: those of a customer with a few purchases.
    static let fetchStartBytes = 64 << 10
    /// Pages of the App Store's answers to one Fetch: 1,000 transactions.
    package var fetchPages = 50
    /// Timeout of a Fetch that names none: several pages, and a pause for Apple's rate limit.
    package var fetchTimeoutMilliseconds: UInt32 = 30_000
    /// The longest timeout that a Fetch can name.
    package var longestFetchTimeoutMilliseconds: UInt32 = 120_000
    /// TLS handshakes at a time that wait for their peer. Above this number the oldest are
    /// closed, so that silent peers keep no one out. The same number of handshakes can be queued;
    /// more wait to be accepted.
    package var handshakes = 1_000
    /// Percent of the loop's thread available to TLS handshakes, with a burst of one second; more
    /// are queued. A handshake takes as long as about twenty requests. A flood of handshakes
    /// leaves most of the thread to established connections, and the handshakes after a restart
    /// still finish soon.
    package var handshakePercent = 25
    /// Handshake time in one turn of the loop. It is less than a signing handshake takes, so a
    /// turn runs one of those, or several that only complete.
    package static let handshakeNanosecondsPerTurn: UInt64 = 200_000
    /// A peer whose handshake was queued for longer has possibly disconnected.
    package static let handshakePatienceMilliseconds: UInt64 = 500
    /// Longest duration of a TLS handshake, from the start of the connection.
    package var handshakeMilliseconds: UInt64 = 10_000
    /// Time after which a connection without input counts as silent. While memory is low, silent
    /// ones are closed. Longer than a client of many small requests pauses.
    package static let silenceMilliseconds: UInt64 = 1_000
    /// Longest time of a connection with nothing in flight in either direction.
    public var idleMilliseconds: UInt64 = 300_000
    /// A frame can arrive at any rate during the grace period, and then at no less than
    /// `frameBytesPerSecond`.
    public var frameGraceMilliseconds: UInt64 = 5_000
    /// The slowest rate of a frame after the grace period.
    package var frameBytesPerSecond = 64 << 10
    /// Longest time in which the peer reads nothing of its answers.
    public var writeStallMilliseconds: UInt64 = 10_000
    /// How long a finished connection waits for the peer to close.
    package var lingerMilliseconds: UInt64 = 2_000
    /// While draining, a connection without work closes after this time without input.
    package var drainQuietMilliseconds: UInt64 = 100
    /// How long a stopping server still serves, while load balancers learn that it stops.
    public var drainDelayMilliseconds: UInt64 = 0
    /// Longest duration of a drain, after the drain delay.
    public var drainMilliseconds: UInt64 = 10_000

    /// Creates the default limits.
    public init() {}
}

extension FrameDecoder {
    /// Creates a decoder of a client's frames.
    package init(for limits: ServerLimits) {
        self.init(
            limits: FrameLimits(frameBytes: limits.frameBytes, headBytes: limits.headBytes),
            reportsHeads: true)
    }
}
