import Assay
import AssayBytes
import AssayKeys
import AssayModels
import AssayStore

/// Answers of the App Store, as a client of its API takes them.
extension FuzzTarget {
    /// An answer to a call: first byte the call, second the status; then a line with the pause or
    /// date of its header, and the body, in which `@0` to `@5` stand for genuine tokens.
    /// Invariants: the answer is the verifier's; what is refused has a reason of bounded size; a
    /// walk that takes the same page again and again ends.
    static func storeAnswer(_ authority: FuzzAuthority) -> FuzzTarget {
        let client = FuzzStore(authority)
        return FuzzTarget("StoreAnswer", seeds: storeSeeds, words: storeWords) { bytes in
            guard bytes.count > 2 else { return }
            client.check(bytes[0], bytes[1], bytes.array(2..<bytes.count))
        }
    }

    private static let storeSeeds: [[UInt8]] = [
        (0, 200, "\n{\"signedTransactions\":[\"@0\"],\"hasMore\":true,\"revision\":\"r\"}"),
        (0, 200, "\n{\"signedTransactions\":[],\"hasMore\":true,\"revision\":\"r\"}"),
        (1, 200, "\n{\"data\":[{\"lastTransactions\":[{\"signedTransactionInfo\":\"@0\"}]}]}"),
        (2, 200, "\n{\"notificationHistory\":[],\"hasMore\":true,\"paginationToken\":\"t\"}"),
        (3, 200, "\n{\"testNotificationToken\":\"t\"}"), (3, 200, "\n"),
        (0, 44, "Sun, 06 Nov 1994 08:49:37 GMT\n{\"errorCode\":4040010,\"errorMessage\":\"m\"}"),
        (0, 69, "1768435200000\n{\"errorCode\":4290000}"), (0, 69, "60\n"),
        (0, 41, "Thu, 15 Jan 2026 00:00:30 GMT\n"),
    ].map { [UInt8($0.0), UInt8($0.1)] + Array($0.2.utf8) }

    private static let storeWords = [
        "signedTransactions", "signedTransactionInfo", "signedRenewalInfo", "data", "hasMore",
        "revision", "paginationToken", "notificationHistory", "signedPayload", "errorCode",
        "errorMessage", "true", "false", "null", "@0", "@1", " GMT", "9223372036854775807",
    ]
}

/// The client's half of an exchange, without a network.
private struct FuzzStore: Sendable {
    private let authority: FuzzAuthority
    private let tokens: [[UInt8]]
    private let calls: [StoreCall]
    private let configuration: StoreConfiguration

    init(_ authority: FuzzAuthority) {
        self.authority = authority
        tokens = authority.genuine.map(\.bytes).filter { $0.first == UInt8(ascii: "e") }
        do {
            let span = Timestamp(milliseconds: 0)
            calls = [
                try .history(of: "1"), try .statuses(of: "1"),
                try .notifications(NotificationQuery(from: span, to: span)), .testNotification(),
            ]
            let key = try StoreKey(
                encoded: SigningKey(generating: .p256).pkcs8(), keyId: "2X9R4HXF34",
                issuerId: "57246542-96fe-1a63-e053-0824d011072a")
            configuration = StoreConfiguration(bundleId: "com.example.game", key: key)
        } catch {
            preconditionFailure("no client: \(error)")
        }
    }

    func check(_ call: UInt8, _ status: UInt8, _ bytes: [UInt8]) {
        let parts = bytes.split(
            separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
        let field = String(decoding: parts[0], as: UTF8.self)
        let body = parts.count > 1 ? FuzzTarget.filled(Array(parts[1]).span, tokens) : []
        guard status == 200 else {
            let answer = TransportAnswer(
                status: 360 + Int(status), body: body, retryAfter: field, date: field)
            let refusal = ErrorBody.refusal(answer, in: .production, at: FuzzAuthority.now)
            precondition(refusal.message.utf8.count < 600, "a message of any size")
            precondition(!refusal.description.isEmpty)
            return
        }
        let asked = calls[Int(call) % calls.count]
        do throws(StoreError) {
            let answer = try StoreAnswer(
                body, to: asked, in: .production, configuration, authority.verifier,
                at: FuzzAuthority.now)
            precondition(answer.verification.map { $0.verdict == .valid } ?? (call % 4 == 3))
            walk(answer.page)
        } catch {
            precondition(error.description.utf8.count < 2000)
        }
    }

    private func walk(_ page: PageWalk.Page) {
        var walk = PageWalk(limit: 10)
        for number in 1...10 {
            guard let next = try? walk.take(page), case .page = next else { return }
            precondition(number < 3, "the same page again")
        }
    }
}
