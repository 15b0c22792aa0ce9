import Assay
import AssayLoop
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
    private let codecs = IdleCodecs()

    let log: Log
    private var faults = FaultLog()
    var metrics = ServerMetrics()
    let workers: WorkerPool
    let report: @Sendable (ServerEvent) -> Void

    var listeners: [Listener] = []
    var endpoints: [Endpoint] { listeners.map(\.endpoint) }
    private(set) var connections: [Swift.ObjectIdentifier: Connection] = [:]
    /// Connections with something to write, or to look at, at the end of this turn.
    private var touched: [Connection] = []
    /// Connections that have had their share of this turn and have more.
    private var waiting: [Connection] = []
    private(set) var batch: Batch
    /// Evidence that was accepted and is not answered.
    private(set) var evidenceBytes = 0
    /// What the connections have received of frames that are not complete, or not taken yet.
    var bufferedBytes = 0
    var turnEnd: TurnEnd?
    var heartbeat: Timer?
    /// Nil without listeners of TLS.
    var handshakes: Handshakes?
    var sweepTimer: Timer?

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
        decoder = FrameDecoder(configuration.limits)
        batch = Batch(
            workers: workers.count, requestsPerPiece: configuration.limits.requestsPerPiece,
            hasOneProcessor: configuration.hasOneProcessor)
        turnEnd = try TurnEnd(on: loop) { [self] in endTurn() }
        let timer = try Timer(on: loop)
        timer.start(
            afterMilliseconds: Self.sweepMilliseconds, everyMilliseconds: Self.sweepMilliseconds
        ) { [self] in sweep() }
        sweepTimer = timer
    }

    var now: UInt64 { loop.now }

    /// For what comes from now on.
    func take(_ new: ServerConfiguration) {
        configuration = new
        defaultApp = new.defaultApp.flatMap { new.apps[$0] }
        if let tls = new.tls { handshakes?.context = tls }
        decoder = FrameDecoder(new.limits)
    }

    /// - Parameter lastWord: what it is told before its connection ends; nil: it is served.
    func accept(_ stream: Stream, lastWord: ResponseHead? = nil) {
        let connection = Connection(stream, server: self)
        connections[Swift.ObjectIdentifier(connection)] = connection
        connection.start()
        metrics.connectionsAccepted += 1
        if let lastWord {
            connection.end(lastWord)
        } else if isDraining {
            // Not its end: what it has sent already is answered, request by request.
            connection.noticeDrain()
        } else if connections.count > limits.connections {
            logFault("too many connections")
            metrics.connectionsRefused += 1
            connection.end(.tooManyConnections)
        } else if let refusal = refusal(of: stream) {
            logFault("a peer who is not allowed")
            connection.end(refusal)
        }
    }

    func didClose(_ connection: Connection) {
        connections[Swift.ObjectIdentifier(connection)] = nil
        endIfDrained()
    }

    func touch(_ connection: Connection) {
        guard !connection.isTouched else { return }
        connection.isTouched = true
        touched.append(connection)
    }

    /// The connection's next turn comes at once, and not with the next byte of anybody.
    func waitsForTurn(_ connection: Connection) {
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
        holdings.evidenceBytes = evidenceBytes
        holdings.bufferedBytes = bufferedBytes
        holdings.turns = turn
        holdings.handshakes = handshakes?.count ?? 0
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
        dispatch()
        writeAnswers()
    }

    private func writeAnswers() {
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
        let isLate = now - lastSweep > Self.lateSweepMilliseconds
        lastSweep = now
        for connection in connections.values { connection.sweep(isLate: isLate) }
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

    func app(named name: String) -> AppEntry? {
        name.isEmpty ? defaultApp : configuration.apps[name]
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
        connection.didAccept(head.id, bytes: body.count)
        evidenceBytes += body.count
        metrics.didStart(.verify)
        batch.add(
            AcceptedRequest(
                connection: LoopBound(connection, to: loop), id: head.id, app: app, kind: kind,
                call: call, evidence: body, deadline: deadline(of: head, began: began),
                arrived: SystemClock.monotonicNanoseconds))
    }

    // MARK: Work

    private func dispatch() {
        verifyInPlace(batch.takeInPlace(where: \.isQuick))
        let now = now
        // Nobody waits for what is over, or whose connection has gone.
        let (pieces, dropped) = batch.pieces {
            $0.deadline <= now || $0.connection.value.isClosed
        }
        for request in dropped { drop(request) }
        for piece in pieces { submit(piece) }
    }

    private func verifyInPlace(_ quick: [AcceptedRequest]) {
        guard !quick.isEmpty else { return }
        let (now, time) = (now, configuration.clock())
        var piece: [AcceptedRequest] = []
        piece.reserveCapacity(min(quick.count, limits.requestsPerPiece))
        for request in quick {
            if request.deadline <= now || request.connection.value.isClosed {
                drop(request)
            } else {
                piece.append(request)
            }
            if piece.count == limits.requestsPerPiece {
                verifyInPlace(&piece, at: time)
                // The first answers need not wait for the last.
                writeAnswers()
            }
        }
        verifyInPlace(&piece, at: time)
        endIfDrained()
    }

    private func verifyInPlace(_ piece: inout [AcceptedRequest], at time: Timestamp) {
        guard !piece.isEmpty else { return }
        let began = SystemClock.monotonicNanoseconds
        let verifications = Exchange.verify(piece, at: time)
        let ended = SystemClock.monotonicNanoseconds
        metrics.didVerify(batchOf: piece.count)
        for index in piece.indices {
            let request = piece[index]
            metrics.didAnswer(
                Outcome(request.kind, verifications[index]), arrived: request.arrived,
                began: began, now: ended)
            let answer = Exchange.answer(
                verifications[index], to: request.id, request.call, at: time)
            answered(request) { $0.answer(answer.head, body: answer.body) }
        }
        if let verifier = piece.first(where: \.app.verifier.hasPendingKeyTables)?.app.verifier {
            workers.submit { verifier.buildPendingKeyTables() }
        }
        piece.removeAll(keepingCapacity: true)
    }

    private func submit(_ piece: [AcceptedRequest]) {
        let (configuration, loop, codecs) = (configuration, loop, codecs)
        let work = LoopBound(self, to: loop)
        workers.submit {
            let began = SystemClock.monotonicNanoseconds
            let now = configuration.clock()
            let verifications = Exchange.verify(piece, at: now)
            let answers = codecs.lend { codec in
                PieceAnswers(piece, verifications, began: began, at: now, codec: codec)
            }
            loop.post { work.value.deliver(answers, of: piece) }
            for request in piece where request.app.verifier.hasPendingKeyTables {
                request.app.verifier.buildPendingKeyTables()
            }
        }
    }

    private func deliver(_ answers: PieceAnswers, of piece: [AcceptedRequest]) {
        batch.workerIsIdle()
        let now = SystemClock.monotonicNanoseconds
        metrics.didVerify(batchOf: piece.count)
        var start = 0
        for (index, request) in piece.enumerated() {
            let end = answers.ends[index]
            metrics.didAnswer(
                answers.outcomes[index], arrived: request.arrived, began: answers.began, now: now)
            answered(request) { $0.append(answers.bytes[start..<end]) }
            start = end
        }
        endIfDrained()
    }

    private func answered(_ request: AcceptedRequest, _ answer: (Connection) -> Void) {
        let connection = request.connection.value
        evidenceBytes -= request.evidence.count
        precondition(evidenceBytes >= 0)
        connection.didAnswer(request.id, bytes: request.evidence.count)
        answer(connection)
        touch(connection)
    }

    private func drop(_ request: AcceptedRequest) {
        let answer = ResponseHead.deadlineExceeded(request.id)
        metrics.didDrop(request.connection.value.isClosed ? nil : answer)
        answered(request) { $0.answer(answer) }
    }

    /// Requests whose time was over before their turn are told so, and not worked on.
    private func dropOverdue() {
        let now = now
        for request in batch.removeAll(where: { $0.deadline <= now }) { drop(request) }
    }

    /// The last byte of a receipt has been read: one signature is left, and perhaps a chain.
    func finish(_ receipt: ArrivingReceipt, of connection: Connection) {
        let (id, call, bytes) = (receipt.head.id, receipt.call, receipt.received)
        metrics.didStart(.verify)
        guard receipt.deadline > now else {
            let answer = ResponseHead.deadlineExceeded(id)
            metrics.didDrop(answer)
            connection.didAnswer(id, bytes: 0)
            return connection.answer(answer)
        }
        // What was read is not kept, but its answer may be as long.
        connection.didAccept(id, bytes: bytes)
        evidenceBytes += bytes
        let completed = receipt.completed
        let arrived = SystemClock.monotonicNanoseconds
        let (clock, loop) = (configuration.clock, loop)
        let work = LoopBound((server: self, connection: connection), to: loop)
        workers.submit {
            let began = SystemClock.monotonicNanoseconds
            let now = clock()
            let verification = completed.finish(at: now)
            let outcome = Outcome(.appReceipt, verification)
            let answer = Exchange.answer(verification, to: id, call, at: now)
            var frame: [UInt8] = []
            MessageCodec().encodeFrame(answer.head, body: answer.body, into: &frame)
            let encoded = frame
            loop.post {
                let (server, connection) = work.value
                server.evidenceBytes -= bytes
                server.metrics.didVerify(batchOf: 1)
                server.metrics.didAnswer(
                    outcome, arrived: arrived, began: began,
                    now: SystemClock.monotonicNanoseconds)
                connection.didAnswer(id, bytes: bytes)
                connection.append(encoded[...])
                server.touch(connection)
            }
        }
    }
}
