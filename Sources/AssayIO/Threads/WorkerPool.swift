/// A fixed number of threads that run jobs from one queue, first in, first out.
package final class WorkerPool: Executor {
    package let count: Int
    private let queue = Locked(Queue())
    private let available: Semaphore
    private let threads = Locked<[Thread]>([])

    private struct Queue: Sendable {
        /// Jobs from `head` on wait; earlier entries have been taken.
        var jobs: [(@Sendable () -> Void)?] = []
        var head = 0
        var isOpen = true

        mutating func take() -> (@Sendable () -> Void)? {
            guard head < jobs.count else { return nil }
            // The queue drops its reference: a job holds memory that is needed again.
            let job = jobs[head].take()
            head += 1
            // Each taken job causes at most one move, even in a queue that is never empty.
            if 2 * head >= jobs.count {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }
    }

    /// Starts the threads.
    /// - Parameter hasLowPriority: whether the threads get a smaller share of a busy processor than
    ///   others.
    package init(count: Int, name: String, hasLowPriority: Bool = false) throws(LoopError) {
        precondition(count > 0)
        self.count = count
        available = try Semaphore()
        for index in 0..<count {
            let thread: Thread
            do throws(LoopError) {
                thread = try Thread(name: "\(name)-\(index)") { [self] in
                    if hasLowPriority { Thread.lowerPriority() }
                    work()
                }
            } catch {
                stop()
                throw error
            }
            threads.withLock { $0.append(thread) }
        }
    }

    /// Queues a job for the next free thread.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        queue.withLock { queue in
            precondition(queue.isOpen, "a stopped pool accepts no jobs")
            queue.jobs.append(job)
        }
        available.signal()
    }

    /// Runs the jobs queued so far, then ends the threads. Call it once, on none of the pool's
    /// threads.
    package func stop() {
        queue.withLock { $0.isOpen = false }
        let threads = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        for _ in threads { available.signal() }
        for thread in threads { thread.join() }
    }

    private func work() {
        while true {
            available.wait()
            // Each job has one signal, and each thread gets one more at the end: no job means the
            // end.
            guard let job = queue.withLock({ $0.take() }) else { return }
            job()
        }
    }
}
