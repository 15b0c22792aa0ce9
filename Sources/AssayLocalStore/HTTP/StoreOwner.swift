import AssayHTTP
import AssayIO
import AssayMint
import AssayModels

/// Connects the store to the network: requests in, answers and notifications out. Used on its
/// loop's thread.
final class StoreOwner {
    private var store: LocalStore
    /// Keeps the store; nil for one in memory, or after a failure to write.
    private var journal: StoreJournal?
    /// The time that the journal has, where time goes by on its own.
    private var notedTime: Timestamp?
    private let origins: HTTPOriginPolicy
    private let loop: EventLoop
    private var connections: [ObjectIdentifier: StoreConnection] = [:]
    /// Requests that are answered when time stands still.
    private var waiting: [(StoreReply.Moved, StoreConnection)] = []
    private var isSending = false
    private var ticker: AssayIO.Timer?

    init(
        _ store: LocalStore, _ journal: StoreJournal?, serving origins: HTTPOriginPolicy,
        on loop: EventLoop
    ) {
        self.store = store
        self.journal = journal
        self.origins = origins
        self.loop = loop
    }

    /// Lets time go by, `speed` times as fast as the machine's clock.
    func run(speed: Double) throws(LoopError) {
        let period: UInt64 = 100
        let step = Int64((Double(period) * speed).rounded())
        let ticker = try AssayIO.Timer(on: loop)
        var ticks = 0
        notedTime = store.now
        ticker.start(afterMilliseconds: period, everyMilliseconds: period) { [self] in
            store.move(to: store.now.advanced(by: step))
            work()
            ticks += 1
            if ticks.isMultiple(of: Self.ticksOfAnEntry) { noteTime() }
        }
        self.ticker = ticker
    }

    /// Ticks between two entries of the time: a killed process loses a second.
    private static let ticksOfAnEntry = 10

    func begin() {
        note(.began(notifying: StoreSide.allCases.filter { store.settings.target($0) != nil }))
        work()
    }

    // MARK: Journal

    /// Writes an input before the store takes it.
    private func note(_ input: StoreInput) {
        noteTime()
        write(input)
    }

    func noteTime() {
        guard let noted = notedTime, case let time = store.target ?? store.now, time != noted
        else { return }
        write(.moved(to: time))
        notedTime = time
    }

    private func write(_ input: StoreInput) {
        do throws(LoopError) { try journal?.append(input) } catch {
            journal = nil
            store.problem = "the store is no longer kept: \(error)"
        }
    }

    /// Whether a request can change the store: one that only reads takes faults.
    private func canChange(_ request: StoreRequest) -> Bool {
        request.method != .get || !store.faults.faults.isEmpty
    }

    // MARK: Requests

    func accept(_ stream: AssayIO.Stream) {
        guard connections.count < StoreLimits.connections, let timer = try? AssayIO.Timer(on: loop)
        else { return stream.close() }
        let connection = StoreConnection(stream, timer, origins) { [self] request, connection in
            handle(request, connection)
        } onClose: { [self] connection in
            connections[ObjectIdentifier(connection)] = nil
            waiting.removeAll { $0.1 === connection }
        }
        connections[ObjectIdentifier(connection)] = connection
        connection.start()
    }

    private func handle(_ request: StoreRequest, _ connection: StoreConnection) {
        if journal != nil, canChange(request) {
            note(.request(request, bundleId: try? store.bundleId(of: request)))
        }
        switch store.reply(to: request) {
        case .answer(let answer): connection.answer(answer)
        case .moving(let moved):
            guard waiting.count < StoreLimits.waiting else {
                connection.answer(.problem(503, "too many calls wait for time to move"))
                break
            }
            waiting.append((moved, connection))
        }
        // Calls of the API can make notifications too.
        work()
    }

    // MARK: Notifications

    /// Moves time and sends what falls due, one notification after the other.
    private func work() {
        guard !isSending else { return }
        switch store.nextWork() {
        case .send(let id, let body, let target):
            isSending = true
            NotificationPost.start(body, to: target, on: loop) { [self] result in
                note(.sent(id, result))
                store.didSend(id, result)
                isSending = false
                work()
            }
        case .none:
            let answered = waiting
            waiting = []
            for (moved, connection) in answered { connection.answer(store.answer(moved)) }
        }
    }
}
