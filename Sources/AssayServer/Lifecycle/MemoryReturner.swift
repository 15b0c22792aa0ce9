import AssayIO

/// Returns free memory to the system after a flood, on a worker's thread. Owns the decision when.
final class MemoryReturner {
    private let loop: EventLoop
    private let workers: WorkerPool
    private var decision = MemoryReturn(resident: ProcessFacts.ownResidentBytes)

    init(_ loop: EventLoop, _ workers: WorkerPool) {
        self.loop = loop
        self.workers = workers
    }

    /// Returns free memory if it is time. Called several times a second.
    ///
    /// - Parameter held: bytes that the server holds for its connections.
    func sweep(held: Int) {
        let now = loop.now
        guard decision.isDue(at: now), let resident = ProcessFacts.ownResidentBytes,
            decision.shouldReturn(resident: resident, held: held, at: now)
        else { return }
        let returner = LoopBound(self, to: loop)
        let loop = loop
        workers.submit {
            FreeMemory.release()
            let resident = ProcessFacts.ownResidentBytes ?? 0
            loop.post { returner.value.decision.didReturn(resident: resident) }
        }
    }
}
