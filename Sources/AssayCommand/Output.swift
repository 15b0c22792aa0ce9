import Assay
import AssayIO
import AssayWire

/// Files, and standard output, unbuffered, so that a line is out when the call returns.
enum Output {
    /// Text of one or more lines, as a terminal can show it.
    static func line(_ text: String) throws {
        try bytes(Array(TerminalText.escaped(text, keepsLines: true).utf8) + newline)
    }

    /// Base64, or text that is base64 with ASCII around it.
    static func line(_ text: [UInt8]) throws { try bytes(text + newline) }

    static func line(json: [UInt8]) throws { try line(TerminalText.escaped(json: json)) }

    /// Text of one or more lines on standard error.
    static func note(_ text: String) {
        StandardError.write(TerminalText.escaped(text, keepsLines: true) + "\n")
    }

    /// A file's content as it is; text gets a newline at its end.
    static func content(_ content: [UInt8], isText: Bool) throws {
        try bytes(isText && content.last != newline[0] ? content + newline : content)
    }

    /// Makes a file; never replaces one.
    ///
    /// - Parameter instead: what the user may name so that it is not in the way.
    static func file(
        _ path: String, _ content: [UInt8], mode: Int32 = 0o644, instead: String = "file"
    ) throws {
        do throws(LoopError) {
            try SystemFile.create(path, content, mode: mode)
        } catch .other("EEXIST") {
            throw alreadyThere(path, instead: instead)
        } catch {
            throw Failure("can't write \(path): \(error)")
        }
    }

    static func alreadyThere(_ path: String, instead: String = "file") -> Failure {
        Failure("\(path) is there already: name another \(instead), or remove it")
    }

    private static let newline = [UInt8(ascii: "\n")]

    static func bytes(_ bytes: [UInt8]) throws {
        do throws(LoopError) {
            try SystemFile.writeStandardOutput(bytes)
        } catch {
            throw Failure("can't write to standard output: \(error)")
        }
    }
}

/// Files that arguments and configuration name.
enum Input {
    /// The largest frame that a server can be set to take: no evidence can be sent to be verified
    /// that is larger.
    static let evidenceLimit = FrameLimits.largestFrame
    /// A certificate, a key or a configuration; the largest of Apple's certificates has 2 KiB.
    static let fileLimit = 1 << 20

    /// The content of a file, or nil without it.
    static func readIfPresent(_ path: String) throws -> [UInt8]? {
        do throws(LoopError) {
            if let content = try SystemFile.read(path, limit: fileLimit) { return content }
        } catch .notFound {
            return nil
        } catch {
            throw Failure("can't read \(path): \(error)")
        }
        throw Failure("\(path) has more than the \(fileLimit) bytes that are read")
    }

    /// The content of a file; `-` is standard input.
    static func read(_ path: String, limit: Int = fileLimit) throws -> [UInt8] {
        let content: [UInt8]?
        do throws(LoopError) {
            content =
                path == "-"
                ? try SystemFile.readStandardInput(limit: limit)
                : try SystemFile.read(path, limit: limit)
        } catch .other("EISDIR") {
            throw Failure("can't read \(path): it is a folder")
        } catch {
            throw Failure("can't read \(path == "-" ? "standard input" : path): \(error)")
        }
        guard let content else {
            throw Failure("\(path) has more than the \(limit) bytes that are read")
        }
        return content
    }

    /// A file's evidence, as it is: the verifier knows what may stand around it.
    static func evidence(_ path: String) throws -> [UInt8] {
        let content = try read(path, limit: evidenceLimit)
        guard content.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
            throw Failure(
                path == "-"
                    ? "standard input holds no evidence" : "\(path) is empty: no evidence in it")
        }
        return content
    }
}
