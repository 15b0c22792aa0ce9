import Assay
import AssayBytes
import AssayEntitlements
import AssayIO
import AssayModels
import AssayWire

/// Asks the App Store for the customer of a verified receipt, and completes its answer. Any thread
/// can use it.
struct ReceiptLookup: Sendable {
    let completion: any StoreCompletion
    private let fetcher: any Fetcher
    private let id: UInt64
    /// The receipt as it was sent, without white space; nil if it was verified as it arrived.
    let receipt: [UInt8]?

    init(_ completion: any StoreCompletion, by fetcher: any Fetcher, for job: Job) {
        self.completion = completion
        self.fetcher = fetcher
        id = job.id
        receipt =
            if case .whole(let evidence) = job.evidence {
                evidence.span.array.filter { $0 > UInt8(ascii: " ") }
            } else {
                nil
            }
    }

    /// Fetches, and encodes the answer.
    func answer(
        within timeout: Duration, holding hold: @escaping @Sendable (Int) async -> Bool,
        _ clock: @Sendable () -> Timestamp
    ) async -> EncodedAnswer {
        do throws(FetchError) {
            let found = try await fetcher.fetch(
                completion.query, timeout: timeout, holding: hold)
            return .encoded(completion.answer(found, receipt: receipt, at: clock()))
        } catch {
            guard error.reason == .unknownTransaction else {
                return .refused(ResponseHead(id: id, error))
            }
            return .encoded(completion.answer(nil, receipt: receipt, at: clock()))
        }
    }
}

extension Job {
    /// What the answer to the receipt needs of the App Store; nil for nothing.
    func lookup(_ verification: Verification) -> ReceiptLookup? {
        guard kind == .appReceipt, slot == nil, let fetcher = app.receiptFetcher else { return nil }
        return form.completion(of: verification).map { ReceiptLookup($0, by: fetcher, for: self) }
    }
}
