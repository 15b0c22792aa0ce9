import Glibc
import Synchronization

/// Lets a test wait for an event on another thread.
package final class Latch: Sendable {
    private let isOpen = Atomic(false)

    package init() {}

    package func open() { isOpen.store(true, ordering: .releasing) }

    /// Waits at most `seconds`; returns false when the latch is still closed then.
    @discardableResult
    package func wait(seconds: Int = 30) -> Bool {
        for _ in 0..<seconds * 1000 {
            if isOpen.load(ordering: .acquiring) { return true }
            usleep(1000)
        }
        return false
    }

    /// Waits in a task without blocking its thread: all tasks share a few threads.
    package func opens(seconds: Int = 30) async -> Bool {
        for _ in 0..<seconds * 1000 {
            if isOpen.load(ordering: .acquiring) { return true }
            try? await Task.sleep(for: .milliseconds(1))
        }
        return false
    }
}
