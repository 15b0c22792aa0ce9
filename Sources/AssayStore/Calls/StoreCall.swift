import AssayModels

/// One call of the App Store Server API: what to send, and what the answer holds.
///
/// The functions of the extensions make them, one for each endpoint.
public struct StoreCall: Sendable, Equatable {
    /// What the App Store answers.
    enum Answer: Sendable, Equatable {
        /// Signed members, on one page.
        case signed
        /// Signed members on pages; the parameter that asks for the next one.
        case pages(parameter: String)
        /// JSON without a signed member, or nothing.
        case unsigned
    }

    struct Parameter: Sendable, Equatable {
        let name: String
        let value: String
    }

    /// The name of the endpoint, for metrics and messages, such as `history`.
    public let name: String
    let method: String
    let path: String
    var query: [Parameter] = []
    var body: [UInt8]?
    var contentType = "application/json"
    var callClass = StoreCallClass.read
    var answer = Answer.unsigned
    /// Whether the sandbox is asked after production did not know the transaction or the app.
    var findsEnvironment = true
    /// The only environment that the automatic choice asks; nil for those of `findsEnvironment`.
    var automaticEnvironment: StoreEnvironment?
    /// Why the sandbox has nothing to answer; nil where it has.
    var noSandbox: String?
    /// Whether a second request has no effect of its own.
    var isRepeatable = true

    init(_ name: String, _ method: String, _ path: String) {
        self.name = name
        self.method = method
        self.path = path
    }

    /// The path and query of a request for the first page, or for that of a token.
    func target(page token: String? = nil) -> String {
        var parameters = query
        if let token, case .pages(let name) = answer {
            parameters.append(Parameter(name: name, value: token))
        }
        guard !parameters.isEmpty else { return path }
        let pairs = parameters.map { URLText.encode($0.name) + "=" + URLText.encode($0.value) }
        return path + "?" + pairs.joined(separator: "&")
    }

    /// Refuses environments that have nothing to answer.
    func check(_ environments: [StoreEnvironment]) throws(StoreError) {
        if let noSandbox, environments == [.sandbox] { throw .invalidArgument(noSandbox) }
    }

    /// Checks a value of a query or body. Apple takes an empty one for none, and answers something
    /// else than what was asked for.
    static func checkFilled(_ text: String?, _ name: String) throws(StoreError) {
        guard let text, text.utf8.allSatisfy({ $0 == 0x20 || $0 == 0x09 }) else { return }
        throw .invalidArgument("the \(name) is empty: leave it out, or name one")
    }

    /// A segment of a path. Throws `invalidArgument` for text that is no identifier: it could lead
    /// to another path.
    static func segment(_ text: String, _ name: String) throws(StoreError) -> String {
        guard !text.isEmpty else { throw .invalidArgument("the \(name) is empty") }
        guard text.utf8.count <= StoreLimits.identifierBytes else {
            throw .invalidArgument(
                "the \(name) has more than \(StoreLimits.identifierBytes) bytes")
        }
        guard text != ".", text != "..", text.utf8.allSatisfy(URLText.isUnreserved) else {
            throw .invalidArgument(
                "the \(name) has a character other than letters, digits and - . _ ~")
        }
        return text
    }
}

/// Text in URLs (RFC 3986).
enum URLText {
    /// Section 2.3.
    static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// Escapes every byte that is not unreserved.
    static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += (digits.utf8.count == 1 ? "%0" : "%") + digits
            }
        }
        return encoded
    }
}
