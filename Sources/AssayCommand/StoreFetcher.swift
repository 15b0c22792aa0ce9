import AssayEntitlements
import AssayIO
import AssayModels
import AssayServer
import AssayStore

/// Has `AssayStore`'s client answer the server's calls of Fetch.
final class StoreFetcher: Fetcher {
    private let client: AppStoreClient

    init(_ client: AppStoreClient) { self.client = client }

    func fetch(
        _ query: CustomerQuery, timeout: Duration,
        holding hold: @escaping @Sendable (_ bytes: Int) async -> Bool
    ) async throws(FetchError) -> CustomerState {
        do throws(StoreError) {
            return try await client.state(of: query, timeout: timeout, holding: hold)
        } catch {
            throw FetchError(error, now: SystemClock.wallMilliseconds)
        }
    }

    var statistics: FetchStatistics {
        let metrics = client.metrics
        var statistics = FetchStatistics()
        statistics.requests = metrics.requests
            .map { row, count in
                .init(endpoint: row.endpoint, outcome: row.outcome.rawValue, count: count)
            }
            .sorted { ($0.endpoint, $0.outcome) < ($1.endpoint, $1.outcome) }
        statistics.retries = metrics.retries
        statistics.rateWaits = metrics.rateWaits
        statistics.rateWaitNanoseconds = metrics.rateWaitNanoseconds
        return statistics
    }
}

extension FetchError {
    /// - Parameter now: milliseconds since 1970.
    init(_ error: StoreError, now: Int64) {
        let text = error.message
        if let refusal = error.refusal {
            self.init(refusal, text, now: now)
            return
        }
        let reason: Reason =
            switch error.reason {
            case .unverified, .malformedAnswer, .pagesRepeat, .emptyPages: .notVerified
            case .libraryMissing, .unusableKey: .keyNotAccepted
            // Of the same size each time.
            case .answerTooLarge, .tooManyPages, .tooManyBytes: .tooLarge
            case .deadlineExceeded: .deadlineExceeded
            case .cancelled: .cancelled
            case .tooManyWaiting: .rateLimited
            case .invalidArgument: .refused
            default: .unavailable
            }
        self.init(reason, text)
    }

    private init(_ refusal: StoreRefusal, _ text: String, now: Int64) {
        let reason: Reason =
            switch refusal.httpStatus {
            case 401: .keyNotAccepted
            case 429: .rateLimited
            case 500...599: .unavailable
            default:
                refusal.code == StoreRefusal.transactionNotFound ? .unknownTransaction : .refused
            }
        let pause = refusal.retryAt.map { UInt32(clamping: max($0.milliseconds, now + 1) - now) }
        self.init(
            reason, text, appStoreCode: refusal.code, retryAfterMilliseconds: pause)
    }
}
