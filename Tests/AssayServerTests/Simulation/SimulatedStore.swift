import AssayEntitlements
import AssayServer
import AssayWire

/// A simulated App Store: the transaction decides what it does.
enum SimulatedStore {
    static let transactions = 5

    static func makeFetcher() -> ScriptedFetcher {
        let silent = HeldFetches()
        return ScriptedFetcher { question async throws(FetchError) in
            switch question.query.transactionId {
            case "2": throw FetchError(.unavailable, "down")
            case "3": throw FetchError(.unknownTransaction, "unknown")
            // Until the server gives up.
            case "4": try await silent.wait()
            default:
                for page in 1...4 {
                    guard await question.hold(page * 10_000) else {
                        throw FetchError(.cancelled, "no memory")
                    }
                }
            }
            return try ScriptedFetcher.answer(question)
        }
    }
}

/// A batch of HTTP: a line for each request.
struct SimulatedBatch {
    static let path = "/v1/verify/batch"
    static let type = "application/x-ndjson"
    static let questions: [SimulatedQuestion] = [.genuine, .forged, .genuine]

    let body: [UInt8]

    init(_ evidence: SimulatedEvidence) {
        let lines = Self.questions.map { question in
            let token = question == .forged ? evidence.forged : evidence.genuine
            let text = String(decoding: token, as: UTF8.self)
            return #"{"kind":"transaction","evidence":"\#(text)"}"#
        }
        body = Array(lines.joined(separator: "\n").utf8)
    }

    /// Whether each line has one answer, in order, and the right one. A line that arrives too late,
    /// or for which no memory is left, is refused, and ends the batch.
    func isAnswered(by text: String) -> Bool {
        let outcomes = text.split(separator: "\n").map { Self.outcome(String($0)) }
        guard let last = outcomes.last, outcomes.count <= Self.questions.count else { return false }
        var isWhole = outcomes.count == Self.questions.count
        if case .refused = last { isWhole = true }
        return isWhole && zip(Self.questions, outcomes).allSatisfy { $0.admits($1) }
    }

    private static func outcome(_ line: String) -> SimulatedOutcome {
        if line.contains(#""verdict":"#) {
            return .verdict(isValid: line.contains(#""verdict":"VALID""#))
        }
        let status = line.split(separator: #""status":"#).dropFirst().first?.prefix(3)
        return .refused(Status(ofHTTP: status.flatMap { Int($0) } ?? 0))
    }
}

extension AssayWire.Status {
    /// What a status of HTTP says.
    init(ofHTTP status: Int) {
        self =
            switch status {
            case 404: .notFound
            case 408, 504: .deadlineExceeded
            case 413, 429: .resourceExhausted
            case 499: .cancelled
            case 503: .unavailable
            default: .unknown
            }
    }
}
