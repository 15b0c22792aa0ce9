import AssayClient
import AssayModels
import AssayWire

extension CallOutcome {
    init(_ result: ClientResult, _ expected: Verdict) {
        switch result {
        case .success(let answer):
            self = CallOutcome(answer.result, expected)
        case .failure(let error):
            if let status = error.status, status.code == .resourceExhausted {
                self = .refused("RESOURCE_EXHAUSTED: " + status.message)
            } else if error.reason == .tooManyWaiting {
                self = .refused(error.message)
            } else {
                self = .error(error.message)
            }
        }
    }

    init(_ result: ResponseHead.CallResult, _ expected: Verdict) {
        let verifications: [Verification]
        switch result {
        case .verification(let verification): verifications = [verification]
        case .resolution(let resolution): verifications = resolution.items.map(\.verification)
        case .fetched(let fetched): verifications = fetched.items.map(\.verification)
        case .none, .health, .info, .pong: verifications = []
        }
        guard let last = verifications.last else {
            self = .error("an answer without a verdict")
            return
        }
        if let wrong = verifications.dropLast().first(where: { $0.verdict != .valid }) {
            self = Self.outcome(wrong, .valid)
            return
        }
        self = last.verdict == expected ? .correct : Self.outcome(last, expected)
    }

    private static func outcome(_ wrong: Verification, _ expected: Verdict) -> CallOutcome {
        .wrong("\(wrong.verdict.name) where \(expected.name) was expected: \(wrong.detail)")
    }
}
