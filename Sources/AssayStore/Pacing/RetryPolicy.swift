import AssayModels

/// Decides whether a failed request is sent again, and when. Pure: time and chance are arguments.
struct RetryPolicy: Sendable {
    /// Milliseconds before the second attempt. The pause doubles with each attempt.
    var shortestPause: UInt64 = 500
    /// Milliseconds; the longest pause.
    var longestPause: UInt64 = 30_000
    var attempts = StoreLimits.attempts

    enum Decision: Equatable {
        /// Send again after this number of milliseconds.
        case retry(after: UInt64)
        /// Report the failure.
        case giveUp
        /// The next attempt would come too late.
        case tooLate
    }

    /// - Parameters:
    ///   - attempt: the number of the failed attempt, from 1.
    ///   - isRepeatable: whether the request can be sent twice without a second effect.
    ///   - now: the machine's clock.
    ///   - left: milliseconds until the deadline.
    ///   - chance: 0 ..< 1.
    func decision(
        after error: StoreError, attempt: Int, isRepeatable: Bool, now: Timestamp, left: UInt64,
        chance: Double
    ) -> Decision {
        guard Self.canHelp(error, isRepeatable: isRepeatable), attempt < attempts else {
            return .giveUp
        }
        var pause = pause(after: attempt, chance: chance)
        if let time = error.refusal?.retryAt {
            // The jitter comes on top: all clients were given the same time.
            let wait = max(time.milliseconds.subtractingReportingOverflow(now.milliseconds).0, 0)
            pause = UInt64(wait) + UInt64(chance * Double(shortestPause))
        }
        return pause < left ? .retry(after: pause) : .tooLate
    }

    /// Doubles from attempt to attempt; up to half of it is left out by chance, so that the
    /// clients of one outage spread out.
    func pause(after attempt: Int, chance: Double) -> UInt64 {
        // 2^20 times the shortest pause exceeds any longest one.
        let whole = min(shortestPause << UInt64(min(attempt - 1, 20)), longestPause)
        return whole - UInt64(chance * Double(whole / 2))
    }

    /// The codes that Apple documents as worth another attempt: account, app and original
    /// transaction not found "retryable", and internal error "retryable".
    private static let retryableCodes: Set<Int64> = [4_040_002, 4_040_004, 4_040_006, 5_000_001]

    /// Whether another attempt can end differently, and can't have an effect of its own.
    static func canHelp(_ error: StoreError, isRepeatable: Bool) -> Bool {
        if let refusal = error.refusal {
            if let code = refusal.code, retryableCodes.contains(code) { return true }
            if refusal.httpStatus == 429 { return true }
            return isRepeatable && (500...599).contains(refusal.httpStatus)
        }
        guard let failure = error.transport else { return false }
        return switch failure {
        case .hostNotFound, .connectFailed, .handshakeFailed: true
        case .timedOut, .connectionLost: isRepeatable || failure.isUnsent
        case .libraryMissing, .untrusted, .answerTooLarge, .cancelled, .other: false
        }
    }
}
