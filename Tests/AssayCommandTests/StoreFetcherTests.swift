import AssayModels
import AssayServer
import AssayStore
import Testing

@testable import AssayCommand

@Suite("Store fetcher") struct StoreFetcherTests {
    private static func refusal(_ status: Int, _ code: Int64? = nil) -> StoreError {
        .refused(StoreRefusal(httpStatus: status, code: code))
    }

    @Test("Each error of the App Store's client has its reason, in the client's words")
    func reasons() {
        let table: [(StoreError, FetchError.Reason)] = [
            (Self.refusal(401), .keyNotAccepted), (Self.refusal(429, 4_290_000), .rateLimited),
            (Self.refusal(500, 5_000_000), .unavailable), (Self.refusal(503), .unavailable),
            (Self.refusal(404, 4_040_010), .unknownTransaction),
            (Self.refusal(404, 4_040_001), .refused), (Self.refusal(400, 4_000_006), .refused),
            (Self.refusal(404), .refused), (Self.refusal(302), .refused),
            (.unverified(.invalidSignature, detail: "d"), .notVerified),
            (.malformedAnswer("no JSON"), .notVerified), (.pagesRepeat, .notVerified),
            (.emptyPages(count: 10), .notVerified),
            (.transport(.libraryMissing), .keyNotAccepted),
            (.transport(.connectFailed("c")), .unavailable),
            (.transport(.untrusted("u")), .unavailable),
            (.transport(.answerTooLarge(limit: 1)), .tooLarge),
            (.transport(.timedOut(isSent: true)), .unavailable),
            (.deadlineExceeded("d"), .deadlineExceeded), (.cancelled, .cancelled),
            (.tooManyPages(limit: 1), .tooLarge), (.tooManyBytes(limit: 1), .tooLarge),
            (.tooManyWaiting, .rateLimited), (.invalidArgument("i"), .refused),
            (.unusableKey("k"), .keyNotAccepted),
        ]
        for (error, reason) in table {
            let made = FetchError(error, now: 0)
            #expect(made.reason == reason && made.message == error.description, "\(error)")
            #expect(
                made.appStoreCode == error.refusal?.code && made.retryAfterMilliseconds == nil,
                "\(error)")
        }
    }

    @Test("Apple's time of a retry becomes a pause: at least a millisecond, at most what fits")
    func pauses() {
        let table: [(retryAt: Int64, now: Int64, UInt32)] = [
            (5_000, 2_000, 3_000), (5_000, 5_000, 1), (5_000, 9_000, 1),
            (.max / 2, 0, .max),
        ]
        for (retryAt, now, pause) in table {
            let error = StoreError.refused(
                StoreRefusal(httpStatus: 429, retryAt: Timestamp(milliseconds: retryAt)))
            #expect(FetchError(error, now: now).retryAfterMilliseconds == pause)
        }
    }
}
