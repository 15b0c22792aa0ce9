import AssayModels
import Testing

@testable import AssayStore

@Suite("Pacing of requests")
struct PacingTests {
    private static let now = Timestamp(milliseconds: StoreFixture.now)

    @Test(
        "Retry-After is UNIX time in milliseconds; seconds and dates are understood",
        arguments: [
            ("1768435260000", 1_768_435_260_000), (" 1768435260000 ", 1_768_435_260_000),
            // Seconds since 1970, and from now.
            ("1768435260", 1_768_435_260_000), ("60", StoreFixture.now + 60_000),
            ("0", StoreFixture.now), ("999999999", StoreFixture.now + 999_999_999_000),
            ("1000000000", 1_000_000_000_000), ("99999999999", 99_999_999_999_000),
            ("100000000000", 100_000_000_000),
            ("", nil), ("-5", nil), ("1.5", nil), ("soon", nil), ("12 34", nil),
            ("99999999999999999999", nil),
            ("Thu, 15 Jan 2026 00:01:00 GMT", 1_768_435_260_000),
            (" Thu, 15 Jan 2026 00:01:00 GMT", 1_768_435_260_000),
            ("Thu, 15 Jan 2026 00:01:00", nil), ("Thu, 32 Jan 2026 00:01:00 GMT", nil),
        ] as [(String, Int64?)])
    func retryAfter(text: String, time: Int64?) {
        #expect(RetryAfter.time(text, now: Self.now)?.milliseconds == time)
    }

    private static func refusal(_ status: Int, _ code: Int64? = nil) -> StoreError {
        .refused(StoreRefusal(httpStatus: status, code: code))
    }

    @Test("the listed failures alone are tried again")
    func retryable() {
        let always: [StoreError] = [
            Self.refusal(404, 4_040_002), Self.refusal(404, 4_040_004),
            Self.refusal(404, 4_040_006), Self.refusal(500, 5_000_001), Self.refusal(429),
            Self.refusal(429, 4_290_000), .transport(.hostNotFound("")),
            .transport(.connectFailed("")), .transport(.handshakeFailed("")),
            .transport(.timedOut(isSent: false)),
        ]
        // A request that arrived may have had its effect.
        let repeatable: [StoreError] = [
            Self.refusal(500), Self.refusal(500, 5_000_000), Self.refusal(503),
            .transport(.connectionLost("")), .transport(.timedOut(isSent: true)),
        ]
        let never: [StoreError] = [
            Self.refusal(400, 4_000_000), Self.refusal(401), Self.refusal(403),
            Self.refusal(404, 4_040_001), Self.refusal(404, 4_040_003),
            Self.refusal(404, 4_040_005), Self.refusal(404, 4_040_010), Self.refusal(404),
            Self.refusal(302), Self.refusal(600), .transport(.libraryMissing),
            .transport(.untrusted("")), .transport(.answerTooLarge(limit: 1)),
            .transport(.cancelled), .transport(.other("")), .cancelled, .pagesRepeat,
            .tooManyPages(limit: 1), .emptyPages(count: 1), .malformedAnswer(""),
            .unverified(.invalidSignature, detail: ""), .invalidArgument(""),
            .unusableKey(""), .deadlineExceeded(""), .tooManyWaiting,
        ]
        for (errors, once, twice) in [
            (always, true, true), (repeatable, false, true), (never, false, false),
        ] {
            for error in errors {
                #expect(RetryPolicy.canHelp(error, isRepeatable: false) == once, "\(error)")
                #expect(RetryPolicy.canHelp(error, isRepeatable: true) == twice, "\(error)")
            }
        }
    }

    private static func decide(
        _ error: StoreError, attempt: Int = 1, left: UInt64 = 1_000_000, chance: Double = 0
    ) -> RetryPolicy.Decision {
        RetryPolicy().decision(
            after: error, attempt: attempt, isRepeatable: true, now: now, left: left,
            chance: chance)
    }

    @Test("pauses double, vary by chance, and end with the deadline or the last attempt")
    func pauses() {
        let error = Self.refusal(503)
        let pauses = (1...5).map { Self.decide(error, attempt: $0) }
        #expect(pauses == [500, 1000, 2000, 4000, 8000].map { .retry(after: $0) })
        #expect(Self.decide(error, attempt: 6) == .giveUp)
        #expect(Self.decide(error, attempt: 2, chance: 0.99) == .retry(after: 505))
        #expect(Self.decide(error, left: 501) == .retry(after: 500))
        #expect(Self.decide(error, left: 500) == .tooLate)
        #expect(Self.decide(error, left: 0) == .tooLate)
        #expect(Self.decide(Self.refusal(404), left: 0) == .giveUp)
        #expect(RetryPolicy().pause(after: 1000, chance: 0) == 30_000)
    }

    @Test("429 waits until the time of its answer, also one that has passed")
    func rateLimited() {
        func decide(_ offset: Int64?, left: UInt64 = 100_000) -> RetryPolicy.Decision {
            let time = offset.map { Self.now.advanced(by: $0) }
            return Self.decide(
                .refused(StoreRefusal(httpStatus: 429, retryAt: time)), left: left)
        }
        #expect(decide(5000) == .retry(after: 5000))
        #expect(decide(-5000) == .retry(after: 0))
        #expect(decide(nil) == .retry(after: 500))
        #expect(decide(5000, left: 5000) == .tooLate)
        #expect(decide(.max) == .tooLate)
        #expect(decide(.min) == .retry(after: 0))
    }

