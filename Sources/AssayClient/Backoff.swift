/// The time of the next connection attempt, with exponential backoff.
struct Backoff {
    let shortest: UInt64
    let longest: UInt64
    private var failures = 0
    /// Loop time in milliseconds.
    private(set) var nextAttempt: UInt64 = 0

    init(shortest: UInt64, longest: UInt64) {
        self.shortest = max(shortest, 1)
        self.longest = longest
    }

    mutating func fail(at now: UInt64) {
        // 2^16 times the shortest pause exceeds any reasonable longest pause.
        let pause = min(shortest << UInt64(min(failures, 16)), longest)
        failures += 1
        nextAttempt = now + pause - UInt64.random(in: 0...pause / 2)
    }

    mutating func wait(until time: UInt64) { nextAttempt = max(nextAttempt, time) }

    /// The server works, so the next attempt can start at once.
    mutating func reset() {
        failures = 0
        nextAttempt = 0
    }
}
