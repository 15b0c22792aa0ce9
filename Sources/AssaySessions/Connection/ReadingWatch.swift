import AssayIO
import AssayService

/// Measures the time that a connection's requests take in a turn of the loop.
///
/// It looks at the clock once every few steps. The first step counts by its declared work alone.
/// Slices that are verified meanwhile have requests of all connections, so their time does not
/// count.
struct ReadingWatch {
    private var steps = 0
    private var since = LoopTime(total: 0, worked: 0)

    /// A time of the loop's thread, and the part of the turn's that was verification.
    private struct LoopTime {
        let total: UInt64
        let worked: UInt64

        init(total: UInt64, worked: UInt64) { (self.total, self.worked) = (total, worked) }

        init(_ context: ConnectionContext) {
            self.init(total: context.server.loop.nanoseconds, worked: context.service.worked)
        }
    }

    /// Steps between two looks at the clock.
    private static let stepsPerLook = 8

    /// Records a step. Returns the nanoseconds to count; nil most of the time.
    mutating func didStep(_ context: ConnectionContext) -> UInt64? {
        steps += 1
        guard steps > 1 else {
            since = LoopTime(context)
            return nil
        }
        return steps % Self.stepsPerLook == 0 ? look(context) : nil
    }

    /// Ends the measurement. Returns the nanoseconds to count.
    mutating func stop(_ context: ConnectionContext) -> UInt64? {
        steps > 1 ? look(context) : nil
    }

    private mutating func look(_ context: ConnectionContext) -> UInt64 {
        let now = LoopTime(context)
        let (total, worked) = (now.total - since.total, now.worked - since.worked)
        since = now
        return total - min(worked, total)
    }
}
