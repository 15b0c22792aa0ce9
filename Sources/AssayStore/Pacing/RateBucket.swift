import AssayModels

/// How often one class of call may start: a rate, with a burst of one second (a token bucket, kept
/// as the time at which it is full again).
struct RateBucket: Sendable {
    /// Nanoseconds between two calls.
    private let interval: UInt64
    private let burst: UInt64
    /// The time at which the bucket is full.
    private var fullAt: UInt64 = 0
    /// No call starts before: the App Store named this time.
    private var closedUntil: UInt64 = 0

    /// - Parameter perSecond: the rate, in calls a second; less than one is allowed.
    init(perSecond: Double) {
        precondition(perSecond > 0)
        interval = UInt64(1_000_000_000 / perSecond)
        burst = UInt64(max(perSecond - 1, 0)) * interval
    }

    /// The time at which a call that asks now may start. All times are nanoseconds of one clock.
    func start(at now: UInt64) -> UInt64 {
        max(now, closedUntil, fullAt > burst ? fullAt - burst : 0)
    }

    /// Takes the slot of a call that starts at `start`.
    mutating func take(_ start: UInt64) { fullAt = max(fullAt, start) + interval }

    /// Lets no call start before a time.
    mutating func close(until time: UInt64) { closedUntil = max(closedUntil, time) }
}

/// The classes of calls, by the rate that Apple allows them.
public enum StoreCallClass: String, Sendable, CaseIterable {
    /// 50 a second: transactions, histories, statuses, consumption, notification history.
    case read
    /// 20 a second: extensions and account tokens of one subscription.
    case change
    /// 10 a second: orders and refunds.
    case lookup
    /// 5 a second: the retention messaging that changes often.
    case messaging
    /// 1 a second: test notifications, extensions of all subscribers.
    case rare

    /// Calls a second in an environment. The sandbox allows a tenth.
    func perSecond(in environment: StoreEnvironment) -> Double {
        let production: Double =
            switch self {
            case .read: 50
            case .change: 20
            case .lookup: 10
            case .messaging: 5
            case .rare: 1
            }
        return environment == .production ? production : production / 10
    }
}
