import AssayBytes
import AssayModels

extension VerificationRequest {
    /// Checks the statuses of a chain under which the evidence's signature holds.
    ///
    /// - Parameter date: the effective date. Evidence from before the revocation stays valid.
    /// - Returns: what the answer's detail reports under the policy `soft`.
    func checkRevocation(
        of chain: some AnchoredChain, signed date: Timestamp, log: CheckLog?
    ) throws(Refusal) -> String? {
        guard policy.revocation != .off, let statuses = chain.statuses else { return nil }
        if let log {
            log.begin(
                .revocation,
                found: "leaf \(statuses.leaf.text), intermediate "
                    + statuses.intermediate.text, expected: policy.revocation.text)
        }
        let leaf = try check(statuses.leaf, signed: date)
        let intermediate = try check(statuses.intermediate, signed: date)
        return leaf ?? intermediate
    }

    private func check(
        _ cell: StatusCell, signed date: Timestamp
    ) throws(Refusal) -> String? {
        let doubt: String
        switch cell.status.statement {
        case .revoked(let revoked, let reason):
            guard reason.isCompromise || date.seconds >= revoked else { return nil }
            throw Refusal(
                .certificateRevoked,
                "\(cell.name) was revoked at \(Timestamp(seconds: revoked).rfc3339) "
                    + "(\(reason.text)); the evidence was signed at \(date.rfc3339)")
        case .good(let since, let end):
            let skew = Limits.clockSkewMilliseconds / 1000
            let isStale = end.map { now.seconds > $0 + skew } ?? false
            if !isStale, isYoungEnough(since) { return nil }
            doubt =
                isStale
                ? "stale since \(Timestamp(seconds: end!).rfc3339)"
                : "of \(Timestamp(seconds: since).rfc3339), which is too old"
        case .unknown: doubt = "unknown to the responder"
        case .none:
            doubt =
                cell.problems.first.map { "unknown; a document is not used: \($0.error)" }
                ?? "unknown"
        }
        guard case .hard = policy.revocation else {
            return "the revocation status of \(cell.name) is \(doubt)"
        }
        throw Refusal(
            .certificateRevoked,
            "the policy requires a good revocation status; that of \(cell.name) is \(doubt)")
    }

    private func isYoungEnough(_ since: Int64) -> Bool {
        guard case .hard(let age) = policy.revocation else { return true }
        return now.seconds - since <= age.components.seconds
    }
}

extension StatusCell {
    /// Position and serial number, for messages.
    fileprivate var name: String { "the \(position.rawValue), serial \(certificate.serialText)," }

    /// The status, for explanations.
    fileprivate var text: String {
        guard let current = current?.status else { return "unknown" }
        switch current.state {
        case .good, .unknown: return "\(current.name) at \(current.thisUpdate.rfc3339)"
        case .revoked(let date, let reason):
            return "revoked at \(date.rfc3339) (\(reason.text))"
        }
    }
}

extension RevocationPolicy {
    /// The accepted statuses, for explanations.
    fileprivate var text: String {
        switch self {
        case .off: "any"
        case .soft: "not revoked when it signed"
        case .hard(let age): "good, at most \(age.components.seconds) s old"
        }
    }
}
