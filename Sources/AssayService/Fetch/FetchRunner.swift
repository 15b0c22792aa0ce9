import AssayEntitlements
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// Runs the fetches that were admitted, and delivers their answers.
///
/// Owns the tasks, their slots, and the memory that they reserve. A task runs on Swift's own
/// threads: no thread of the server waits for the App Store. Belongs to the loop's thread.
package final class FetchRunner {
    private let context: ServiceContext
    private let codecs: IdleCodecs
    /// Fetches whose task still runs, including those that are already answered.
    private var running: [UInt64: Running] = [:]
    private var lastNumber: UInt64 = 0
    /// The slots that the fetches of all workers take. A fetch gives its slot back when it is
    /// answered, even if its cancelled task still runs.
    private let all: SharedFetches
    private let others: [Helper]
    private let threads: any ServiceThreads
    /// Bytes that this worker's fetches have reserved.
    private(set) var held = 0
    /// What they have borrowed of the part that all workers' fetches get.
    private var memory: BorrowedBytes

    private final class Running {
        let port: ReplyPort
        /// Milliseconds of the loop's clock after which the client no longer waits.
        let deadline: UInt64
        /// The receipt whose answer it completes, and what that answer counts as; nil for a request
        /// to fetch.
        let receipt: (lookup: ReceiptLookup, result: ReplyPort.Result)?
        var task: Task<Void, Never>?
        /// Bytes that it has reserved.
        var held = 0
        /// Whether the peer of a connection of frames has ended its writing. It possibly waits for
        /// the answer, or has closed: its fetch gives way to others when the slots are full.
        var isAbandoned = false

        init(
            _ port: ReplyPort, deadline: UInt64,
            completing receipt: (lookup: ReceiptLookup, result: ReplyPort.Result)? = nil
        ) {
            self.port = port
            self.deadline = deadline
            self.receipt = receipt
        }

        /// Bytes that it reserves at its start.
        var startBytes: Int {
            ServerLimits.fetchStartBytes + (receipt?.lookup.receipt?.count ?? 0)
        }
        var id: UInt64 { port.id }
        var flow: Flow { port.flow }
        var peer: Peer { flow.peer }
        /// Whether it is answered, or dropped.
        var isEnded: Bool { port.isEnded }
    }

    init(
        _ context: ServiceContext, _ shared: SharedResources, worker: Int, codecs: IdleCodecs
    ) {
        self.context = context
        all = shared.fetches
        memory = BorrowedBytes(of: shared.bytes.fetches)
        others = shared.helpers.filter { $0.index != worker }
        threads = shared.threads
        self.codecs = codecs
    }

    /// Whether every fetch is answered or dropped.
    var isIdle: Bool { running.values.allSatisfy(\.isEnded) }

    /// The number of tasks.
    var count: Int { running.count }

    // MARK: Slots and memory

    private var limit: Int { context.limits.fetches }

    /// Whether a connection can start another fetch: it has fewer slots than are free, so that one
    /// connection gets at most half of them, and its client has its part.
    func admits(from flow: Flow) -> Bool {
        let active = running.values.filter { !$0.isEnded }
        let own = active.count { $0.flow === flow }
        let ofPeer = active.count { $0.peer === flow.peer }
        let free = limit - (all.count - all.abandoned)
        return own < free && PeerPart.allows(ofPeer, leaving: free - 1)
            && running.count < Self.tasksPerSlot * limit
    }

    /// Cancelled tasks end soon; until then they are bounded.
    private static let tasksPerSlot = 2

    /// Notes that the peer of a connection has ended its writing.
    func peerDidEnd(of flow: Flow) {
        for entry in running.values
        where entry.flow === flow && !entry.isEnded && !entry.isAbandoned {
            entry.isAbandoned = true
            all.addAbandoned(1)
        }
    }

    /// Ends an abandoned fetch, if the slots are full: this worker's oldest, or another's.
    private func freeSlot() {
        guard all.count >= limit, !endOldestAbandoned() else { return }
        for other in others { other.post { $0.fetches.endOldestAbandoned() } }
    }

    /// Ends the oldest abandoned fetch, while there are more fetches than slots. Returns false if
    /// there is none.
    @discardableResult
    func endOldestAbandoned() -> Bool {
        guard all.count >= limit else { return false }
        let oldest = running.filter { !$0.value.isEnded && $0.value.isAbandoned }
            .min { $0.key < $1.key }
        guard let entry = oldest?.value else { return false }
        cancel(entry, .tooManyFetches(entry.id, limit: limit))
        return true
    }

    /// All fetches together get a quarter of the memory: half is what requests with `mayWait` can
    /// use, and fetches must not take it all.
    private var heldLimit: Int { memory.limitOfAll }

    /// Whether there is memory to start a fetch.
    func hasMemory(for peer: Peer) -> Bool { canHold(ServerLimits.fetchStartBytes, for: peer) }

    /// Whether a fetch can ever start.
    var canFit: Bool { ServerLimits.fetchStartBytes <= heldLimit }

    private func canHold(_ bytes: Int, for peer: Peer) -> Bool {
        memory.borrow(for: held + bytes) && peer.admits(bytes)
    }

    private func reserve(_ bytes: Int, for entry: Running) {
        entry.peer.give(RequestCost(bytes: bytes, state: bytes, answer: 0))
        entry.held += bytes
        held += bytes
    }

    private func releaseMemory(of entry: Running) {
        entry.peer.takeBack(RequestCost(bytes: entry.held, state: entry.held, answer: 0))
        held -= entry.held
        entry.held = 0
        memory.giveBack(keeping: held)
    }

    /// Reserves memory for the answers that a fetch has received. Without memory, ends the fetch
    /// and returns false.
    private func hold(_ bytes: Int, for number: UInt64) -> Bool {
        guard let entry = running[number], !entry.isEnded else { return false }
        // The answers, and what is parsed of them.
        let wanted = entry.startBytes + 2 * min(max(bytes, 0), Int.max / 4)
        guard wanted > entry.held else { return true }
        guard canHold(wanted - entry.held, for: entry.peer) else {
            cancel(entry, .memoryExhausted(entry.id, canFit: wanted <= heldLimit))
            return false
        }
        reserve(wanted - entry.held, for: entry)
        return true
    }

    // MARK: Fetches

    /// Starts a fetch.
    func start(_ admitted: AdmittedFetch, from flow: Flow) {
        // Fetched answers do not count as evidence of the connection.
        let port = DecisionPort(
            .fetch, admitted.id, admitted.form.trace, of: admitted.app, from: flow,
            on: context.loop, holding: Reservation(.none, for: flow.peer))
        start(Running(port, deadline: admitted.deadline), .call(admitted))
    }

    /// Has the App Store asked for the answer to a verified receipt. The lookup has the limits of a
    /// fetch.
    func start(_ lookup: ReceiptLookup, for job: Job, _ result: ReplyPort.Result) {
        let (flow, id) = (job.flow, job.id)
        guard !flow.hasClientLeft else { return job.refuse(.fetchAbandoned(id)) }
        guard admits(from: flow) else {
            return job.refuse(.tooManyFetches(id, limit: limit))
        }
        let deadline = context.now + UInt64(context.limits.fetchTimeoutMilliseconds)
        // The port of the request, without its evidence.
        let entry = Running(
            DecisionPort(replacing: job), deadline: deadline, completing: (lookup, result))
        guard canHold(entry.startBytes, for: flow.peer) else {
            return entry.port.refuse(.memoryExhausted(id))
        }
        start(entry, .receipt(lookup))
    }

    private func start(_ entry: Running, _ purpose: FetchWork.Purpose) {
        freeSlot()
        lastNumber += 1
        let number = lastNumber
        running[number] = entry
        all.add(1)
        reserve(entry.startBytes, for: entry)
        let (codecs, loop, clock) = (codecs, context.loop, context.clock)
        let runner = LoopBound(self, to: loop)
        let work = FetchWork(
            purpose, deadline: entry.deadline, now: context.now,
            isAudited: context.telemetry.audit != nil
        ) { bytes in
            await withCheckedContinuation { waiter in
                let isPosted = loop.post {
                    waiter.resume(returning: runner.value.hold(bytes, for: number))
                }
                if !isPosted { waiter.resume(returning: false) }
            }
        }
        entry.task = threads.startTask {
            let answer = await work.answer(by: codecs, clock)
            loop.post { runner.value.didEnd(number, answer) }
        }
    }

    /// Ends fetches past their deadline and its grace period, in which a fetcher can still report
    /// what it was waiting for.
    func sweep() {
        for entry in running.values
        where !entry.isEnded
            && entry.deadline + Self.graceMilliseconds <= context.now
        {
            cancel(entry, .fetchTimedOut(entry.id))
        }
    }

    /// Time for a fetcher's own answer at the deadline.
    private static let graceMilliseconds: UInt64 = 300

    /// Cancels the fetches of a connection that has closed, or whose client has left.
    func cancel(of flow: Flow) {
        for entry in running.values where entry.flow === flow && !entry.isEnded {
            cancel(entry, .fetchAbandoned(entry.id))
        }
    }

    /// Ends the fetches of a connection that were given up.
    func cancelGivenUp(of flow: Flow) {
        for entry in running.values
        where entry.flow === flow && !entry.isEnded && flow.hasGivenUp(entry.id) {
            cancel(entry, .fetchAbandoned(entry.id))
        }
    }

    private func cancel(_ entry: Running, _ refusal: ResponseHead) {
        end(entry, .refused(refusal))
        entry.task?.cancel()
    }

    private func didEnd(_ number: UInt64, _ answer: DecidedFetch) {
        guard let entry = running.removeValue(forKey: number) else { return }
        end(entry, answer.encoded, answer.line)
    }

    /// Gives the slot and the memory of a fetch back, and answers it, unless it has ended.
    private func end(_ entry: Running, _ answer: EncodedAnswer, _ line: AuditLine? = nil) {
        guard !entry.isEnded else { return }
        all.add(-1)
        if entry.isAbandoned { all.addAbandoned(-1) }
        releaseMemory(of: entry)
        switch entry.flow.isClosed ? nil : answer {
        case .encoded(let bytes):
            let result = entry.receipt?.result ?? .fetched(line)
            entry.port.answer(result, bytes: bytes.count) { $0 += bytes }
        case .refused(let refusal):
            guard let (lookup, result) = entry.receipt else { return entry.port.refuse(refusal) }
            // The receipt is verified: its form says that its customer is not known.
            context.telemetry.logRefusedReceipt(refusal.message)
            let failure = lookup.completion.answer(refusal)
            entry.port.answer(result, bytes: failure.count) { $0 += failure }
        case nil: entry.port.refuse(nil)
        }
    }
}

