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
    private let hasPassed = Atomic<Bool>(false)
    private let judge: @Sendable (AuditedAnswer) -> Bool
    let answersPerAudit: Int
    let certificatesPerAudit: Int
    private let hasFailed = Atomic<Bool>(false)
    /// Whether the self-test has failed and `takeFailedSelfTest` has not said so.
    private let hasUnreportedFailure = Atomic<Bool>(false)
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

    /// - Parameters:
    ///   - judge: whether a signature verifies, by another implementation.
    ///   - answersPerAudit: answers for tokens for one that is audited.
    ///   - certificatesPerAudit: the same for signatures of certificates.
    package init(
        _ engine: SignatureEngine, selfTest: @escaping @Sendable (SignatureEngine) -> Bool,
        judge: @escaping @Sendable (AuditedAnswer) -> Bool,
        answersPerAudit: Int = Limits.answersPerAudit,
        certificatesPerAudit: Int = Limits.certificatesPerAudit
    ) {
        chosen = engine
        self.selfTest = selfTest
        self.judge = judge
        self.answersPerAudit = answersPerAudit
        self.certificatesPerAudit = certificatesPerAudit
    }

    /// Runs the self-test, unless it has run: some milliseconds. Other threads wait for it. No key
    /// gets a table before, and without a table OpenSSL verifies.
    package func test() {
        guard chosen != .openssl else { return }
        isTested.withLock { isTested in
            guard !isTested else { return }
            isTested = true
            if selfTest(chosen) {
                hasPassed.store(true, ordering: .releasing)
            } else {
                hasFailed.store(true, ordering: .relaxed)
                hasUnreportedFailure.store(true, ordering: .relaxed)
            }
        }
    }

    /// Whether the self-test has failed and that is not reported: true for one caller. Any thread
    /// that builds a table can be the one that ran it.
    package func takeFailedSelfTest() -> Bool {
        hasUnreportedFailure.exchange(false, ordering: .relaxed)
    }

    /// The engine that verifies now: the chosen one, or OpenSSL once that has failed.
    public var current: SignatureEngine {
        isDistrusted ? .openssl : chosen
    }

    /// Whether the self-test or the audit has failed. EVP verifies then, without any table.
    var isDistrusted: Bool { hasFailed.load(ordering: .relaxed) }

    /// Whether the self-test has run and passed. Keys without a table wait for it.
    var hasPassedSelfTest: Bool { hasPassed.load(ordering: .acquiring) }

    // MARK: Audit

    /// Whether `audit` has work to do. The check costs nothing.
    public var hasPendingAudits: Bool { waitingCount.load(ordering: .relaxed) > 0 }

    /// The number of audited answers so far.
    public var audits: (agreed: Int, disagreed: Int) {
        (agreements.load(ordering: .relaxed), disagreements.load(ordering: .relaxed))
    }

    /// Keeps an answer of the engine for the next audit. While many wait, further ones are not
    /// kept: an audit is a sample.
    package func keep(_ answer: AuditedAnswer) {
        waiting.withLock { waiting in
            guard waiting.count < Limits.waitingAudits else { return }
            waiting.append(answer)
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
        let wrong = answers.filter { judge($0) != $0.holds }
        agreements.add(answers.count - wrong.count, ordering: .relaxed)
        disagreements.add(wrong.count, ordering: .relaxed)
        if !wrong.isEmpty { hasFailed.store(true, ordering: .relaxed) }
        return wrong
    }
}
