import AssayLocks
import Dispatch

/// Lets tests wait for an event on another thread.
package final class Latch: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var count = 0
    }

    private let state = Locked(State())
    private let opening = DispatchSemaphore(value: 0)

    package init() {}

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return state.waiting.values
        }
        for continuation in waiting { continuation.resume(returning: true) }
        opening.signal()
    }

    /// Waits at most `seconds`; returns false when the latch is still closed then.
    @discardableResult
    package func wait(seconds: Int = 30) -> Bool {
        guard opening.wait(timeout: .now() + .seconds(seconds)) == .success else { return false }
        // For the next who waits.
        opening.signal()
        // ThreadSanitizer understands this lock, and not the semaphore.
        return state.withLock { $0.isOpen }
    }

    /// Waits in a task without blocking its thread: all tasks share a few threads.
    package func opens(seconds: Int = 30) async -> Bool {
        await withCheckedContinuation { continuation in
            let number = state.withLock { state -> Int? in
                if state.isOpen { return nil }
                state.count += 1
                state.waiting[state.count] = continuation
                return state.count
            }
            guard let number else { return continuation.resume(returning: true) }
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(seconds)) {
                self.state.withLock { $0.waiting.removeValue(forKey: number) }?
                    .resume(returning: false)
            }
        }
    }
}
