import Assay
import AssayIO
import AssayModels
import AssayWire

/// The server's state on its loop's thread: listeners, connections, the batch.
final class ServerLoop {
    let loop: EventLoop
    private(set) var configuration: ServerConfiguration
    /// Cached, because many requests name no app.
    private var defaultApp: AppEntry?
    var limits: ServerLimits { configuration.limits }
    private(set) var decoder: FrameDecoder
    let codec = MessageCodec()
    let codecs = IdleCodecs()
    var refusals = PreparedRefusals()

    let log: Log
    private var faults = FaultLog()
    var metrics = ServerMetrics()
    let workers: WorkerPool
    /// The worker that validates unknown chains.
    let chainWorkers: WorkerPool
    let report: @Sendable (ServerEvent) -> Void

    var listeners: [Listener] = []
    var endpoints: [Endpoint] { listeners.map(\.endpoint) }
    private(set) var connections: [ObjectIdentifier: Connection] = [:]
    private var lastConnectionNumber: UInt64 = 0
    /// Connections to flush at the end of this turn.
    private var touched: [Connection] = []
    /// Connections that used up their share of this turn and have more bytes.
    private var waiting: [Connection] = []
    var batch: Batch
    var chainQueue: ChainValidationQueue
    var queueDelay = QueueDelay()
    var readBackoff = ReadBackoff()
    var loopShare = LoopShare(began: 0)
    /// The times of the previous turn.
    private var lastLook = SocketLook()
    /// Whether reading resumed in this turn for a connection that had used up its share of an
    /// earlier one.
    var hasResumedReading = false
    var budget: Budget
    var receiptTurns = ReceiptTurns()
    var spareOutputs = SpareOutputs()
    var memoryReturn = MemoryReturn(resident: ProcessFacts.ownResidentBytes)
    var watch: StallWatch
    /// The sockets of each listener's clients.
    var shares = ListenerShares(limit: 0)
    /// Accepts no connection until one has closed.
    var isShortOfDescriptors = false
    /// Descriptors in use when the server began to listen.
    var ownDescriptors = 0
    /// Accepts no TLS connection until the queue of handshakes has drained to half.
    var isAcceptingTLSPaused = false
    /// A connection with this descriptor or a higher one leaves too few descriptors free.
    let descriptorsMost = Descriptors.limit - ServerLimits.reservedDescriptors
    var turnEnd: TurnEnd?
    var heartbeat: Timer?
    /// Nil without TLS listeners.
    var handshakes: Handshakes?
    var sweepTimer: Timer?
    /// Wakes the chain-validation queue when its next turn comes.
    let chainQueueTimer: Timer

    private(set) var turn: UInt64 = 0
    /// Changed only by the drain.
    var phase = Phase.serving

    /// How often timeouts are checked; the limits are seconds.
    private static let sweepMilliseconds: UInt64 = 100
    /// After a delay of this length, the loop has bytes to read before it judges its peers.
    private static let lateSweepMilliseconds: UInt64 = 1_000
    private var lastSweep: UInt64 = 0

    /// Creates the state of a server.
    ///
    /// - Parameter report: called for each event, on the loop's thread.
    init(
        _ configuration: ServerConfiguration, on loop: EventLoop, workers: WorkerPool,
        report: @escaping @Sendable (ServerEvent) -> Void
    ) throws(LoopError) {
        self.configuration = configuration
        defaultApp = configuration.defaultApp.flatMap { configuration.apps[$0] }
        self.loop = loop
        self.workers = workers
        self.report = report
        log = Log(sink: configuration.log, clock: configuration.clock)
        decoder = Self.decoder(configuration.limits)
        batch = Batch(
            workers: workers.count, requestsPerSlice: configuration.limits.requestsPerSlice,
            hasOneProcessor: configuration.hasOneProcessor)
        let limits = configuration.limits
        chainQueue = ChainValidationQueue(
            chainsPerSecond: limits.unknownChainsPerSecond, chainsMost: limits.unknownChainsWaiting)
        budget = Budget(limit: limits.evidenceBytes) { [loop] in loop.receivedBytes }
        watch = StallWatch(limit: limits.workerStallMilliseconds)
        chainQueueTimer = try Timer(on: loop)
        chainWorkers = try WorkerPool(
            count: 1, name: "assay-unseen", givesWay: true)
        turnEnd = try TurnEnd(on: loop) { [self] in endTurn() }
        let timer = try Timer(on: loop)
        timer.start(
            afterMilliseconds: Self.sweepMilliseconds, everyMilliseconds: Self.sweepMilliseconds
        ) { [self] in sweep() }
        sweepTimer = timer
        logTrust()
    }

