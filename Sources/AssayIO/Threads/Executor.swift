/// Runs jobs apart from the loop that submits them: on other threads, or when a simulation says so.
package protocol Executor: AnyObject, Sendable {
    /// The number of jobs that run at once.
    var count: Int { get }
    /// Queues a job, first in, first out.
    func submit(_ job: @escaping @Sendable () -> Void)
    /// Runs the jobs queued so far, and ends. Called once, by none of the jobs.
    func stop()
}
