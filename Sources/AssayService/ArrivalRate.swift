/// The recent rate at which a receipt or a body arrives. Times are the loop's milliseconds.
package struct ArrivalRate {
    /// Nil in the first second.
    private(set) var bytesPerSecond: Int?
    private var window: (began: UInt64, arrived: Int)

    private static let windowMilliseconds: UInt64 = 1_000

    package init(at now: UInt64, arrived: Int = 0) { window = (now, arrived) }

    /// Updates the rate. Called several times a second.
    ///
    /// - Parameter arrived: the bytes that have arrived, from the first one on.
    package mutating func measure(_ arrived: Int, at now: UInt64) {
        let elapsed = now - window.began
        guard elapsed >= Self.windowMilliseconds else { return }
        bytesPerSecond = (arrived - window.arrived) * 1000 / Int(elapsed)
        window = (now, arrived)
    }

    /// The rate, if it is slow enough to give way while memory is low; nil otherwise.
    package var slow: Int? {
        bytesPerSecond.flatMap { $0 < ServerLimits.slowReceiptBytesPerSecond ? $0 : nil }
    }
}
