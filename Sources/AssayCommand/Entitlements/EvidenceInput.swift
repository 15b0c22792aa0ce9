import Assay
import AssayBytes
import AssayCommandLine
import AssayIO

/// One item of evidence and the label of its source.
struct EvidenceInput {
    let label: String
    let evidence: [UInt8]

    /// Reads files, the files of folders, and the lines of standard input (`-`). Each purchase of a
    /// list of owned ones is an item.
    static func read(_ paths: [String]) throws -> [EvidenceInput] {
        try read(paths, keeping: .max).items
    }

    /// Reads as `read` does, and keeps the first items alone.
    ///
    /// - Returns: the items, and the number of those that are not kept.
    static func read(
        _ paths: [String], keeping limit: Int
    ) throws -> (items: [EvidenceInput], omitted: Int) {
        guard paths.count(where: { $0 == "-" }) <= 1 else {
            throw Failure("- means standard input, which can be read only once: write it once")
        }
        var inputs: [EvidenceInput] = []
        var omitted = 0
        func add(_ path: String) throws {
            let (items, more) = try items(of: path, keeping: limit - inputs.count)
            inputs += items
            omitted += more
        }
        for path in paths {
            if path != "-", let names = try files(in: path) {
                let folder = path.hasSuffix("/") ? path : path + "/"
                guard !names.isEmpty else { throw Failure("the folder \(path) has no files") }
                for name in names { try add(folder + name) }
            } else {
                try add(path)
            }
        }
        return (inputs, omitted)
    }

    /// The files of a folder without hidden files; nil when the path is not a folder.
    private static func files(in path: String) throws -> [String]? {
        do throws(LoopError) {
            return try SystemFile.files(in: path)?.filter { !$0.hasPrefix(".") }
        } catch {
            throw Failure("can't read \(path): \(error)")
        }
    }

    private static func items(
        of path: String, keeping limit: Int
    ) throws -> (items: [EvidenceInput], omitted: Int) {
        let content = try Input.read(path, limit: Input.evidenceLimit)
        let isInput = path == "-"
        func whole() -> (items: [EvidenceInput], omitted: Int) {
            if let owned = OwnedPurchases.items(in: content.span) {
                let items = owned.prefix(limit).enumerated().map { index, item in
                    EvidenceInput(label: "\(path)[\(index)]", evidence: item)
                }
                return (items, owned.count - items.count)
            }
            guard limit > 0 else { return ([], 1) }
            return ([EvidenceInput(label: path, evidence: Self.whole(content))], 0)
        }
        var items: [EvidenceInput] = []
        var count = 0
        var rest = content[...]
        while let line = nextLine(&rest) {
            // A file with a line that is no token is one item. The lines after it are not kept.
            guard isInput || isToken(line) else { return whole() }
            count += 1
            guard items.count < limit else { continue }
            items.append(EvidenceInput(label: "\(path):\(count)", evidence: Array(line)))
        }
        guard count > 0 else {
            throw Failure("\(isInput ? "standard input" : path) has no evidence")
        }
        guard isInput || count > 1 else { return whole() }
        return (items, count - items.count)
    }

    /// Removes the next line that is not empty, and returns it without white space around it.
    private static func nextLine(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        while !rest.isEmpty {
            let line = rest.prefix { !isLineBreak($0) }
            rest = rest[line.endIndex...].dropFirst()
            let text = trimmed(line)
            if !text.isEmpty { return text }
        }
        return nil
    }

    /// Trims the white space around text. DER can end in any octet and stays as it is.
    private static func whole(_ content: [UInt8]) -> [UInt8] {
        content.first == 0x30 ? content : Array(trimmed(content[...]))
    }

    /// Whether a line is a compact JWS: three parts of base64url.
    private static func isToken(_ line: ArraySlice<UInt8>) -> Bool {
        line.count(where: { $0 == UInt8(ascii: ".") }) == 2
            && line.allSatisfy { $0 == UInt8(ascii: ".") || Base64URL.isDigit($0) }
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool { byte == 0x0A || byte == 0x0D }

    private static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || isLineBreak(byte) }
        guard let last = line.lastIndex(where: { !isSpace($0) }) else { return [] }
        return line[...last].drop(while: isSpace)
    }
}
