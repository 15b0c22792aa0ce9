package import AssayClient
package import AssayIO

extension Endpoint {
    /// Sends one request to the server at this address.
    ///
    /// - Parameter timeout: the limit for the call, including the connection.
    package func ask<Answer: Sendable>(
        _ tls: TLSContext?, timeout: Duration,
        _ question: (AssayClient) async throws(ClientError) -> Answer
    ) async throws -> Answer {
        do throws(ClientError) {
            let options = ClientOptions(timeout: timeout, connectTimeout: timeout, tls: tls)
            let client = try AssayClient(address: self, options: options)
            defer { client.close() }
            return try await question(client)
        } catch {
            throw Failure("\(self): " + error.text)
        }
    }
}

extension ClientError {
    /// OpenSSL's reasons for a certificate of another name.
    private static let names: Set = ["hostname mismatch", "IP address mismatch"]

    /// The message, with the tool's options in place of the library's.
    fileprivate var text: String {
        guard let cause, let remedy else { return message }
        return "no connection: \(cause); " + remedy
    }

    /// The remedy, when an option of the tool helps.
    private var remedy: String? {
        guard case .tls(let error)? = cause else { return nil }
        return switch error.reason {
        case .refusedByPeer where error.message.contains("certificate"):
            "if the server requires a client certificate, name it with --tls-cert and --tls-key"
        case .untrustedPeer where Self.names.contains(where: error.message.hasSuffix):
            "if this is the right server, give the name in its certificate with --tls-name"
        case .untrustedPeer: "name its authority with --tls-ca"
        default: nil
        }
    }
}
