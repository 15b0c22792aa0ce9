import Assay
import AssayIO
import AssayModels
import AssayWire

/// Verification on other threads: the background's for long requests, and other workers'.
extension Scheduler {
    /// Has idle workers verify slices while this one has more than its own next.
    func share() {
        while batch.hasSpareSlice(by: queueDelay), let helper = helpers.takeIdle() {
            let now = now
            var slice: [Job] = []
            for request in batch.takeShort(by: queueDelay) {
                if isOver(request, at: now) { drop(request) } else { slice.append(request) }
            }
            guard !slice.isEmpty else { continue }
            batch.didShare()
            run(slice, by: { helper.loop.post($0) }, unknownChains: .deferred) {
                scheduler, answers in
                scheduler.batch.sharedSliceEnded()
                scheduler.queueDelay.didVerify(
                    answers.load, took: answers.ended - answers.began,
                    at: scheduler.context.loop.nanoseconds)
            }
        }
    }

    func submit(_ slice: [Job]) {
        let load = WorkLoad(slice)
        let background = background
        run(slice, by: { background.submit($0) }, unknownChains: .deferred) { scheduler, answers in
            scheduler.batch.threadFinished(load)
            scheduler.didFinish(
                answers.load, in: .background, took: answers.ended - answers.began)
        }
    }

    /// Verifies a slice on another thread. Calls `done` on the loop's thread before the answers
    /// are delivered.
    func run(
        _ slice: [Job], by submit: (@escaping @Sendable () -> Void) -> Void,
        unknownChains: UnknownChainPolicy,
        _ done: @escaping @Sendable (Scheduler, SliceAnswers) -> Void
    ) {
        let work = watch.begin(at: now)
        let (clock, loop, codecs) = (context.fixed.clock, context.loop, codecs)
        let log = context.telemetry.log
        let scheduler = LoopBound(self, to: loop)
        submit {
            let began = loop.nanoseconds
            let now = clock()
            let verified = JobVerification.verify(slice, at: now, unknownChains: unknownChains)
            let answers = codecs.lend { codec in
                SliceAnswers(
                    slice, verified, began: began, at: now, codec: codec, clock: loop)
            }
            loop.post {
                scheduler.value.watch.end(work)
                done(scheduler.value, answers)
                scheduler.value.deliver(answers, of: slice)
            }
            // Not on the chain-validation thread: it gets little time, and no other thread would
            // do it.
            if case .validate = unknownChains { return }
            for request in slice where request.app.verifier.hasPendingWork {
                request.app.verifier.doPendingWork(log)
            }
        }
    }
}
