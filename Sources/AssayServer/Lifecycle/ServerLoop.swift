import Assay
import AssayIO
import AssayModels
import AssayWire

/// The server on its loop's thread: listeners, connections, the batch.
final class ServerLoop {
    let loop: EventLoop
    private(set) var configuration: ServerConfiguration
    /// Looked up once, and not for each of the many requests that name none.
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
    /// For chains that were not seen before.
    let chainWorkers: WorkerPool
    let report: @Sendable (ServerEvent) -> Void

    var listeners: [Listener] = []
    var endpoints: [Endpoint] { listeners.map(\.endpoint) }
    private(set) var connections: [ObjectIdentifier: Connection] = [:]
    private var lastConnectionNumber: UInt64 = 0
    /// Connections with something to write, or to look at, at the end of this turn.
    private var touched: [Connection] = []
    /// Connections that have had their share of this turn and have more.
    private var waiting: [Connection] = []
    var batch: Batch
    var chainQueue: ChainValidationQueue
    var queueDelay = QueueDelay()
    var readBackoff = ReadBackoff()
    var loopShare = LoopShare(began: 0)
    /// When sockets were looked at before the present turn.
    private var lastLook = SocketLook()
    /// In this turn, of a connection that had used up its share of an earlier one.
    var hasResumedReading = false
    var budget: Budget
    var receiptTurns = ReceiptTurns()
    var spareOutputs = SpareOutputs()
    var memoryReturn = MemoryReturn()
    var watch: StallWatch
    /// The sockets of each listener's clients.
    var shares = ListenerShares(limit: 0)
    /// No connection is accepted until one has been closed.
    var isShortOfDescriptors = false
    /// The descriptors that the process had when it began to listen.
    var ownDescriptors = 0
    /// The same for connections of TLS, until fewer handshakes wait.
    var isAcceptingTLSPaused = false
    /// A connection with this descriptor or a higher one leaves too few.
    let descriptorsMost = Descriptors.limit - ServerLimits.reservedDescriptors
    var turnEnd: TurnEnd?
    var heartbeat: Timer?
    /// Nil without listeners of TLS.
    var handshakes: Handshakes?
    var sweepTimer: Timer?
    /// Wakes the queue of unknown chains when its next turn has come.
    let chainQueueTimer: Timer

    private(set) var turn: UInt64 = 0
    /// Changed by the drain alone.
    var phase = Phase.serving

    /// How often time is looked at; limits are seconds.
    private static let sweepMilliseconds: UInt64 = 100
    /// A loop that was kept from running for so long has bytes to read before it may judge.
    private static let lateSweepMilliseconds: UInt64 = 1_000
    private var lastSweep: UInt64 = 0

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

    /// For what comes from now on.
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

    /// - Parameter lastWord: what it is told before its connection ends; nil: it is served.
    func accept(_ stream: Stream, lastWord: ResponseHead? = nil) {
        let connection = Connection(stream, server: self)
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
        metrics.connectionsAccepted += 1
        if let lastWord {
            refuse(connection, lastWord)
        } else if isDraining {
            // Not its end: what it has sent already is answered, request by request.
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

    /// The connection's next turn comes at once, and not with the next byte of anybody.
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

    /// The reason comes from this process's own words, and OpenSSL's.
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

    /// All that was ready has been read: the batch goes to the workers, answers are written.
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

    /// Whether connections wait for their next turn, with bytes at hand, or are read from again
    /// and their sockets have not been looked at.
    var hasMoreToRead: Bool {
        !waiting.isEmpty || !receiptTurns.isEmpty || hasResumedReading
    }

    /// Since when what has just been read may have been in its socket, in the loop's milliseconds.
    var earliestArrival: UInt64 { lastLook.earliestArrival(at: now) }

    /// The same of what a connection has read last, in nanoseconds. Within the turn that has read
    /// it, it is new.
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
        // Timers come before a turn's wait: nothing may be left over for its end.
        writeAnswers()
        publish()
        endIfDrained()
    }

    // MARK: Requests

    /// The head of a frame; nil where it is unusable, and the client has been told.
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

    /// Entries are chosen by the octets of their names: a dictionary of strings would also find
    /// names that are only equivalent in Unicode.
    func app(named name: String) -> AppEntry? {
        guard !name.isEmpty else { return defaultApp }
        let apps = configuration.apps
        guard let place = apps.index(forKey: name), apps[place].key.utf8.elementsEqual(name.utf8)
        else { return nil }
        return apps[place].value
    }

    /// From the frame's first byte on.
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
        // What is soon verified holds its slab for a moment, together with others there.
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
