import Assay
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// Verification on other threads: the background's for long requests, and other workers'.
extension Scheduler {
    /// Lends slices to idle workers, which verify them, while this one has a slice for itself, too.
    /// Once it has lent one, its connections have more work than it has time: it reads and writes
    /// for them, and keeps only what fills no other slice.
    ///
    /// - Parameter ends: whether nothing more is read before this thread verifies.
    func lend(ends: Bool) {
        while batch.hasSpareSlice(keeping: kept(ends: ends), by: queueDelay),
            let helper = helpers.takeIdle()
        {
            let slice = dropOver(batch.takeLent(by: queueDelay))
            guard !slice.isEmpty else { continue }
            batch.didLend()
            loopQuota.hasLent = true
            run(
                slice, by: { verify in helper.post { verify($0.threadCache) } },
                unknownChains: .deferred
            ) { scheduler, answers in
                scheduler.batch.lentSliceEnded()
                scheduler.doPendingWork(of: slice)
                scheduler.queueDelay.didVerify(
                    answers.load, took: answers.ended - answers.began,
                    at: scheduler.context.loop.nanoseconds)
            }
        }
    }

    /// What this thread keeps for itself when it lends a slice now.
    func kept(ends: Bool) -> Batch.Keeping {
        guard loopQuota.hasLent else { return .slice }
        return ends ? .tooFew : .rest
    }

    func submit(_ slice: [Job]) {
        let load = WorkLoad(slice)
        let background = background
        shared.countBackgroundSlice(1)
        run(
            slice, by: { verify in background.submit { verify(nil) } }, unknownChains: .deferred
        ) { scheduler, answers in
            scheduler.shared.countBackgroundSlice(-1)
            scheduler.batch.threadFinished(load)
            scheduler.doPendingWork(of: slice)
            scheduler.didFinish(
                answers.load, in: .background, took: answers.ended - answers.began)
        }
    }

    /// Runs the work that a slice has caused, and that no answer waits for, on a background thread.
    func doPendingWork(of slice: [Job]) {
        let verifier = slice.first(where: \.app.verifier.hasPendingWork)?.app.verifier
        guard let verifier else { return }
        let log = context.telemetry.log
        background.submit { verifier.doPendingWork(log) }
    }

    /// Verifies a slice on another thread. Calls `done` on the loop's thread before the answers
    /// are delivered.
    ///
    /// - Parameter submit: has a thread verify the slice, with its cache if it has one.
    func run(
        _ slice: [Job], by submit: (@escaping @Sendable (ThreadCache?) -> Void) -> Void,
        unknownChains: UnknownChainPolicy,
        _ done: @escaping @Sendable (Scheduler, SliceAnswers) -> Void
    ) {
        let work = watch.begin(at: now)
        let (clock, loop, codecs) = (context.clock, context.loop, codecs)
        let audit = context.telemetry.audit
        let scheduler = LoopBound(self, to: loop)
        submit { cache in
            let began = loop.nanoseconds
            let now = clock()
            let verified = JobVerification.verify(
                slice, at: now, unknownChains: unknownChains, cache: cache)
            let answers = codecs.lend { codec in
                SliceAnswers(
                    slice, verified, began: began, at: now, codec: codec, clock: loop,
                    audit: audit)
            }
            loop.post {
                scheduler.value.watch.end(work)
                done(scheduler.value, answers)
                scheduler.value.deliver(answers, of: slice)
            }
        }
    }
}
