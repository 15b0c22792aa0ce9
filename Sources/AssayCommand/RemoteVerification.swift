import AssayLoop
import AssayModels
struct RemoteVerification {
    let server: Endpoint
    func report(on evidence: [UInt8], as kind: EvidenceKind, expecting: Expectations) async throws
        -> VerificationReport
    { throw Failure("x") }
}
