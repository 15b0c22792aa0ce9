import AssayIO
import AssayTelemetry
import Synchronization

/// A worker, as the other workers see it: it verifies slices for them while it is idle.
package final class Helper: Sendable {
    let index: Int
    private let bound = Locked<LoopBound<Scheduler>?>(nil)
    /// Whether it waits for its sockets, and can verify a slice of another worker.
    private let isIdle = Atomic(false)

    package init(_ index: Int) { self.index = index }

    /// Begins to help. Call it on the worker's thread, once.
    package func begin(_ scheduler: Scheduler) {
        let made = LoopBound(scheduler, to: scheduler.context.loop)
        bound.withLock { $0 = made }
    }

    /// Performs an action on the worker's thread. Does nothing after the loop has ended.
    func post(_ action: @escaping @Sendable (Scheduler) -> Void) {
        bound.withLock { $0 }?.post(action)
    }

    /// Sets whether the worker can help another one.
    package func setIdle(_ idle: Bool) { isIdle.store(idle, ordering: .relaxed) }

    /// Whether the worker can verify a slice of another one.
    var canHelp: Bool { isIdle.load(ordering: .relaxed) }

    /// Takes the worker's time for a slice. Returns false if it has none.
    func takeIdle() -> Bool {
        canHelp && isIdle.exchange(false, ordering: .relaxed)
    }
}

/// The workers to which a busy one can lend slices. A worker sets its flag while it waits for its
/// sockets. The first busy worker takes the flag, so an idle worker gets one slice at a time.
package struct Helpers {
    private let others: [Helper]
    /// Where to look first: not always at the same worker.
    private var next = 0

    init(of worker: Int, among helpers: [Helper]) {
        others = helpers.filter { $0.index != worker }
    }

    /// Whether a worker is idle.
    var hasIdle: Bool { others.contains(where: \.canHelp) }

    /// Takes a worker that is idle; nil if none is.
    mutating func takeIdle() -> Helper? {
        for offset in others.indices {
            let index = (next + offset) % others.count
            guard others[index].takeIdle() else { continue }
            next = (index + 1) % others.count
            return others[index]
        }
        return nil
    }
}
