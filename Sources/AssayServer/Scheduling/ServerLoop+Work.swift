import Assay
import AssayIO
import AssayModels
import AssayWire

/// Verifies and answers accepted requests.
extension ServerLoop {
    func dispatch() {
        verifyInPlace(batch.takeInPlace())
        let now = now
        let (slices, dropped) = batch.slices(by: queueDelay) { isOver($0, at: now) }
        for request in dropped { drop(request) }
        for slice in slices { submit(slice) }
    }

    /// Ends a turn with work, unless there is more to read. Bytes in sockets have no deadline and
    /// are in no measurable queue, so reading comes first, for up to a slice of time; then the
    /// loop does its own share of the work.
    func work() {
        dispatch()
        if hasMoreToRead, loopShare.mayRead(at: SystemClock.monotonicNanoseconds) {
            // The next poll of the sockets does not block.
            if hasResumedReading { loop.post {} }
            return
        }
        let rest = restMilliseconds()
        loopShare.end = max(loopShare.end, loopShare.worked + rest * 1_000_000)
        while loopShare.mayWork, case let slice = batch.takeShort(), !slice.isEmpty {
            verifyInPlace(slice)
        }
        let left = rest - min(rest, loopShare.worked / 1_000_000)
        if left > 0, batch.hasRunning {
            loop.runJobs(forMilliseconds: left) { dispatch() }
        } else {
            dispatch()
        }
        loopShare = LoopShare(began: SystemClock.monotonicNanoseconds)
        if batch.shortCount > 0 { loop.post {} }
    }

    /// The milliseconds to leave sockets unread and only work, while the queue is long. One read
    /// then brings several requests and one write takes several answers, including refusals: they
    /// cost little more than the system calls, and have to cost less than the work.
    private func restMilliseconds() -> UInt64 {
        guard !isDraining, connections.count >= ServerLimits.connectionsToRestFrom,
            queuedMilliseconds > limits.queueDelayMilliseconds / 2
        else { return 0 }
        return readBackoff.next(atMost: limits.restMilliseconds)
    }

    /// Milliseconds that a request without `mayWait` would wait if it arrived now.
    var queuedMilliseconds: UInt64 {
        queueDelay.milliseconds(
            ofNanoseconds: batch.nanoseconds(by: queueDelay), workers: workers.count)
    }

    /// Whether the deadline has passed or the connection has closed.
    private func isOver(_ request: AcceptedRequest, at now: UInt64) -> Bool {
        request.deadline <= now || request.connection.value.isClosed
    }

    /// Verifies a full slice of single-signature requests while more are being read.
    func verifyFullSlice() {
        if batch.hasFullShortSlice, loopShare.mayWork { verifyInPlace(batch.takeShort()) }
    }

    private func verifyInPlace(_ quick: [AcceptedRequest]) {
        let now = now
        var slice: [AcceptedRequest] = []
        slice.reserveCapacity(quick.count)
        for request in quick {
            if isOver(request, at: now) { drop(request) } else { slice.append(request) }
        }
        if !slice.isEmpty { answerInPlace(slice) }
    }

    private func answerInPlace(_ slice: [AcceptedRequest]) {
        let time = configuration.clock()
        let began = SystemClock.monotonicNanoseconds
        let verified = RequestMapping.verify(slice, at: time, unknownChains: .deferred)
        let ended = SystemClock.monotonicNanoseconds
        // Deferred requests count when they are answered, as in a worker's slice.
        var load = WorkLoad()
        // By index: a loop over the elements would copy each with its policy and expectations.
        for index in slice.indices {
            let request = slice[index]
            // The chain is unknown, or was forgotten since the lookup.
            if let chain = verified[index].unknownChain {
                enqueueUnknownChain(request, for: chain)
                continue
            }
            load.add(request.work)
            let verification = verified[index].verification
            metrics.didAnswer(
                Outcome(request.kind, verification), arrived: request.arrived, began: began,
                now: ended)
            answered(request) { $0.answer(request, verification, at: time) }
        }
        if load.total > 0 { metrics.didVerify(batchOf: load.total) }
        loopShare.worked += SystemClock.monotonicNanoseconds - began
        didFinish(load, took: SystemClock.monotonicNanoseconds - began)
        if let verifier = slice.first(where: \.app.verifier.hasPendingKeyTables)?.app.verifier {
            workers.submit { verifier.buildPendingKeyTables() }
        }
        endIfDrained()
    }

    private func submit(_ slice: [AcceptedRequest]) {
        let load = WorkLoad(slice)
        run(slice, on: workers, unknownChains: .deferred) { server, answers in
            server.batch.workerFinished(load)
            server.didFinish(answers.load, took: answers.ended - answers.began)
        }
    }

    private func didFinish(_ load: WorkLoad, took elapsed: UInt64) {
        let now = SystemClock.monotonicNanoseconds
        queueDelay.didVerify(load, took: elapsed, at: now)
        queueDelay.didFinish(
            load, isBacklogged: batch.waitingCount > 0, workers: workers.count, at: now)
    }

