import AssayIO

/// Measures the processor time of this process and of the server.
package struct ProcessorUse: Sendable {
    private let wall = SystemClock.monotonicNanoseconds
    private let own = ProcessorTime.own
    private let server: UInt64?

    init(server: Int32?) { self.server = server.flatMap { ProcessorTime.of(process: $0) } }

    /// Processor use in processors: 1 is one processor that was always busy.
    package struct Elapsed: Sendable, Equatable {
        package var own: Double
        package var server: Double?
    }

    func elapsed(server process: Int32?) -> Elapsed {
        let wall = Double(max(SystemClock.monotonicNanoseconds - wall, 1))
        let now = process.flatMap { ProcessorTime.of(process: $0) }
        let used = now.flatMap { now in server.map { Double(now - min($0, now)) / wall } }
        return Elapsed(own: Double(ProcessorTime.own - own) / wall, server: used)
    }
}
