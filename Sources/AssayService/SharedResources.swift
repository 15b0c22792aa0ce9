package import AssayIO
import AssayTelemetry
import Synchronization

/// What the services of all workers of a server share.
package final class SharedResources: Sendable {
    /// Runs work that takes too long for a worker, whose sockets would wait.
    package let background: any Executor
    /// Slices that the background threads have, of all workers.
    private let backgroundSlices = Atomic(0)
    /// Validates unknown chains, with low priority.
    let chains: any Executor
    /// The memory of all workers.
    package let bytes: SharedBudget
    /// The rate at which unknown chains are validated.
    let chainRate: SharedBucket
    /// The slots of fetches.
    let fetches = SharedFetches()
    let threads: any ServiceThreads
    package let helpers: [Helper]

    package init(
        _ limits: ServerLimits, _ helpers: [Helper], _ threads: any ServiceThreads,
        backgroundThreads: Int
    ) throws(LoopError) {
        self.threads = threads
        self.helpers = helpers
        bytes = SharedBudget(limit: limits.evidenceBytes, workers: helpers.count)
        chainRate = SharedBucket(perSecond: limits.unknownChainsPerSecond)
        background = try threads.makeExecutor(
            count: backgroundThreads, name: "assay-bg", hasLowPriority: false)
        do throws(LoopError) {
            chains = try threads.makeExecutor(
                count: 1, name: "assay-chains", hasLowPriority: true)
        } catch {
            background.stop()
            throw error
        }
    }

    /// Unknown chains that can wait on one worker.
    func chainLimit(of limits: ServerLimits) -> Int {
        max(limits.unknownChainsWaiting / helpers.count, 1)
    }

    /// Background threads without a slice.
    var idleBackgroundThreads: Int {
        max(background.count - backgroundSlices.load(ordering: .relaxed), 0)
    }

    func countBackgroundSlice(_ change: Int) { backgroundSlices.add(change, ordering: .relaxed) }

    /// Applies the limits of a reload.
    package func limitsDidChange(_ limits: ServerLimits) {
        bytes.limit = limits.evidenceBytes
        chainRate.change(perSecond: limits.unknownChainsPerSecond)
    }

    /// Ends the threads, after the jobs that they have.
    package func stop() {
        background.stop()
        chains.stop()
    }
}

/// Threads of which the service makes use. Production has the system's; tests simulate them.
package protocol ServiceThreads: Sendable {
    /// Makes an executor.
    func makeExecutor(
        count: Int, name: String, hasLowPriority: Bool
    ) throws(LoopError) -> any Executor

    /// Starts a task that no thread of the server waits for.
    func startTask(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never>
}
