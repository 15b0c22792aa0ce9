import Dispatch

/// Lets one thread of a test wait until a condition holds. The condition is checked again after
/// each change that another thread notes, and never between. It reads what a lock guards:
/// ThreadSanitizer does not understand the semaphore.
package final class Changes: Sendable {
    private let changes = DispatchSemaphore(value: 0)

    package init() {}

    package func note() { changes.signal() }

    /// - Parameter seconds: a test that waits longer has failed.
    /// - Returns: false when the condition does not hold by then.
    package func wait(seconds: Int = 30, until condition: () throws -> Bool) rethrows -> Bool {
        let deadline = DispatchTime.now() + .seconds(seconds)
        while try !condition() {
            if changes.wait(timeout: deadline) == .timedOut { return false }
        }
        return true
    }
}
