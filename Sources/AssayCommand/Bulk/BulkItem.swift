import Assay
import AssayBytes

/// One item of a bulk verification: evidence, or the fault that left none.
struct BulkItem: Sendable {
    let source: Source
    let content: Result<[UInt8], BulkFault>

    /// Where the item comes from, for its record in the output.
    enum Source: Sendable {
        case line(Int)
        case file(String)
    }

    var bytes: Int { (try? content.get().count) ?? 0 }

    /// The evidence of a line or file.
    ///
    /// - Parameter member: the member of JSON lines that has the evidence; nil where each line is
    ///   the evidence.
    func evidence(member: String?) throws(BulkFault) -> [UInt8] {
        let content = try content.get()
        guard case .line = source else { return content }
        guard content.span.isUTF8 else { throw .notUTF8(EvidenceForm.detect(content.span)) }
        guard let member else { return content }
        let value: JSONValue?
        do throws(JSONError) {
            let document = try JSONDocument.parse(content, limit: BulkLimits.lineBytes)
            value = try document.members()[member]
        } catch {
            throw .notJSON("\(error)")
        }
        guard let value else { throw .noMember(member, hint: OptionHint.text(line: content)) }
        guard let text = value.string else { throw .memberNotString(member) }
        return Array(text.utf8)
    }
}

/// Why an item has no verdict.
enum BulkFault: Error, Equatable {
    /// The line exceeds the limit of bytes.
    case lineTooLong(limit: Int)
    /// The line is not UTF-8, so it is neither a token nor base64.
    case notUTF8(EvidenceForm)
    /// With `--member`: the line is not a JSON object.
    case notJSON(String)
    /// With `--member`: the object has no such member.
    case noMember(String, hint: String? = nil)
    /// With `--member`: the member is not a string.
    case memberNotString(String)
    /// The file could not be read, or is empty.
    case unreadable(String)
    /// The server did not verify the item.
    case noAnswer(String)

    /// The value of `error` in the item's record.
    var name: String {
        switch self {
        case .lineTooLong: "LINE_TOO_LONG"
        case .notUTF8: "NOT_UTF8"
        case .notJSON: "NOT_JSON"
        case .noMember: "NO_MEMBER"
        case .memberNotString: "MEMBER_NOT_STRING"
        case .unreadable: "UNREADABLE"
        case .noAnswer: "NO_ANSWER"
        }
    }

    var detail: String {
        switch self {
        case .lineTooLong(let limit): "the line is longer than the limit of \(limit) bytes"
        case .notUTF8(let form) where form.name == .appReceipt || form.name == .other:
            "the line is not UTF-8: write DER as base64"
        case .notUTF8(let form): "the line is not UTF-8: " + form.text
        case .notJSON(let reason): "the line is not a JSON object: \(reason)"
        case .noMember(let name, let hint):
            "the object has no member \"\(name)\"" + (hint.map { "; " + $0 } ?? "")
        case .memberNotString(let name): "the member \"\(name)\" is not a string"
        case .unreadable(let reason), .noAnswer(let reason): reason
        }
    }

    /// Whether reading or asking failed (exit status 2), rather than the evidence (1).
    var isTrouble: Bool {
        switch self {
        case .unreadable, .noAnswer: true
        case .lineTooLong, .notUTF8, .notJSON, .noMember, .memberNotString: false
        }
    }
}

/// The result for one item.
enum BulkAnswer: Sendable {
    case verified(VerificationReport)
    case fault(BulkFault)

    /// The name that the counts have for it: a verdict or a fault.
    var name: String {
        switch self {
        case .verified(let report): report.verification.verdict.name
        case .fault(let fault): fault.name
        }
    }

    /// Appends the record: one line of JSON that begins with the source.
    func append(to text: inout [UInt8], at source: BulkItem.Source) {
        var writer = JSONWriter()
        writer.object { record in
            switch source {
            case .line(let number): record.member("line", Int64(number))
            case .file(let path): record.member("file", path)
            }
            if case .fault(let fault) = self {
                record.member("error", fault.name)
                record.member("detail", fault.detail)
            }
        }
        var record = writer.text
        if case .verified(let report) = self {
            // The report of a single file, with the source before its first member.
            record[record.count - 1] = UInt8(ascii: ",")
            record += report.json.dropFirst()
        }
        text += JSONEscaping.escapingUnprintable(record)
        text.append(UInt8(ascii: "\n"))
    }
}
