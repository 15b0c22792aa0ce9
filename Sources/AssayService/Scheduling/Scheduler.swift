package import Assay
package import AssayIO
import AssayModels
package import AssayTelemetry
package import AssayWire

/// Verifies admitted requests and delivers their answers.
///
/// Owns the batch, the chain-validation queue and its thread, the measurements that predict
/// delays, the loop's quota of work, and the watch over stalled threads. Belongs to the loop's
/// thread.
package final class Scheduler {
    let context: ServiceContext
    /// Has the answers written that a timer's work has made.
    let writeAnswers: () -> Void
    /// For answers that are encoded on the loop's thread.
    let codec: MessageCodec
    /// Takes what would keep the loop's sockets waiting.
    let background: any Executor
    let codecs = IdleCodecs()
    /// What this thread keeps of the verifiers' caches.
    package let threadCache = ThreadCache()
    /// Gathers the items of Resolve requests.
    let resolver: Resolver
    /// Runs Fetch requests, on no thread of this server.
    let fetches: FetchRunner
    let batch: Batch
    let queueDelay = QueueDelay()
    private var queueLimit = QueueLimit()
    private var readBackoff = ReadBackoff()
    var loopQuota = LoopQuota(began: 0)
    var watch: StallWatch
    /// Has the background threads do other work than verifications.
    let tasks: BackgroundTasks
    /// Has the bodies of HTTP requests parsed.
    let parses: ParseQueue
    var chainQueue: ChainValidationQueue
    /// What all workers share.
    let shared: SharedResources
    /// Wakes the chain-validation queue when its next turn comes.
    let chainQueueTimer: Timer
    /// Validates unknown chains.
    let chainWorkers: any Executor
    /// Workers that can verify slices of this one.
    var helpers: Helpers

    package init(
        _ context: ServiceContext, _ codec: MessageCodec, _ shared: SharedResources, worker: Int,
        handsOver: Bool, writeAnswers: @escaping () -> Void
    ) throws(LoopError) {
        let limits = context.limits
        self.context = context
        self.writeAnswers = writeAnswers
        self.codec = codec
        background = shared.background
        resolver = Resolver(context, background: background, codecs: codecs)
        fetches = FetchRunner(context, shared, worker: worker, codecs: codecs)
        tasks = BackgroundTasks(background, context.loop)
        parses = ParseQueue(
            tasks, context.loop, threads: background.count / shared.helpers.count)
        batch = Batch(
            backgroundThreads: background.count, requestsPerSlice: limits.requestsPerSlice,
            handsOver: handsOver)
        watch = StallWatch(limit: limits.workerStallMilliseconds)
        self.shared = shared
        chainQueue = ChainValidationQueue(
            at: shared.chainRate, chainLimit: shared.chainLimit(of: limits))
        chainQueueTimer = try Timer(on: context.loop)
        chainWorkers = shared.chains
        helpers = Helpers(of: worker, among: shared.helpers)
    }

    /// Applies the limits of a reload.
    package func settingsDidChange() {
        let limits = context.limits
        batch.requestsPerSlice = limits.requestsPerSlice
        watch.limit = limits.workerStallMilliseconds
        chainQueue.change(chainLimit: shared.chainLimit(of: limits))
    }

    var now: UInt64 { context.now }

    /// Whether no request waits or is being verified.
    package var isIdle: Bool {
        batch.isEmpty && chainQueue.isEmpty && resolver.isIdle && tasks.isIdle
            && fetches.isIdle && parses.isIdle
    }

    /// Whether a thread has exceeded the time limit of its work.
    var isStalled: Bool { watch.isStalled }

    /// Adds the numbers of waiting requests.
    package func add(to heldResources: inout HeldResources) {
        heldResources.waiting = batch.waitingCount
        heldResources.unknownChains = chainQueue.chainCount + chainQueue.running.count
        heldResources.unknownChainRequests = chainQueue.requestCount
        heldResources.fetches = fetches.count
    }

    package func stop() {
        threadCache.flush()
        chainQueueTimer.close()
    }

    // MARK: Delay

    /// Milliseconds until the last of the waiting requests without `mayWait` is started.
    private var queuedMilliseconds: UInt64 {
        batch.milliseconds(by: queueDelay, parsing: parses.nanoseconds)
    }

    /// The milliseconds that a connection's next request would wait now, if too long; nil if it
    /// can be queued. An idle worker gets work regardless of the measurements. A connection with
    /// many requests in the queue waits longer than others, so it is refused first.
    ///
    /// - Parameter work: the request's own nanoseconds; nil for a small request.
    func excessiveDelay(
        of flow: Flow, before deadline: UInt64, work: Double? = nil
    ) -> UInt64? {
        guard !batch.startsAtOnce else {
            queueLimit.queueIsEmpty()
            return nil
        }
        let age = flow.age
        let configured = context.limits.queueDelayMilliseconds
        let own = work.map(milliseconds(ofNanoseconds:)) ?? 0
        let now = now
        // No request waits for more than the whole queue, and a connection with requests in it has
        // the lowest limit. Most often that is enough.
        let whole = queuedMilliseconds
        if now + whole + own <= deadline,
            !queueLimit.isExceeded(by: whole, after: age, .queued, of: configured, at: now)
        {
            return nil
        }
        let lines = flow.inFlight.lines
        let delay = batch.milliseconds(
            before: work ?? 0, of: lines, from: flow.peer, by: queueDelay,
            parsing: parses.nanoseconds)
        let isExceeded = queueLimit.isExceeded(
            by: delay, after: age, batch.backlog(of: lines, from: flow.peer),
            of: configured, at: now)
        guard isExceeded || now + delay + own > deadline else { return nil }
        queueLimit.didReject(at: now)
        return delay
    }

    private func milliseconds(ofNanoseconds work: Double) -> UInt64 {
        queueDelay.milliseconds(ofNanoseconds: work, threads: 1)
    }

    /// The predicted nanoseconds of a request.
    func nanoseconds(of work: WorkClass) -> Double { queueDelay.nanoseconds(of: work) }

    /// The predicted nanoseconds of a request's items.
    func nanoseconds(of work: WorkLoad) -> Double { queueDelay.nanoseconds(of: work) }

    /// The longest delay that the queue can have now.
    private var queueLimitMilliseconds: UInt64 {
        queueLimit.milliseconds(of: context.limits.queueDelayMilliseconds, at: now)
    }

    /// Counts a read of a connection's socket.
    func didRead() { readBackoff.didRead(total: context.loop.traffic.received) }

    // MARK: Requests

    /// The evidence of a request that is added now: copied if it waits for long and received
    /// bytes hold more memory than is kept for the next reads anyway.
    func forQueue(_ evidence: SlabBytes) -> SlabBytes {
        let isCopied = context.loop.receivedBytes > 0 && batch.isLong
        return isCopied ? evidence.forWaiting : evidence
    }

    /// Queues an item of a Resolve.
    func verify(_ item: Job) {
        batch.add(item, by: queueDelay)
        verifyFullSlice()
    }

    /// Queues a request whose evidence is complete.
    func verify(
        _ admitted: consuming Admitted, _ body: SlabBytes, from flow: Flow
    ) {
        let reservation = admitted.reservation.move()
        let evidence: Job.Evidence
        if let limit = admitted.exceeded {
            var oversized = OversizedEvidence(
                as: admitted.form.detectsKind ? nil : admitted.kind, limit: limit)
            oversized.receive(body.span)
            evidence = .oversized(oversized)
        } else {
            evidence = .whole(forQueue(body))
        }
        add(admitted, evidence, size: body.count, reservation, flow)
        verifyFullSlice()
    }

    /// Queues a receipt whose last byte has been read: one signature is left, and possibly a
    /// chain. Returns false if memory is short.
    func verify(_ receipt: ArrivingReceipt, from flow: Flow) -> Bool {
        guard let reservation = receipt.handOver() else { return false }
        add(receipt.admitted, receipt.completed, size: receipt.size, reservation, flow)
        return true
    }

    private func add(
        _ admitted: borrowing Admitted, _ evidence: Job.Evidence, size: Int,
        _ reservation: consuming Reservation, _ flow: Flow
    ) {
        let job = Job(
            admitted, evidence, size: size, from: flow, on: context.loop, holding: reservation)
        batch.add(job, by: queueDelay)
    }

    /// Drops the waiting requests of a connection that has closed.
    func didClose(_ flow: Flow) {
        fetches.cancel(of: flow)
        guard let lines = flow.inFlight.lines else { return }
        for request in batch.removeAll(of: lines) { drop(request) }
    }

    /// Drops requests of a connection that its client has given up, in one pass over those that
    /// wait. Requests that run are dropped when they end. Those that wait for a chain are dropped
    /// at their turn or the next sweep.
    func cancel(_ ids: [UInt64], of flow: Flow) {
        guard flow.giveUp(ids) else { return }
        fetches.cancelGivenUp(of: flow)
        guard let lines = flow.inFlight.lines else { return }
        let dropped = batch.removeAll(of: lines) { flow.hasGivenUp($0.id) }
        for request in dropped { drop(request) }
    }

    /// Adds requests whose chains were validated.
    func addFirst(_ requests: [Job]) { batch.addFirst(requests, by: queueDelay) }

    /// Whether the deadline has passed, the client does not wait, or the Resolve has ended.
    func isOver(_ request: Job, at now: UInt64) -> Bool {
        request.deadline <= now || request.isEnded || !request.isAwaited
    }

    // MARK: Turns

    /// Ends a turn with work, unless there is more to read. Bytes in sockets have no deadline and
    /// are in no measurable queue, so reading comes first, for up to a slice of time; then the
    /// loop does its own part of the work.
    package func work(_ reading: some ReadingState) {
        dispatch()
        if reading.hasMoreToRead, loopQuota.canRead(at: context.loop.nanoseconds) {
            return reading.wakeIfReadingResumed()
        }
        let rest = restMilliseconds(connections: reading.connections)
        loopQuota.end = max(loopQuota.end, loopQuota.worked + rest * 1_000_000)
        lend(ends: true)
        while loopQuota.canWork, case let slice = batch.takeShort(by: queueDelay), !slice.isEmpty {
            verifyInPlace(slice)
        }
        let left = rest - min(rest, loopQuota.worked / 1_000_000)
        if left > 0, batch.hasRunning {
            context.loop.runJobs(forMilliseconds: left) { dispatch() }
        } else {
            dispatch()
        }
        loopQuota = LoopQuota(began: context.loop.nanoseconds)
        if batch.shortCount > 0 { context.loop.post {} }
    }

    /// The milliseconds to leave sockets unread and only work, while the queue is long. One read
    /// then brings several requests and one write takes several answers, including refusals: they
    /// cost little more than the system calls, and have to cost less than the work.
    private func restMilliseconds(connections: Int) -> UInt64 {
        // A few connections fill their reads while a slice is verified, and stall in a pause.
        guard connections >= ServerLimits.connectionsToRestFrom, !context.phase.isDraining else {
            return 0
        }
        let queued = queuedMilliseconds
        guard queued > queueLimitMilliseconds / 2 else { return 0 }
        let rest = readBackoff.next(atMost: min(context.limits.restMilliseconds, queued / 2))
        return max(rest, Self.shortestRestMilliseconds)
    }

    private static let shortestRestMilliseconds: UInt64 = 1

    /// Gives the requests that wait for a background thread to the idle ones.
    private func dispatch() {
        let now = now
        // One slice can always wait for the next free thread.
        let most = max(shared.idleBackgroundThreads, batch.hasRunning ? 0 : 1)
        let (slices, dropped) = batch.slices(atMost: most, by: queueDelay) {
            isOver($0, at: now)
        }
        for request in dropped { drop(request) }
        for slice in slices { submit(slice) }
    }

    /// Has short requests verified while more are being read: a slice by an idle worker as soon as
    /// there is another one, a full slice here if no worker is idle.
    private func verifyFullSlice() {
        // By number alone, which is known: this follows each request.
        let least = batch.leastToLend(keeping: kept(ends: false))
        guard batch.hasFullShortSlice || batch.shortCount >= least else { return }
        lend(ends: false)
        if batch.hasFullShortSlice, !helpers.hasIdle, loopQuota.canWork {
            verifyInPlace(batch.takeShort(by: queueDelay))
        }
    }

    /// Answers overdue requests, ages the measurements, and checks the threads. Called several
    /// times a second.
    package func sweep() {
        let now = now
        for request in batch.removeAll(where: { $0.deadline <= now }) { drop(request) }
        for request in chainQueue.removeAll(where: { isOver($0, at: now) }) { drop(request) }
        fetches.sweep()
        threadCache.flush()
        queueDelay.age(at: context.loop.nanoseconds)
        buildIssuerTables()
        checkStall()
    }

    /// Logs when a thread exceeds its time limit, and when it is back.
    private func checkStall() {
        guard watch.check(at: now) else { return }
        context.telemetry.log.writeStall(
            watch.isStalled, limit: context.limits.workerStallMilliseconds)
    }

    // MARK: Verification on the loop's thread

    private func verifyInPlace(_ quick: [Job]) {
        let slice = dropOver(quick)
        if !slice.isEmpty { answerInPlace(slice) }
    }

    /// Drops the requests that are over, and returns the others.
    func dropOver(_ requests: [Job]) -> [Job] {
        let now = now
        guard requests.contains(where: { isOver($0, at: now) }) else { return requests }
        var slice: [Job] = []
        for request in requests {
            if isOver(request, at: now) { drop(request) } else { slice.append(request) }
        }
        return slice
    }

    private func answerInPlace(_ slice: [Job]) {
        let time = context.clock()
        let began = context.loop.nanoseconds
        let prepared = JobVerification.verify(
            slice, at: time, unknownChains: .deferred, cache: threadCache)
        let ended = context.loop.nanoseconds
        // A span has its elements read in place.
        let verified = prepared.span
        // Deferred requests count when they are answered, as in a slice of another thread.
        var load = WorkLoad()
        for index in slice.indices {
            let request = slice[index]
            // The chain is unknown, or was forgotten since the lookup.
            if let chain = verified[index].unknownChain {
                enqueueUnknownChain(request, for: chain)
                continue
            }
            load.add(request.work)
            let decision = verified[index].decision
            if request.slot != nil {
                resolver.take(decision, of: request, at: time, began: began)
            } else {
                answer(request, decision, at: time, began: began, ended: ended)
            }
        }
        if load.total > 0 { context.telemetry.didVerify(batchOf: load.total) }
        loopQuota.worked += context.loop.nanoseconds - began
        didFinish(load, in: .loop, took: context.loop.nanoseconds - began)
        doPendingWork(of: slice)
    }

    func didFinish(_ load: WorkLoad, in group: QueueDelay.ThreadGroup, took elapsed: UInt64) {
        let now = context.loop.nanoseconds
        queueDelay.didVerify(load, took: elapsed, at: now)
        let isLoop = group == .loop
        queueDelay.didFinish(
            load, in: group, isBacklogged: (isLoop ? batch.shortCount : batch.longCount) > 0,
            threads: isLoop ? 1 : background.count, at: now)
    }

    /// Whether the loop's thread has no verifications to do.
    package var canHelp: Bool { batch.shortCount == 0 }
}
