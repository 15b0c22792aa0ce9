import Foundation
import Testing

/// Runs a test on threads of its own, and few such tests at once.
///
/// Socket tests block, and all tasks of the process share a few threads: other tests would wait
/// until the socket tests end. And they measure time: if all of them ran at once, each would get
/// a hundredth of a busy machine.
struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    private enum Scope {
        /// Waits for its turn. The time limit of a test does not include this.
        case wholeTest
        case testCase
    }
    private var scope = Scope.testCase

    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> OwnThread? {
        guard !test.isSuite else { return nil }
        var provider = self
        provider.scope = testCase == nil ? .wholeTest : .testCase
        return provider
    }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadExecutor.shared) {
            guard case .wholeTest = scope else { return try await function() }
            await Slots.shared.take()
            do {
                try await function()
            } catch {
                await Slots.shared.release()
                throw error
            }
            await Slots.shared.release()
        }
    }
}

extension Trait where Self == OwnThread {
    static var ownThread: Self { OwnThread() }
}

/// The slots for socket tests that run at once.
private actor Slots {
    static let shared = Slots()

    /// Twice the processors: many of the tests wait for a timer.
    private var free = max(4, 2 * ProcessInfo.processInfo.activeProcessorCount)
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func release() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}

/// Starts a thread for each job: a test has few.
private final class ThreadExecutor: TaskExecutor {
    static let shared = ThreadExecutor()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = unsafe asUnownedTaskExecutor()
        Thread.detachNewThread { unsafe job.runSynchronously(on: executor) }
    }
}
