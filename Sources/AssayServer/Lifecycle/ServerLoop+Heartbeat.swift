import AssayIO

extension ServerLoop {
    /// Calls `action` periodically on a worker's thread, which shows that the loop and a worker
    /// run.
    func followHeartbeat(
        everyMilliseconds period: UInt64, _ action: @escaping @Sendable () -> Void
    ) throws(LoopError) {
        let timer = try Timer(on: loop)
        let workers = workers
        timer.start(afterMilliseconds: 0, everyMilliseconds: period) { workers.submit(action) }
        heartbeat = timer
    }
}
