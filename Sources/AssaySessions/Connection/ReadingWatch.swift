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

    /// Records a step.
    mutating func didStep(_ reading: inout ReadingTurn, _ context: ConnectionContext) {
        steps += 1
        if steps == 1 {
            since = LoopTime(context)
        } else if steps % Self.stepsPerLook == 0 {
            look(&reading, context)
        }
    }

    /// Ends the measurement.
    func stop(_ reading: inout ReadingTurn, _ context: ConnectionContext) {
        guard steps > 1 else { return }
        var watch = self
        watch.look(&reading, context)
    }

    private mutating func look(_ reading: inout ReadingTurn, _ context: ConnectionContext) {
        let now = LoopTime(context)
        let (total, worked) = (now.total - since.total, now.worked - since.worked)
        reading.use(nanoseconds: total - min(worked, total))
        since = now
    }
}
