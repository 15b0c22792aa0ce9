import Assay
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// Requests that wait for the validation of their chain.
extension Scheduler {
    func enqueueUnknownChain(_ request: Job, for chain: ChainID) {
        let now = now
        guard !isOver(request, at: now) else { return drop(request) }
        let (refused, wait) = chainQueue.add(request.replacedForWaiting(), chain, at: now)
        for request in refused {
            request.refuse(
                .tooManyUnknownChains(request.id, retryAfter: UInt32(clamping: wait)))
        }
    }

    /// Starts the validation of the next unknown chains when their turn comes.
    package func advanceChainQueue() {
        let now = now
        let (next, over) = chainQueue.next(at: now) { isOver($0, at: now) }
        for request in over { drop(request) }
        switch next {
        case .nothing: break
        case .later(let wait):
            chainQueueTimer.start(afterMilliseconds: wait) { [unowned self] in
                advanceChainQueue()
                writeAnswers()
            }
        case .verify(let requests):
            let chains = chainWorkers
            run(
                requests, by: { verify in chains.submit { verify(nil) } }, unknownChains: .validate
            ) { scheduler, _ in
                scheduler.context.telemetry.didValidate(chains: requests.count)
                scheduler.addFirst(scheduler.chainQueue.finish())
            }
        }
    }

    /// Builds the tables of the keys that sign certificates on the chain-validation thread, which
    /// uses them. Called after the start, so that a start does not wait for them.
    func buildIssuerTables() {
        for app in context.apps.values where app.verifier.hasPendingIssuerTables {
            let (verifier, log) = (app.verifier, context.telemetry.log)
            chainWorkers.submit { verifier.buildIssuerTables(log) }
        }
    }
}
