/// A fixed number of threads that take jobs from one queue, in the order given.
package final class WorkerPool: Sendable {
    package let count: Int
    private let queue = Locked(Queue())
    private let available: Semaphore
    private let threads = Locked<[Thread]>([])

    private struct Queue: Sendable {
        /// Those from `head` on wait; the ones before have been taken.
        var jobs: [(@Sendable () -> Void)?] = []
        var head = 0
        var isOpen = true

        mutating func take() -> (@Sendable () -> Void)? {
            guard head < jobs.count else { return nil }
            // Not kept here any longer: it holds memory that is wanted back.
            let job = jobs[head].take()
            head += 1
            // Each job is moved at most once for each one taken, also in a queue never empty.
            if 2 * head >= jobs.count {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }
    }

    /// - Parameter givesWay: whether they get less of a busy processor than other threads do.
    package init(count: Int, name: String, givesWay: Bool = false) throws(LoopError) {
        precondition(count > 0)
        self.count = count
        available = try Semaphore()
        for index in 0..<count {
            let thread: Thread
            do throws(LoopError) {
                thread = try Thread(name: "\(name)-\(index)") { [self] in
                    if givesWay { Thread.giveWay() }
                    work()
                }
            } catch {
                stop()
                throw error
            }
            threads.withLock { $0.append(thread) }
        }
    }

    /// Gives a job to the next free thread.
    package func submit(_ job: @escaping @Sendable () -> Void) {
        queue.withLock { queue in
            precondition(queue.isOpen, "a stopped pool takes no job")
            queue.jobs.append(job)
        }
        available.signal()
    }

    /// Lets the jobs given so far end, then the threads. From any thread but theirs, once.
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
            // One signal a job, and one a thread at the end: nothing to take means the end.
            guard let job = queue.withLock({ $0.take() }) else { return }
            job()
        }
    }
}