    /// Verifies a slice on another thread. Calls `done` on the loop's thread before the answers
    /// are delivered.
    private func run(
        _ slice: [AcceptedRequest], on pool: WorkerPool, unknownChains: UnknownChainPolicy,
        _ done: @escaping @Sendable (ServerLoop, SliceAnswers) -> Void
    ) {
        let work = watch.begin(at: now)
        let (configuration, loop, codecs) = (configuration, loop, codecs)
        let server = LoopBound(self, to: loop)
        pool.submit {
            let began = SystemClock.monotonicNanoseconds
            let now = configuration.clock()
            let verified = RequestMapping.verify(slice, at: now, unknownChains: unknownChains)
            let answers = codecs.lend { codec in
                SliceAnswers(slice, verified, began: began, at: now, codec: codec)
            }
            loop.post {
                server.value.watch.end(work)
                done(server.value, answers)
                server.value.deliver(answers, of: slice)
            }
            // Not on the chain-validation thread: it gets little time, and no other thread would
            // build them.
            if case .validate = unknownChains { return }
            for request in slice where request.app.verifier.hasPendingKeyTables {
                request.app.verifier.buildPendingKeyTables()
            }
        }
    }

    private func deliver(_ answers: SliceAnswers, of slice: [AcceptedRequest]) {
        let now = SystemClock.monotonicNanoseconds
        let verified = answers.outcomes.count { $0 != nil }
        if verified > 0 { metrics.didVerify(batchOf: verified) }
        var start = 0
        for (index, end) in answers.ends.enumerated() {
            if let outcome = answers.outcomes[index] {
                metrics.didAnswer(
                    outcome, arrived: slice[index].arrived, began: answers.began, now: now)
                answered(slice[index]) { $0.append(answers.bytes[start..<end]) }
            } else if let chain = answers.unknownChains[index] {
                enqueueUnknownChain(slice[index], for: chain)
            }
            start = end
        }
        endIfDrained()
    }

    private func answered(_ request: AcceptedRequest, _ answer: (Connection) -> Void) {
        let connection = request.connection.value
        budget.takeBack(request.cost)
        connection.didAnswer(request.id, request.cost)
        answer(connection)
        touch(connection)
    }

    private func drop(_ request: AcceptedRequest) {
        let answer = ResponseHead.deadlineExceeded(request.id)
        metrics.didDrop(request.connection.value.isClosed ? nil : answer)
        answered(request) { $0.answer(answer) }
    }

    /// Answers overdue requests without verifying them.
    func dropOverdue() {
        let now = now
        for request in batch.removeAll(where: { $0.deadline <= now }) { drop(request) }
        for request in chainQueue.removeAll(where: { isOver($0, at: now) }) { drop(request) }
    }

    /// Queues a receipt whose last byte has been read: one signature is left, and possibly a
    /// chain.
    func finish(_ receipt: ArrivingReceipt, of connection: Connection) {
        let head = receipt.head
        let cost = RequestCost.receipt(receipt.held, receipt.call)
        budget.takeBack(receipt: receipt.held)
        guard budget.admits(cost) else {
            connection.didAnswer(head.id, nil)
            let refusal = ResponseHead.memoryExhausted(head.id)
            metrics.didAnswerAtOnce(.verify, refusal)
            return connection.answer(refusal)
        }
        metrics.didStart(.verify)
        budget.give(cost)
        connection.didAccept(head.id, cost)
        batch.add(
            AcceptedRequest(
                connection: LoopBound(connection, to: loop), id: head.id, app: receipt.app,
                kind: .appReceipt, call: receipt.call, evidence: .receipt(receipt.completed),
                size: receipt.size, cost: cost, deadline: receipt.deadline,
                arrived: arrival(on: connection), mayWait: head.mayWait))
    }

    // MARK: Unknown chains

    private func enqueueUnknownChain(_ request: AcceptedRequest, for chain: ChainID) {
        let (refused, wait) = chainQueue.add(request.forWaiting, chain, at: now)
        for request in refused {
            let refusal = ResponseHead.tooManyUnknownChains(
                request.id, retryAfter: UInt32(clamping: wait))
            metrics.didDrop(refusal)
            answered(request) { $0.answer(refusal) }
        }
    }

    /// Starts the validation of the next unknown chain when its turn comes.
    func advanceChainQueue() {
        let now = now
        let (next, over) = chainQueue.next(at: now) { isOver($0, at: now) }
        for request in over { drop(request) }
        switch next {
        case .nothing: break
        case .later(let wait):
            chainQueueTimer.start(afterMilliseconds: wait) { [unowned self] in
                advanceChainQueue()
                writeAnswers()
            }
        case .verify(let request):
            run([request], on: chainWorkers, unknownChains: .validate) { server, _ in
                server.metrics.validatedChains += 1
                server.batch.addFirst(server.chainQueue.finish())
            }
        }
    }

    // MARK: Stalls

    /// Logs when a thread exceeds its time limit, and when it is back.
    func checkStall() {
        guard watch.check(at: now) else { return }
        log.write(
            watch.isStalled ? .error : .info, watch.isStalled ? "worker_stalled" : "worker_is_back",
            ["limit_ms": .number(Int(limits.workerStallMilliseconds))])
    }
}
