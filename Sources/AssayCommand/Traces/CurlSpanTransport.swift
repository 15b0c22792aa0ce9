import AssayCommandLine
import AssayIO
import AssayServer
import AssayStore

/// Has libcurl post spans to a collector.
final class CurlSpanTransport: SpanTransport {
    private let transport: PlainTransport
    private let url: String

    /// Bytes of an answer, which says how many spans were not accepted.
    private static let answerBytes = 64 << 10

    /// - Parameter url: the collector's, with the path. The proxy is that of the environment
    ///   variables.
    init(_ url: String) throws(Failure) {
        self.url = url
        guard PlainTransport.isAvailable else {
            throw Failure("trace: spans need libcurl: install it, or leave trace.otlp out")
        }
        do throws(StoreTransportError) {
            transport = try PlainTransport(proxy: nil)
        } catch {
            throw Failure("trace: \(error)")
        }
    }

    func post(
        _ body: [UInt8], timeout: UInt64, completion: @escaping @Sendable (String?) -> Void
    ) {
        Task {
            do throws(StoreTransportError) {
                let answer = try await transport.send(
                    url, body: body, contentType: "application/json", accept: "application/json",
                    byteLimit: Self.answerBytes, timeout: timeout)
                completion(
                    (200..<300).contains(answer.status)
                        ? nil : "the collector answered with the status \(answer.status) of HTTP")
            } catch {
                completion(Self.reason(error))
            }
        }
    }

    /// Why the collector has not accepted spans. The transport's words are about the App Store.
    static func reason(_ error: StoreTransportError) -> String {
        guard case .answerTooLarge(let limit) = error else { return "\(error)" }
        return "the collector's answer has more than \(limit) bytes"
    }

    func close() { transport.close() }
}
