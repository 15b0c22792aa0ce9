import AssayIO

extension ServerLoop {
    /// Calls back again and again, on a worker's thread: which says that the loop and a worker do
    /// their work.
    func followHeartbeat(
        everyMilliseconds period: UInt64, _ action: @escaping @Sendable () -> Void
    ) throws(LoopError) {
        let timer = try Timer(on: loop)
        let workers = workers
        timer.start(afterMilliseconds: 0, everyMilliseconds: period) { workers.submit(action) }
        heartbeat = timer
    }
}
