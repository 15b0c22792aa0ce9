import AssayIO
import AssayTelemetry

/// Has the background threads do other work than verifications, such as parsing a long body.
/// Belongs to the loop's thread.
package final class BackgroundTasks {
    private let background: any Executor
    private let loop: EventLoop
    private var running = 0

    init(_ background: any Executor, _ loop: EventLoop) {
        self.background = background
        self.loop = loop
    }

    /// Whether no task is running.
    var isIdle: Bool { running == 0 }

    /// Performs a task on a background thread.
    ///
    /// - Parameter done: called on the loop's thread.
    func perform<Value: Sendable>(
        _ task: @escaping @Sendable () -> Value, then done: @escaping @Sendable (Value) -> Void
    ) {
        running += 1
        let (loop, tasks) = (loop, LoopBound(self, to: loop))
        background.submit {
            let value = task()
            loop.post {
                tasks.value.running -= 1
                done(value)
            }
        }
    }
}
