import Assay
import AssayTelemetry

/// The work of a verifier for which no client waits. A background thread does it after the answers
/// of a slice.
extension Verifier {
    var hasPendingWork: Bool { hasPendingTokenKeyTables || engine.hasPendingAudits }

    /// Builds the tables of frequently used keys of tokens, and audits a sample of the answers.
    func doPendingWork(_ log: Log) {
        buildPendingTokenKeyTables()
        reportFailedSelfTest(log)
        for answer in engine.audit() {
            log.write(
                .error, "signature_engine_failed",
                [
                    "engine": .text(engine.chosen.rawValue),
                    "reason": .text("OpenSSL disagrees, and verifies from now on"),
                    "answered": .text(answer.holds ? "valid" : "invalid"),
                    "digest": .text(answer.digest), "signature": .text(answer.signature),
                    "key": .text(answer.key),
                ])
        }
    }

    /// Builds the tables of the keys that sign certificates.
    func buildIssuerTables(_ log: Log) {
        buildPendingIssuerTables()
        reportFailedSelfTest(log)
    }

    /// The self-test runs before the first table of either kind.
    private func reportFailedSelfTest(_ log: Log) {
        if engine.takeFailedSelfTest() { log.writeFailedSelfTest(of: engine) }
    }
}
