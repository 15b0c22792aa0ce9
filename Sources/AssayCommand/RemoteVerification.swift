import Assay
import AssayBytes
import AssayClient
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

extension Endpoint {
    /// Sends one request to the server at this address.
    ///
    /// - Parameter timeout: the limit for the call, including the connection.
    func ask<Answer: Sendable>(
        _ tls: TLSContext?, timeout: Duration,
        _ question: (AssayClient) async throws(ClientError) -> Answer
    ) async throws -> Answer {
        do throws(ClientError) {
            let options = ClientOptions(timeout: timeout, connectTimeout: timeout, tls: tls)
            let client = try AssayClient(address: self, options: options)
            defer { client.close() }
            return try await question(client)
        } catch {
            throw Failure("\(self): \(error)" + error.hint)
        }
    }
}

extension ClientError {
    /// OpenSSL's reasons for a certificate of another name.
    private static let names: Set = ["hostname mismatch", "IP address mismatch"]

    /// The remedy, when an option of the tool helps.
    fileprivate var hint: String {
        switch self {
        case .connectFailed(.tls(.refusedByPeer(let reason))) where reason.contains("certificate"):
            "; if the server requires a client certificate, name it with --tls-cert and --tls-key"
        case .connectFailed(.tls(.untrustedPeer(let reason))) where Self.names.contains(reason):
            "; if this is the right server, give the name in its certificate with --tls-name"
        case .connectFailed(.tls(.untrustedPeer)): "; name its authority with --tls-ca"
        default: ""
        }
    }
}
