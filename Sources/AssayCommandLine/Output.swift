import Assay
import AssayBytes
import AssayIO
import AssayWire

/// Writes files and standard output. Unbuffered: a line is written when the call returns.
package enum Output {
    /// Writes text of one or more lines, escaped for a terminal.
    package static func line(_ text: String) throws {
        try bytes(Array(TerminalText.escaped(text, keepsLines: true).utf8) + newline)
    }

    /// Writes base64, or ASCII text that contains it, without escaping.
    package static func line(_ text: [UInt8]) throws { try bytes(text + newline) }

    package static func line(json: [UInt8]) throws {
        try line(JSONEscaping.escapingUnprintable(json))
    }

    /// Writes text of one or more lines to standard error.
    package static func note(_ text: String) {
        StandardError.write(TerminalText.escaped(text, keepsLines: true) + "\n")
    }

    /// Writes a file's content unchanged; text gets a final newline.
    package static func content(_ content: [UInt8], isText: Bool) throws {
        try bytes(isText && content.last != newline[0] ? content + newline : content)
    }

    /// Creates a file; never replaces one.
    ///
    /// - Parameter instead: the argument to change when the file exists, for the error message.
    package static func file(
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

    /// Checks that a file can be created, by creating and removing it.
    package static func checkFile(_ path: String) throws {
        try file(path, [])
        do throws(LoopError) {
            try SystemFile.remove(path)
        } catch {
            throw Failure("can't remove \(path), which was made to check that it can be: \(error)")
        }
    }

    package static func alreadyThere(_ path: String, instead: String = "file") -> Failure {
        Failure("\(path) already exists: name another \(instead), or remove it")
    }

    private static let newline = [UInt8(ascii: "\n")]

    package static func bytes(_ bytes: [UInt8]) throws {
        do throws(LoopError) {
            try SystemFile.writeStandardOutput(bytes)
        } catch {
            throw Failure("can't write to standard output: \(error)")
        }
    }
}

/// Reads the files that arguments and configuration name.
package enum Input {
    /// The largest frame that a server can be configured to accept. No larger evidence can be
    /// sent for verification.
    package static let evidenceLimit = FrameLimits.largestFrame
    /// The limit for certificates, keys and configurations. Apple's largest certificate has 2
    /// KiB.
    package static let fileLimit = 1 << 20

    /// The content of a file; nil when it does not exist.
    package static func readIfPresent(_ path: String) throws -> [UInt8]? {
        do throws(LoopError) {
            if let content = try SystemFile.read(path, limit: fileLimit) { return content }
        } catch .notFound {
            return nil
        } catch {
            throw Failure("can't read \(path): \(error)")
        }
        throw Failure("\(path) is larger than the limit of \(fileLimit) bytes")
    }

    /// The content of a file, or of standard input for `-`.
    package static func read(_ path: String, limit: Int = fileLimit) throws -> [UInt8] {
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
            throw Failure("\(path) is larger than the limit of \(limit) bytes")
        }
        return content
    }

    /// The evidence in a file, unchanged: the verifier handles white space around it.
    package static func evidence(_ path: String) throws -> [UInt8] {
        let content = try read(path, limit: evidenceLimit)
        guard content.contains(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) else {
            throw Failure(
                path == "-"
                    ? "standard input is empty: it has no evidence"
                    : "\(path) is empty: it has no evidence")
        }
        return content
    }
}
