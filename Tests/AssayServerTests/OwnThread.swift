import Foundation
import Testing

/// Runs a test on threads of its own. Tests of sockets block, and there are few threads for all
/// tasks of the process: those of other tests would wait until the sockets are done.
struct OwnThread: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadExecutor.shared) { try await function() }
    }
}

extension Trait where Self == OwnThread {
    static var ownThread: Self { OwnThread() }
}

/// A thread for each job: a test has few.
private final class ThreadExecutor: TaskExecutor {
    static let shared = ThreadExecutor()

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let executor = unsafe asUnownedTaskExecutor()
        Thread.detachNewThread { unsafe job.runSynchronously(on: executor) }
    }
}
