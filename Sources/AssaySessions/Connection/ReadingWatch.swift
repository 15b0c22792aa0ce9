import AssayIO
import AssayService

/// Measures the time that a connection's requests take in a turn of the loop.
///
/// It looks at the clock once every few steps. The first step counts by its declared work alone.
struct ReadingWatch {
    private var steps = 0
    private var since = LoopTime(total: 0, apart: 0)

    /// Steps between two looks at the clock.
    static let stepsPerLook = 8

    /// Records a step. Returns the nanoseconds to count; nil most of the time.
    mutating func didStep(_ now: @autoclosure () -> LoopTime) -> UInt64? {
        steps += 1
        guard steps > 1 else {
            since = now()
            return nil
        }
        return steps % Self.stepsPerLook == 0 ? look(now()) : nil
    }

    /// Ends the measurement. Returns the nanoseconds to count.
    mutating func stop(_ now: @autoclosure () -> LoopTime) -> UInt64? {
        steps > 1 ? look(now()) : nil
    }

    private mutating func look(_ now: LoopTime) -> UInt64 {
        let (total, apart) = (now.total - since.total, now.apart - since.apart)
        since = now
        return total - min(apart, total)
    }
}

/// A time of the loop's thread, in nanoseconds.
struct LoopTime {
    let total: UInt64
    /// The part of it that no connection's turn pays for: verified slices have requests of all
    /// connections, and receipts that are read as they arrive have a quota of their own.
    let apart: UInt64
}

extension ConnectionContext {
    var time: LoopTime {
        LoopTime(
            total: server.loop.nanoseconds, apart: service.worked + turns.receiptNanoseconds)
    }
}
