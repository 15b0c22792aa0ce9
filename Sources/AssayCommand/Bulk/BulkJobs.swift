import AssayIO

/// Jobs on all processors. Unlike a bare pool, accepts and drops jobs after its end.
final class BulkJobs: Sendable {
    private let pool: WorkerPool
    private let isOpen = Locked(true)

    init(threads: Int) throws(LoopError) {
        pool = try WorkerPool(count: threads, name: "assay-bulk")
    }

    func submit(_ job: @escaping @Sendable () -> Void) {
        isOpen.withLock { isOpen in
            if isOpen { pool.submit(job) }
        }
    }

    /// Runs the jobs submitted so far, and ends the threads.
    func stop() {
        isOpen.withLock { $0 = false }
        pool.stop()
    }
}

/// Verifies batches: in this process, or by a server.
protocol BulkEngine: Sendable {
    /// Verifies a batch on a thread of `BulkJobs`. Calls `done` once, on any thread.
    func verify(_ batch: BulkBatch, _ done: @escaping @Sendable ([BulkAnswer]) -> Void)
}
