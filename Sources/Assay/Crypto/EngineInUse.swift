import AssayLocks
import Synchronization

/// The signature engine of a process, and what watches over it.
///
/// The engine has to agree with OpenSSL on every signature. A self-test checks that before the
/// engine's first use, and an audit compares a sample of its answers while it runs. If one of them
/// fails, every verifier that shares this object uses OpenSSL from then on.
public final class EngineInUse: Sendable {
    /// The engine that was asked for.
    public let chosen: SignatureEngine
    private let selfTest: @Sendable (SignatureEngine) -> Bool
    /// Whether the self-test has run.
    private let isTested = Locked(false)
    private let judge: @Sendable (ES256Check) -> Bool
    private let isDistrusted = Atomic<Bool>(false)
    private let waiting = Locked<[AuditedAnswer]>([])
    /// Lets `hasPendingAudits` answer without a lock.
    private let waitingCount = Atomic<Int>(0)
    private let agreements = Atomic<Int>(0)
    private let disagreements = Atomic<Int>(0)

    /// Takes the engine into use. Its self-test runs before its first answer.
    ///
    /// - Parameter engine: the engine; by default the fastest that this processor supports.
    public convenience init(_ engine: SignatureEngine = .best) {
        self.init(engine, selfTest: { $0.passesSelfTest }, judge: { $0.holdsByOpenSSL })
    }

    /// - Parameter judge: whether a signature verifies, by another implementation.
    package init(
        _ engine: SignatureEngine, selfTest: @escaping @Sendable (SignatureEngine) -> Bool,
        judge: @escaping @Sendable (ES256Check) -> Bool
    ) {
        chosen = engine
        self.selfTest = selfTest
        self.judge = judge
    }

    /// Runs the self-test, unless it has run: some milliseconds. Other threads wait for it. No key
    /// gets a table before, and without a table OpenSSL verifies.
    package func test() {
        guard chosen != .openssl else { return }
        isTested.withLock { isTested in
            guard !isTested else { return }
            isTested = true
            if !selfTest(chosen) { isDistrusted.store(true, ordering: .relaxed) }
        }
    }

    /// The engine that verifies now: the chosen one, or OpenSSL once that has failed.
    public var current: SignatureEngine {
        isDistrusted.load(ordering: .relaxed) ? .openssl : chosen
    }

    // MARK: Audit

    /// Whether `audit` has work to do. The check costs nothing.
    public var hasPendingAudits: Bool { waitingCount.load(ordering: .relaxed) > 0 }

    /// The number of audited answers so far.
    public var audits: (agreed: Int, disagreed: Int) {
        (agreements.load(ordering: .relaxed), disagreements.load(ordering: .relaxed))
    }

    /// Keeps an answer of the engine for the next audit. While many wait, further ones are not
    /// kept: an audit is a sample.
    package func keep(_ check: ES256Check, holds: Bool) {
        waiting.withLock { waiting in
            guard waiting.count < Limits.waitingAudits else { return }
            waiting.append(AuditedAnswer(check: check, holds: holds))
            waitingCount.store(waiting.count, ordering: .relaxed)
        }
    }

    /// Compares the kept answers with OpenSSL's: as much as one verification of OpenSSL each, so
    /// this runs where nobody waits for an answer.
    ///
    /// - Returns: the answers that OpenSSL does not give. There must never be any.
    @discardableResult
    public func audit() -> [AuditedAnswer] {
        let answers = waiting.withLock { waiting in
            defer { waiting.removeAll() }
            waitingCount.store(0, ordering: .relaxed)
            return waiting
        }
        let wrong = answers.filter { judge($0.check) != $0.holds }
        agreements.add(answers.count - wrong.count, ordering: .relaxed)
        disagreements.add(wrong.count, ordering: .relaxed)
        if !wrong.isEmpty { isDistrusted.store(true, ordering: .relaxed) }
        return wrong
    }
}

/// An answer of the signature engine that the audit compares with OpenSSL's.
public struct AuditedAnswer: Sendable {
    let check: ES256Check
    /// Whether the signature verifies, by the engine; the client got this answer.
    public let holds: Bool

    /// The SHA-256 digest of the signed bytes, which names the token.
    public var digest: String { check.digest.text }
    /// The third part of the token.
    public var signature: String { check.signature.text }
    /// The signer's public key: an uncompressed point, in hexadecimal.
    public var key: String { hexadecimal(check.key.point.span) }
}

/// Chooses the answers of one thread that are audited: about one in `Limits.answersPerAudit`, at
/// random places, so that nobody who sends tokens knows which.
struct AuditSample {
    /// Answers before the next one that is audited.
    private var remaining = Self.gap

    private static var gap: Int { Int.random(in: 0..<2 * Limits.answersPerAudit) }

    /// Counts the answers of a batch.
    ///
    /// - Returns: the index of the one to audit; nil for none.
    mutating func next(of count: Int) -> Int? {
        guard remaining < count else {
            remaining -= count
            return nil
        }
        defer { remaining = Self.gap }
        return remaining
    }
}
