import AssayBytes
import AssayWire

/// One statement of a connection's script. A script is statements separated by `;`. At its end
/// the connection stays open and silent.
enum Statement {
    /// `wait N`: until N requests have arrived on this connection.
    case wait(Int)
    /// `answer N | CALL | all | reversed [OPTION=VALUE ...]`: answers the request with this number,
    /// from 1 on, the first of this call that has no answer, or all that have none. Calls that
    /// start together can arrive in any order, so where it matters a script names the call.
    case answer(Selection, AnswerOptions)
    /// `half N`: as `answer N`, but writes only the first half of the frame.
    case half(Int)
    /// `rest`: writes the other half.
    case rest
    /// `notice STATUS [retry=MS] [message=TEXT]`: a frame with id 0.
    case notice(AnswerOptions)
    /// `chunk BYTES`: writes this number of bytes at a time from now on, a millisecond apart.
    case chunk(Int)
    /// `bytes HEX`: writes these.
    case bytes([UInt8])
    /// `sleep MS`.
    case sleep(UInt64)
    /// `pause`: stops reading. `read`: reads again.
    case pause, read
    /// `finish`: sends the end of the stream. `close`: closes the connection.
    case finish, close
    /// `until-closed`: until the client has closed the connection.
    case untilClosed
    /// `serve`: answers all requests from now on, at once.
    case serve

    enum Selection {
        case one(Int), call(String), all, reversed
    }
}

/// How an answer differs from the usual one: `status=NAME`, `retry=MS`, `code=NUMBER` (Apple's),
/// `message=TEXT` (an underscore is a space), `id=NUMBER`, `result=KIND`, `append=HEX` (bytes after
/// the head's fields), `body=COUNT` (zero bytes as the body).
struct AnswerOptions {
    var status = Status.ok
    var retryAfter: UInt32 = 0
    var appStoreErrorCode: Int64?
    var message = ""
    var id: UInt64?
    var result: String?
    var append: [UInt8] = []
    var bodyCount: Int?

    init(_ words: ArraySlice<String>) throws {
        for word in words {
            let halves = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard halves.count == 2 else { throw ScriptError("not an option: \(word)") }
            try set(halves[0], halves[1])
        }
    }

    private mutating func set(_ name: String, _ value: String) throws {
        switch name {
        case "status": status = try Self.status(value)
        case "retry": retryAfter = try Script.number(value)
        case "code": appStoreErrorCode = try Script.number(value)
        case "message": message = value.replacing("_", with: " ")
        case "id": id = try Script.number(value)
        case "result": result = value
        case "append": append = try Script.hex(value)
        case "body": bodyCount = try Script.number(value)
        default: throw ScriptError("unknown option: \(name)")
        }
    }

    /// Finds a status by its name in the contract.
    static func status(_ name: String) throws -> Status {
        let plain = name.replacing("_", with: "").lowercased()
        for status in Status.allCases where "\(status)".lowercased() == plain { return status }
        throw ScriptError("unknown status: \(name)")
    }
}

/// Reads scripts.
enum Script {
    /// One script for each connection.
    static func parse(_ text: String) throws -> [[Statement]] {
        try text.split(separator: "|", omittingEmptySubsequences: false).map { script in
            try script.split(separator: ";").compactMap { statement in
                let words = statement.split(separator: " ").map(String.init)
                return words.isEmpty ? nil : try Self.statement(words)
            }
        }
    }

    private static func statement(_ words: [String]) throws -> Statement {
        let rest = words.dropFirst()
        switch (words[0], words.count) {
        case ("wait", 2): return .wait(try number(words[1]))
        case ("answer", 2...):
            let options = try AnswerOptions(words.dropFirst(2))
            switch words[1] {
            case "all": return .answer(.all, options)
            case "reversed": return .answer(.reversed, options)
            case let call where call.first?.isLetter == true: return .answer(.call(call), options)
            default: return .answer(.one(try number(words[1])), options)
            }
        case ("half", 2): return .half(try number(words[1]))
        case ("rest", 1): return .rest
        case ("notice", 2...):
            return .notice(try AnswerOptions(["status=" + words[1]] + words.dropFirst(2)))
        case ("chunk", 2): return .chunk(try number(words[1]))
        case ("bytes", 2): return .bytes(try hex(words[1]))
        case ("sleep", 2): return .sleep(try number(words[1]))
        case ("pause", 1): return .pause
        case ("read", 1): return .read
        case ("finish", 1): return .finish
        case ("close", 1): return .close
        case ("until-closed", 1): return .untilClosed
        case ("serve", 1): return .serve
        default: throw ScriptError("unknown statement: \(words[0]) \(rest.joined(separator: " "))")
        }
    }

    static func number<Number: FixedWidthInteger>(_ text: String) throws -> Number {
        guard let number = Number(text) else { throw ScriptError("not a number: \(text)") }
        return number
    }

    static func hex(_ text: String) throws -> [UInt8] {
        guard let bytes = [UInt8](hexadecimal: text.utf8.span) else {
            throw ScriptError("not hexadecimal: \(text)")
        }
        return bytes
    }
}
