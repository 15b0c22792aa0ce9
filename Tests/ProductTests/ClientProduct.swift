import AssayClient

/// Uses the product AssayClient alone.
enum ClientProduct {
    /// Returns the verdict of a transaction at a server, and whether the server is serving.
    static func verdict(
        of evidence: MintedEvidence, at address: String
    ) async throws -> (verdict: String, isServing: Bool) {
        let client = try await AssayClient.connect(
            to: Endpoint(address), options: ClientOptions(timeout: .seconds(30)))
        defer { client.close() }
        let answer: VerifyAnswer = try await client.verify(
            evidence.transaction, as: .transaction,
            expecting: Expectations(bundleId: MintedEvidence.bundleId))
        let verification: Verification = answer.verification
        let info: ServerInfo = try await client.info()
        precondition(info.kinds.contains(EvidenceKind.transaction))
        return (verification.verdict.name, try await client.health())
    }

    /// Returns whether a call without a server fails with `connectFailed`.
    static func failsWithoutServer() async throws(EndpointError) -> Bool {
        let address = try Endpoint("unix:/tmp/assay-no-such.sock")
        do throws(ClientError) {
            let client = try AssayClient(address: address)
            _ = try await client.verify(Array("a.b.c".utf8), as: .transaction)
            return false
        } catch {
            let reason: ClientError.Reason = error.reason
            return reason == .connectFailed && error.isRetryable && error.status == nil
                && error.message.hasSuffix("start the server, or check the path")
        }
    }

    /// Returns whether options keep TLS settings of the user's own.
    static func keepsTLS() throws(TLSError) -> Bool {
        let settings = TLSClientSettings(serverName: "assay.example.com")
        let options = ClientOptions(
            requestLimits: FrameLimits(frameBytes: 1 << 20), tls: try TLSContext(client: settings))
        return options.tls != nil
    }
}