    private static func decoder(_ limits: ServerLimits) -> FrameDecoder {
        FrameDecoder(limits: limits.frames, reportsHeads: true)
    }

    var now: UInt64 { loop.now }

    /// Applies a configuration to later requests and connections.
    func take(_ new: ServerConfiguration) {
        configuration = new
        defaultApp = new.defaultApp.flatMap { new.apps[$0] }
        if let tls = new.tls { handshakes?.context = tls }
        handshakes?.change(percent: new.limits.handshakePercent)
        decoder = Self.decoder(new.limits)
        budget.limit = new.limits.evidenceBytes
        watch.limit = new.limits.workerStallMilliseconds
        chainQueue.change(
            chainsPerSecond: new.limits.unknownChainsPerSecond,
            chainsMost: new.limits.unknownChainsWaiting)
        shares.limit = socketLimit
        updateAccepting()
    }

    /// Adds a connection.
    ///
    /// - Parameter lastWord: an error response after which the connection ends; nil to serve it.
    func accept(_ stream: Stream, lastWord: ResponseHead? = nil) {
        let connection = Connection(stream, server: self)
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
        metrics.connectionsAccepted += 1
        if let lastWord {
            refuse(connection, lastWord)
        } else if isDraining {
            // Not ended: requests that it has already sent are answered one by one.
            connection.noticeDrain()
        } else if let refusal = refusal(of: stream) {
            logFault("a peer who is not allowed")
            refuse(connection, refusal)
        }
    }

    private func refuse(_ connection: Connection, _ reason: ResponseHead) {
        metrics.connectionsRefused += 1
        connection.end(reason)
    }

    func nextConnectionNumber() -> UInt64 {
        lastConnectionNumber += 1
        return lastConnectionNumber
    }

    func didClose(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
        endIfDrained()
    }

    func touch(_ connection: Connection) {
        guard !connection.isTouched else { return }
        connection.isTouched = true
        touched.append(connection)
    }

    /// Queues a turn for the connection, which comes without waiting for further input.
    func enqueueTurn(for connection: Connection) {
        waiting.append(connection)
        guard waiting.count == 1 else { return }
        let server = LoopBound(self, to: loop)
        loop.post { server.value.giveTurns() }
    }

    func logFault(_ reason: StaticString) {
        metrics.didFail(reason)
        faults.write("\(reason)", to: log, now: now)
    }

    /// The reason contains text of this process and of OpenSSL only.
    func logFault(_ error: TLSError) {
        metrics.didFail("TLS failed")
        faults.write(error.description, to: log, now: now)
    }

    var holdings: ServerHoldings {
        var holdings = ServerHoldings()
        holdings.connections = connections.count
        holdings.evidenceBytes = budget.evidence + budget.receipts
        holdings.bufferedBytes = budget.buffered
        holdings.heldBytes = budget.held
        holdings.waiting = batch.waitingCount
        holdings.unknownChains = chainQueue.chainCount + (chainQueue.running == nil ? 0 : 1)
        holdings.unknownChainRequests = chainQueue.requestCount
        holdings.turns = turn
        holdings.handshakes = handshakes?.count ?? 0
        holdings.handshakesWaiting = handshakes?.waitingCount ?? 0
        for connection in connections.values {
            holdings.unwrittenBytes += connection.unwrittenCount
            holdings.requestsInFlight += connection.inFlight.count
        }
        return holdings
    }

    // MARK: Turns

    /// Ends a turn, after all ready sockets were read: gives the batch to the workers and writes
    /// answers.
    private func endTurn() {
        turn += 1
        let began = now
        work()
        hasResumedReading = false
        advanceChainQueue()
        writeAnswers()
        workHandshakes()
        lastLook = SocketLook(
            began: began, ended: SystemClock.monotonicNanoseconds / 1_000_000)
        requestReceiptTurns()
    }

