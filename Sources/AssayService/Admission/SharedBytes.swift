import AssayTelemetry
import Synchronization

/// Bytes of a whole server, of which each worker borrows some.
///
/// A worker borrows in units and gives back what it does not need, so that the number is rarely
/// written. The sum of what is borrowed never exceeds the limit, but for bytes that have arrived
/// already.
package final class SharedBytes: Sendable {
    private let limitBytes: Atomic<Int>
    private let borrowedBytes = Atomic(0)

    /// The usual unit: the evidence of a few hundred tokens.
    private static let usualUnit = 1 << 20
    /// With a small limit, less: what the workers have borrowed beyond what they hold, up to two
    /// units each, is at most an eighth of it.
    private static let unitsPerWorker = 16
    private let units: Int

    init(limit: Int, workers: Int) {
        limitBytes = Atomic(limit)
        units = Self.unitsPerWorker * workers
    }

    var limit: Int {
        get { limitBytes.load(ordering: .relaxed) }
        set { limitBytes.store(newValue, ordering: .relaxed) }
    }

    /// Bytes that all workers have borrowed.
    var borrowed: Int { borrowedBytes.load(ordering: .relaxed) }

    /// The unit in which a worker borrows.
    var unit: Int { min(Self.usualUnit, max(limit / units, 1)) }

    /// Borrows bytes, rounded up to whole units while those are free. Returns their number; 0 if
    /// fewer are free.
    func borrow(_ bytes: Int) -> Int {
        let rounded = (bytes + unit - 1) / unit * unit
        var current = borrowed
        while true {
            let wanted = current + rounded <= limit ? rounded : bytes
            guard current + wanted <= limit else { return 0 }
            let (isDone, now) = borrowedBytes.compareExchange(
                expected: current, desired: current + wanted, ordering: .relaxed)
            if isDone { return wanted }
            current = now
        }
    }

    /// Borrows bytes that are held already, also beyond the limit.
    func borrowHeld(_ bytes: Int) { borrowedBytes.add(bytes, ordering: .relaxed) }

    func giveBack(_ bytes: Int) { borrowedBytes.subtract(bytes, ordering: .relaxed) }
}

/// The memory of a whole server, and the limits of its parts: slow receipts and bodies hold their
/// memory for long, and answers as long as their peers do not read. Other requests need the rest.
package final class SharedBudget: Sendable {
    let memory: SharedBytes
    let answers: SharedBytes
    let receipts: SharedBytes
    let bodies: SharedBytes
    let fetches: SharedBytes

    init(limit: Int, workers: Int) {
        memory = SharedBytes(limit: limit, workers: workers)
        answers = SharedBytes(limit: 0, workers: workers)
        receipts = SharedBytes(limit: 0, workers: workers)
        bodies = SharedBytes(limit: 0, workers: workers)
        fetches = SharedBytes(limit: 0, workers: workers)
        self.limit = limit
    }

    var limit: Int {
        get { memory.limit }
        set {
            memory.limit = newValue
            // At least 1 MiB: with a small limit, a few requests would use the quarter.
            answers.limit = max(newValue / 4, 1 << 20)
            receipts.limit = newValue / 2
            bodies.limit = newValue / 2
            fetches.limit = newValue / 4
        }
    }
}

/// What one worker has borrowed of the server's bytes.
package struct BorrowedBytes {
    private let shared: SharedBytes
    private var borrowed = 0

    init(of shared: SharedBytes) { self.shared = shared }

    /// What this worker can hold: all that the others have not borrowed.
    var limit: Int { shared.limit - others }
    var limitOfAll: Int { shared.limit }
    private var others: Int { shared.borrowed - borrowed }

    /// Whether the others and this worker, with what it holds, are near the limit.
    func isLow(with held: Int) -> Bool { others + held > shared.limit / 4 * 3 }

    /// Borrows for these bytes. Returns false if fewer are free.
    mutating func borrow(for bytes: Int) -> Bool {
        guard bytes <= limit else { return false }
        guard bytes > borrowed else { return true }
        let more = shared.borrow(bytes - borrowed)
        borrowed += more
        return more > 0
    }

    /// Borrows for bytes that are held, also beyond the limit.
    mutating func cover(_ held: Int) {
        guard held > borrowed, !borrow(for: held) else { return }
        shared.borrowHeld(held - borrowed)
        borrowed = held
    }

    /// Gives back what is far more than these bytes: others possibly refuse requests for want of
    /// it. Little is kept, so that the shared number is rarely written.
    mutating func giveBackSurplus(over held: Int) {
        if borrowed > held + 2 * shared.unit { giveBack(keeping: held) }
    }

    /// Gives back what is not needed for these bytes. A worker that holds nothing keeps nothing.
    mutating func giveBack(keeping held: Int) {
        let kept = held == 0 ? 0 : held + shared.unit
        guard borrowed > kept else { return }
        shared.giveBack(borrowed - kept)
        borrowed = kept
    }
}

/// The fetches of all workers that are not answered.
package final class SharedFetches: Sendable {
    private let all = Atomic(0)
    private let left = Atomic(0)

    var count: Int { all.load(ordering: .relaxed) }
    /// Those whose client has ended its writing: they give way to others.
    var abandoned: Int { left.load(ordering: .relaxed) }

    func add(_ change: Int) { all.add(change, ordering: .relaxed) }
    func addAbandoned(_ change: Int) { left.add(change, ordering: .relaxed) }
}
