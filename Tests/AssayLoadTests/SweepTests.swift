import Testing

@testable import AssayLoad

@Suite("Rate sweep")
struct SweepTests {
    /// Searches a server that sustains rates up to `limit`.
    private func search(
        _ sweep: RateSweep, limit: Double, run: ((Double) -> LoadResult)? = nil
    ) async throws -> [RateSweep.Step] {
        try await sweep.search { rate throws(LoadError) in
            run?(rate)
                ?? fakeResult(
                    .open(rate: rate, .constant), sent: Int(rate),
                    latency: rate <= limit ? 2_000_000 : 50_000_000)
        } note: { _ in
        }
    }

    @Test("finds the highest rate within the bound", arguments: [1300.0, 4000, 90, 31_000])
    func finds(limit: Double) async throws {
        let steps = try await search(RateSweep(bound: 10, firstRate: 1000), limit: limit)
        let best = try #require(RateSweep.best(of: steps))
        #expect(best.rate <= limit && best.rate > limit * 0.96)
        #expect(steps.count < RateSweep.mostRuns)
        for step in steps { #expect((step.failure == nil) == (step.rate <= limit)) }
    }

    @Test("a server that meets the bound at no rate has no best rate")
    func none() async throws {
        let steps = try await search(RateSweep(bound: 10, firstRate: 1000), limit: 0)
        #expect(RateSweep.best(of: steps) == nil)
        #expect(steps.count <= RateSweep.mostRuns)
    }

    @Test("a search ends for an infinitely fast server")
    func endless() async throws {
        let steps = try await search(RateSweep(bound: 10, firstRate: 1), limit: .infinity) { rate in
            fakeResult(.open(rate: rate, .constant), sent: 10, seconds: 10 / rate)
        }
        #expect(steps.count == RateSweep.mostRuns)
    }

    @Test("a late generator, a wrong verdict, a refusal or an interruption fails a rate")
    func failures() async throws {
        let pace = Pace.open(rate: 1000, .constant)
        for (result, word) in [
            (fakeResult(pace, lateness: 9_000_000), "late"), (fakeResult(pace, wrong: 1), "wrong"),
            (fakeResult(pace, refused: 1), "refused"), (fakeResult(pace, errors: 1), "errors"),
            (fakeResult(pace, isInterrupted: true), "interrupted"),
        ] {
            let steps = try await search(
                RateSweep(bound: 10, firstRate: 1000), limit: 0, run: { _ in result })
            #expect(RateSweep.best(of: steps) == nil)
            #expect(steps[0].failure?.contains(word) == true)
            if result.wasInterrupted { #expect(steps.count == 1) }
        }
    }

    @Test("a rate at which only the generator was late is repeated")
    func lateOnce() async throws {
        var runs: [Double: Int] = [:]
        let steps = try await search(RateSweep(bound: 10, firstRate: 1000), limit: 0) { rate in
            runs[rate, default: 0] += 1
            let isLate = runs[rate]! < RateSweep.mostLateRuns
            return fakeResult(
                .open(rate: rate, .constant), sent: Int(rate),
                latency: rate <= 4000 ? 2_000_000 : 50_000_000,
                lateness: isLate ? 9_000_000 : 0)
        }
        #expect(runs.values.allSatisfy { $0 == RateSweep.mostLateRuns })
        let best = try #require(RateSweep.best(of: steps))
        #expect(best.rate <= 4000 && best.rate >= 2000)
    }
}