    /// Whether connections with received bytes wait for their next turn, or resumed reading and
    /// were not polled yet.
    var hasMoreToRead: Bool {
        !waiting.isEmpty || !receiptTurns.isEmpty || hasResumedReading
    }

    /// The earliest time at which the bytes just read arrived in their socket, in milliseconds of
    /// the loop's clock.
    var earliestArrival: UInt64 { lastLook.earliestArrival(at: now) }

    /// The arrival time of the bytes that a connection read last, in nanoseconds of the monotonic
    /// clock.
    func arrival(on connection: Connection) -> UInt64 {
        SystemClock.monotonicNanoseconds - connection.age * 1_000_000
    }

    func writeAnswers() {
        let connections = touched
        touched.removeAll(keepingCapacity: true)
        for connection in connections {
            connection.isTouched = false
            connection.flush()
        }
    }

    private func giveTurns() {
        let unfinished = waiting
        waiting.removeAll(keepingCapacity: true)
        for connection in unfinished { connection.takeTurn() }
    }

    private func sweep() {
        dropOverdue()
        queueDelay.age(at: SystemClock.monotonicNanoseconds)
        checkStall()
        let isLate = now - lastSweep > Self.lateSweepMilliseconds
        lastSweep = now
        for connection in connections.values { connection.sweep(isLate: isLate) }
        refuseSlowReceipts()
        returnMemory()
        faults.flush(to: log)
        sweepHandshakes()
        advanceDrain()
        // Timers run before the loop blocks: no answer can be left for the end of a turn.
        writeAnswers()
        publish()
        endIfDrained()
    }

    // MARK: Requests

    /// Decodes the head of a frame. Returns nil for an unusable head, after answering with an
    /// error.
    func decode(_ bytes: SlabBytes, for connection: Connection) -> RequestHead? {
        do throws(MessageError) {
            return try codec.decodeRequest(bytes.span)
        } catch {
            let status: Status = error == .tooLarge ? .resourceExhausted : .invalidArgument
            let refusal = ResponseHead(
                id: MessageCodec.leadingId(of: bytes.span), status: status,
                message: "the head can't be used: \(error)")
            metrics.didAnswerAtOnce(.unknown, refusal)
            connection.answer(refusal)
            return nil
        }
    }

    /// Finds an app entry by the octets of its name: a dictionary of strings also matches names
    /// that are canonically equivalent in Unicode.
    func app(named name: String) -> AppEntry? {
        guard !name.isEmpty else { return defaultApp }
        let apps = configuration.apps
        guard let place = apps.index(forKey: name), apps[place].key.utf8.elementsEqual(name.utf8)
        else { return nil }
        return apps[place].value
    }

    /// The deadline of a request, which counts from the first byte of its frame.
    func deadline(of head: RequestHead, began: UInt64?) -> UInt64 {
        let timeout =
            head.timeoutMilliseconds == 0
            ? limits.defaultTimeoutMilliseconds
            : min(head.timeoutMilliseconds, limits.longestTimeoutMilliseconds)
        return (began ?? now) + UInt64(timeout)
    }

    func accept(
        _ head: RequestHead, _ call: VerifyCall, _ body: SlabBytes, from connection: Connection,
        began: UInt64?
    ) {
        guard let app = app(named: head.app), let kind = call.kind else { return }
        // Evidence that is verified soon shares its slab with other requests; copied for a long
        // wait.
        let body = batch.isLong ? body.forWaiting : body
        let cost = RequestCost.whole(body.count, call)
        connection.didAccept(head.id, cost)
        budget.give(cost)
        metrics.didStart(.verify)
        batch.add(
            AcceptedRequest(
                connection: LoopBound(connection, to: loop), id: head.id, app: app, kind: kind,
                call: call, evidence: .whole(body), size: body.count, cost: cost,
                deadline: deadline(of: head, began: began), arrived: arrival(on: connection),
                mayWait: head.mayWait))
        verifyFullSlice()
    }
}
