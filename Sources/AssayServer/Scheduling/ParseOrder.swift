/// The order in which waiting bodies are parsed: short ones go before long ones, which get every
/// fourth turn. Each connection has at most one, so the order of arrival is fair to connections.
struct ParseOrder<Job> {
    private var short = Line()
    private var long = Line()
    /// Turns of short bodies since the last long one.
    private var passed = 0

    /// Bodies up to this size are short: they take less than a millisecond.
    static var shortBytes: Int { 64 << 10 }
    private static var shortTurns: Int { 3 }

    private struct Line {
        private var jobs: [Job?] = []
        /// Index of the first job that was not taken.
        private var head = 0

        var isEmpty: Bool { head == jobs.count }

        mutating func append(_ job: Job) { jobs.append(job) }

        /// Each taken job causes at most one move, even in a line that is never empty.
        mutating func take() -> Job? {
            guard !isEmpty else { return nil }
            defer {
                head += 1
                if 2 * head >= jobs.count {
                    jobs.removeFirst(head)
                    head = 0
                }
            }
            return jobs[head].take()
        }
    }

    var isEmpty: Bool { short.isEmpty && long.isEmpty }

    mutating func add(_ job: Job, bytes: Int) {
        if bytes <= Self.shortBytes { short.append(job) } else { long.append(job) }
    }

    mutating func next() -> Job? {
        if long.isEmpty || !short.isEmpty && passed < Self.shortTurns {
            passed = long.isEmpty ? 0 : passed + 1
            return short.take()
        }
        passed = 0
        return long.take()
    }
}
