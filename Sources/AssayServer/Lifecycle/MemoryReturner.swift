import AssayIO

/// Returns free memory to the system after a flood, on a background thread. Owns the decision when.
final class MemoryReturner {
    private let loop: EventLoop
    private let background: any Executor
    private let transport: any Transport
    private var decision: MemoryReturn

    init(_ context: ServerContext, _ background: any Executor) {
        loop = context.loop
        transport = context.transport
        decision = MemoryReturn(resident: context.transport.residentBytes)
        self.background = background
    }

    /// Returns free memory if it is time. Called several times a second.
    ///
    /// - Parameter held: bytes that the server holds for its connections.
    func sweep(held: @autoclosure () -> Int) {
        let now = loop.now
        guard decision.isDue(at: now), let resident = transport.residentBytes,
            decision.shouldReturn(resident: resident, held: held(), at: now)
        else { return }
        let returner = LoopBound(self, to: loop)
        let (loop, transport) = (loop, transport)
        background.submit {
            FreeMemory.release()
            let resident = transport.residentBytes ?? 0
            loop.post { returner.value.decision.didReturn(resident: resident) }
        }
    }
}
