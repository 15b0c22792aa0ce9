import AssayModels
import AssayServer
import TestSupport

/// Signs nothing: answers with what it was asked.
final class ScriptedSigner: RequestSigner {
    let appAppleId: Int64?
    private let failure: SigningFailure?

    init(appAppleId: Int64? = 1_234_567_890, failure: SigningFailure? = nil) {
        self.appAppleId = appAppleId
        self.failure = failure
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\"", with: "'") + "\""
    }

    func sign(
        _ kind: SignatureKind, _ json: [UInt8], key: String?
    ) throws(SigningFailure) -> [UInt8] {
        if let failure { throw failure }
        let asked = "\(kind.rawValue) \(String(decoding: json, as: UTF8.self)) \(key ?? "-")"
        return Array("{\"jws\":\(Self.quoted(asked))}".utf8)
    }

    func retentionAnswer(
        _ json: [UInt8], key: String?
    ) throws(SigningFailure) -> RetentionResponder {
        if let failure { throw failure }
        let answer = String(decoding: json, as: UTF8.self)
        return { request throws(SigningFailure) in
            let asked = "\(request.productId) \(answer) \(key ?? "-")"
            return Array("{\"message\":{\"messageIdentifier\":\(Self.quoted(asked))}}".utf8)
        }
    }
}
