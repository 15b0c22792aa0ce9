import Assay
import AssayBytes
import AssayClient
import AssayCommandLine
import AssayIO
import AssayModels
import AssayWire

/// A verification by a server.
struct RemoteVerification {
    let server: Endpoint
    let tls: TLSContext?
    let timeout: Duration

    /// Requests the signed JSON instead of typed fields, because it keeps unknown members.
    func report(
        on evidence: [UInt8], as kind: EvidenceKind, expecting expectations: Expectations,
        app: String, inApp: InAppSelection, isVerifyReceipt: Bool
    ) async throws -> VerificationReport {
        let call = VerifyCall(
            kind: kind, expectations: expectations, returnsTypedPayload: false,
            returnsPayloadJSON: true, inApp: inApp, returnsVerifyReceiptJSON: isVerifyReceipt)
        let answer = try await server.ask(tls, timeout: timeout) { client throws(ClientError) in
            try await client.verify(evidence, call, app: app)
        }
        if isVerifyReceipt {
            var report = VerificationReport(answer.verification)
            report.verifyReceipt = answer.payloadJSON
            return report
        }
        do throws(JSONError) {
            return try VerificationReport(answer.verification, body: answer.payloadJSON)
        } catch {
            throw Failure("\(server) sent a payload that is not JSON: \(error)")
        }
    }
}
