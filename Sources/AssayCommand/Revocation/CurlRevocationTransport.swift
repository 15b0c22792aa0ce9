import AssayCommandLine
import AssayIO
import AssayServer
import AssayStore

/// Has libcurl ask hosts for revocation statuses.
final class CurlRevocationTransport: RevocationTransport {
    private let transport: PlainTransport

    /// - Parameter proxy: nil for that of the environment variables.
    init(proxy: String?) throws(Failure) {
        do throws(StoreTransportError) {
            transport = try PlainTransport(proxy: proxy)
        } catch {
            throw Failure("revocation: \(error)")
        }
    }

    func send(
        _ request: RevocationRequest,
        completion: @escaping @Sendable (Result<[UInt8], RevocationRequestError>) -> Void
    ) {
        let isOCSP = request.body != nil
        Task {
            do throws(StoreTransportError) {
                let answer = try await transport.send(
                    request.url, body: request.body, contentType: "application/ocsp-request",
                    accept: isOCSP ? "application/ocsp-response" : "application/pkix-crl",
                    byteLimit: request.byteLimit, timeout: request.timeout)
                completion(
                    answer.status == 200
                        ? .success(answer.body) : .failure(.status(answer.status)))
            } catch {
                completion(.failure(RevocationRequestError(error)))
            }
        }
    }

    func close() { transport.close() }
}

extension RevocationRequestError {
    fileprivate init(_ error: StoreTransportError) {
        switch error {
        case .timedOut: self = .timedOut
        case .answerTooLarge: self = .tooLarge
        default: self = .failed("\(error)")
        }
    }
}
