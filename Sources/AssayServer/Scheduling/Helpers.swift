/// The workers that a busy one can ask for help. A worker that waits for its sockets says so by its
/// flag; who asks takes the flag, so that each is asked once.
struct Helpers {
    private let others: [Worker]
    /// Where to look first: not always at the same worker.
    private var next = 0

    init(of worker: Int, among workers: [Worker]) {
        others = workers.filter { $0.index != worker }
    }

    /// Whether a worker is idle.
    var hasIdle: Bool { others.contains(where: \.canHelp) }

    /// Takes a worker that is idle; nil if none is.
    mutating func takeIdle() -> Worker? {
        for offset in others.indices {
            let index = (next + offset) % others.count
            guard others[index].takeIdle() else { continue }
            next = (index + 1) % others.count
            return others[index]
        }
        return nil
    }
}