/// What a fetch needs, on any thread.
struct FetchWork: Sendable {
    /// What is fetched for.
    enum Purpose: Sendable {
        case call(AdmittedFetch)
        case receipt(ReceiptLookup)
    }

    private let purpose: Purpose
    private let timeout: Duration
    private let isAudited: Bool
    private let hold: @Sendable (Int) async -> Bool

    init(
        _ purpose: Purpose, deadline: UInt64, now: UInt64, isAudited: Bool,
        holding hold: @escaping @Sendable (Int) async -> Bool
    ) {
        self.purpose = purpose
        self.isAudited = isAudited
        self.hold = hold
        let left = deadline > now ? deadline - now : 0
        timeout = .milliseconds(Int64(left))
    }

    /// Fetches, and encodes the answer.
    func answer(by codecs: IdleCodecs, _ clock: @Sendable () -> Timestamp) async
        -> DecidedFetch
    {
        switch purpose {
        case .call(let admitted): await answer(admitted, by: codecs, clock)
        case .receipt(let lookup):
            DecidedFetch(
                encoded: await lookup.answer(within: timeout, holding: hold, clock))
        }
    }

    private func answer(
        _ admitted: AdmittedFetch, by codecs: IdleCodecs, _ clock: @Sendable () -> Timestamp
    ) async -> DecidedFetch {
        let call = admitted.call
        do throws(FetchError) {
            let found = try await admitted.fetcher.fetch(
                CustomerQuery(call), timeout: timeout, holding: hold)
            let now = clock()
            let encoded = codecs.lend {
                admitted.form.encode(found, answering: admitted.id, call, at: now, by: $0)
            }
            guard isAudited else { return DecidedFetch(encoded: encoded) }
            let line = AuditLine(
                .fetch, app: admitted.app.name, ResolveOutcome(found.entitlements, found.items),
                items: found.items.count, found.entitlements, at: now)
            return DecidedFetch(encoded: encoded, line: line)
        } catch {
            return DecidedFetch(encoded: .refused(ResponseHead(id: admitted.id, error)))
        }
    }
}

