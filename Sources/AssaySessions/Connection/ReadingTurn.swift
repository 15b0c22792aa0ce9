import AssayService

/// What a connection has read in this turn of the loop, and why it reads no further.
struct ReadingTurn {
    /// The turn in which `taken` was taken.
    private var turn: UInt64 = 0
    /// The declared work of what was taken in this turn, in requests of the usual size.
    private var declared = 0
    /// The time that it took, as far as it was measured.
    private var nanoseconds: UInt64 = 0
    /// What counts of the turn: the larger of the two.
    var taken: Int { max(declared, Int(nanoseconds / ServerLimits.nanosecondsPerFrame)) }

    /// Reading is paused, though the peer has possibly sent more: the quota of this turn is used
    /// up, or another request does not fit.
    var isHeld = false
    var awaitsTurn = false
    /// The next request prefers to wait rather than be rejected, and too many are in flight.
    var awaitsAnswer = false
    /// The next request asks for a long answer, and this turn's quota of those is used up.
    var awaitsLongAnswer = false
    /// Nothing was read yet, because memory was full when the connection began.
    var awaitsMemory = false

    mutating func begin(_ turn: UInt64) {
        if turn != self.turn { (self.turn, declared, nanoseconds) = (turn, 0, 0) }
    }

    mutating func use(_ amount: Int) { declared += amount }

    mutating func use(nanoseconds: UInt64) { self.nanoseconds += nanoseconds }

    mutating func endWaiting() {
        awaitsTurn = false
        awaitsAnswer = false
        awaitsLongAnswer = false
    }
}
