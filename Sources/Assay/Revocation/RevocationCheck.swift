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
        let (leaf, intermediate) = statuses.current
        let first = try check(leaf, .leaf, statuses, signed: date)
        let second = try check(intermediate, .intermediate, statuses, signed: date)
        return first ?? second
    }

    /// The cells are those that all threads have: only what is refused or reported refers to them.
    private func check(
        _ status: PackedStatus, _ position: ChainPosition, _ statuses: ChainStatuses,
        signed date: Timestamp
    ) throws(Refusal) -> String? {
        let statement = status.statement
        switch statement {
        case .revoked(let revoked, let reason):
            guard reason.isCompromise || date.seconds >= revoked else { return nil }
        case .good(let since, let end):
            if !isStale(end), isYoungEnough(since) { return nil }
        case .unknown, .none: break
        }
        return try refuse(
            statement, position == .leaf ? statuses.leaf : statuses.intermediate, signed: date)
    }

    @inline(never)
    private func refuse(
        _ statement: PackedStatus.Statement, _ cell: StatusCell, signed date: Timestamp
    ) throws(Refusal) -> String? {
        let doubt: String
        switch statement {
        case .revoked(let revoked, let reason):
            throw Refusal(
                .certificateRevoked,
                "\(cell.name) was revoked at \(Timestamp(seconds: revoked).rfc3339) "
                    + "(\(reason.text)); the evidence was signed at \(date.rfc3339)")
        case .good(let since, let end):
            doubt =
                isStale(end)
                ? "stale since \(Timestamp(seconds: end ?? since).rfc3339)"
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

    /// - Parameter end: seconds since 1970; nil for none.
    private func isStale(_ end: Int64?) -> Bool {
        guard let end else { return false }
        return now.seconds > end + Limits.clockSkewMilliseconds / 1000
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