/// What became of a Fetch.
package struct DecidedFetch: Sendable {
    let encoded: EncodedAnswer
    /// Its line of the audit log; nil where that is off, or where the Fetch has no result.
    var line: AuditLine?
}

extension CustomerQuery {
    /// A call without lists asks for all. The admission refuses unknown ones.
    fileprivate init(_ call: FetchCall) {
        var lists: CustomerLists = call.lists.isEmpty ? .all : []
        if call.lists.contains(.statuses) { lists.insert(.statuses) }
        if call.lists.contains(.history) { lists.insert(.history) }
        self.init(of: call.transactionId, lists: lists, at: call.at, policy: call.policy)
    }
}

extension ResponseHead {
    init(id: UInt64, _ error: FetchError) {
        let (status, retryAfter): (Status, UInt32) =
            switch error.reason {
            case .keyNotAccepted: (.failedPrecondition, 0)
            case .unknownTransaction: (.notFound, 0)
            case .refused: (.invalidArgument, 0)
            case .rateLimited: (.resourceExhausted, Self.retryElsewhereMilliseconds)
            case .tooLarge: (.resourceExhausted, 0)
            case .unavailable: (.unavailable, Self.retryElsewhereMilliseconds)
            case .deadlineExceeded: (.deadlineExceeded, 0)
            case .notVerified: (.dataLoss, 0)
            case .cancelled: (.cancelled, 0)
            default: (.internal, 0)
            }
        // The reason says whether a retry can help; the App Store says how long to wait.
        self.init(
            id: id, status: status, message: error.message,
            retryAfterMilliseconds: retryAfter == 0
                ? 0 : max(error.retryAfterMilliseconds ?? retryAfter, 1),
            appStoreErrorCode: error.appStoreCode)
    }
}