    @Test("a bucket lets a burst of one second start, then one call after the other")
    func bucket() {
        var bucket = RateBucket(perSecond: 4)
        var starts: [UInt64] = []
        let now: UInt64 = 10_000_000_000
        for _ in 0..<7 {
            let start = bucket.start(at: now)
            bucket.take(start)
            starts.append((start - now) / 1_000_000)
        }
        #expect(starts == [0, 0, 0, 0, 250, 500, 750])
        // An hour later it is full again, and no fuller.
        let later = now + 3_600_000_000_000
        starts = (0..<6).map { _ in
            let start = bucket.start(at: later)
            bucket.take(start)
            return (start - later) / 1_000_000
        }
        #expect(starts == [0, 0, 0, 0, 250, 500])
    }

    @Test("a closed bucket opens at its time; a slow one has no burst")
    func closed() {
        var bucket = RateBucket(perSecond: 0.1)
        #expect(bucket.start(at: 7) == 7)
        bucket.take(7)
        #expect(bucket.start(at: 8) == 10_000_000_007)
        bucket.close(until: 60_000_000_000)
        bucket.close(until: 5)
        #expect(bucket.start(at: 8) == 60_000_000_000)
        #expect(bucket.start(at: 61_000_000_000) == 61_000_000_000)
    }

    @Test("rates are Apple's; the sandbox has a tenth")
    func rates() {
        let production = StoreCallClass.allCases.map { $0.perSecond(in: .production) }
        #expect(production == [50, 20, 10, 5, 1])
        #expect(StoreCallClass.allCases.map { $0.perSecond(in: .sandbox) } == [5, 2, 1, 0.5, 0.1])
    }

    @Test("buckets are apart by environment and class, and refuse what would come too late")
    func gate() {
        let gate = RateGate()
        func reserve(_ callClass: StoreCallClass, _ environment: StoreEnvironment) -> UInt64? {
            gate.reserve(callClass, in: environment, at: 0, left: 1_500_000_000)
        }
        #expect(reserve(.rare, .production) == 0)
        #expect(reserve(.rare, .production) == 1_000_000_000)
        #expect(reserve(.rare, .production) == nil)
        #expect(reserve(.rare, .sandbox) == 0)
        #expect(reserve(.rare, .sandbox) == nil)
        #expect(reserve(.lookup, .production) == 0)
        // The refused one took no slot.
        #expect(gate.reserve(.rare, in: .production, at: 0, left: .max) == 2_000_000_000)
    }
}

@Suite("Walking through pages")
struct PageWalkTests {
    private static func page(_ token: String?, _ count: Int = 20, more: Bool = true)
        -> PageWalk.Page
    {
        PageWalk.Page(hasMore: more, token: token, itemCount: count)
    }

    /// Takes pages until the walk ends or fails.
    private static func walk(
        _ pages: [PageWalk.Page], limit: Int = 100, from token: String? = nil
    ) -> (taken: Int, error: StoreError?) {
        var walk = PageWalk(limit: limit, from: token)
        for page in pages {
            do throws(StoreError) {
                if try walk.take(page) == .end { return (walk.count, nil) }
            } catch {
                return (walk.count, error)
            }
        }
        return (walk.count, .cancelled)
    }

    @Test("a list ends with the page that promises no more")
    func ends() {
        let pages = [Self.page("a"), Self.page("b"), Self.page("c", more: false), Self.page("d")]
        #expect(Self.walk(pages) == (3, nil))
        #expect(Self.walk([Self.page(nil, 0, more: false)]) == (1, nil))
        // The revision of the last page is for the next walk, and may be the one that asked.
        #expect(Self.walk([Self.page("a"), Self.page("a", more: false)]) == (2, nil))
    }

    @Test("a promise of more needs a new token of bounded size")
    func tokens() {
        func isMalformed(_ token: String?) -> Bool {
            Self.walk([Self.page(token)]).error?.reason == .malformedAnswer
        }
        #expect(isMalformed(nil) && isMalformed(""))
        #expect(isMalformed(String(repeating: "x", count: 4097)))
        #expect(!isMalformed(String(repeating: "x", count: 4096)))
        #expect(Self.walk([Self.page("a"), Self.page("a")]) == (2, .pagesRepeat))
        #expect(Self.walk([Self.page("r")], from: "r") == (1, .pagesRepeat))
    }

    @Test("a cycle of pages is found within three times its length", arguments: [1, 2, 3, 7, 64])
    func cycles(length: Int) {
        for tail in [0, 1, 5, 20] {
            let first = (0..<tail).map { Self.page("t\($0)") }
            let cycle = (0..<length).map { Self.page("c\($0)") }
            let pages = first + (0..<10).flatMap { _ in cycle }
            let (taken, error) = Self.walk(pages, limit: 100_000)
            #expect(error == .pagesRepeat)
            #expect(taken <= 3 * (tail + length) + 1, "\(tail) \(length): \(taken)")
        }
    }

    @Test("empty pages in a row are bounded; one with items begins anew")
    func empty() {
        let nine = (0..<9).map { Self.page("e\($0)", 0) }
        #expect(Self.walk(nine + [Self.page("end", more: false)]) == (10, nil))
        #expect(Self.walk(nine + [Self.page("x", 0)]) == (10, .emptyPages(count: 10)))
        let more = (0..<9).map { Self.page("f\($0)", 0) }
        #expect(Self.walk(nine + [Self.page("x", 1)] + more).error == .cancelled)
    }

    @Test("an endless list ends at the limit")
    func endless() {
        let pages = (0..<1000).map { Self.page("\($0)") }
        #expect(Self.walk(pages, limit: 10) == (10, .tooManyPages(limit: 10)))
        #expect(Self.walk(pages, limit: 1) == (1, .tooManyPages(limit: 1)))
        let ten = pages.prefix(9) + [Self.page("z", more: false)]
        #expect(Self.walk(Array(ten), limit: 10) == (10, nil))
    }
}
