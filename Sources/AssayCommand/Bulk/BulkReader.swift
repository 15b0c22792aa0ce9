import Assay
import AssayCommandLine
import AssayIO

/// Items that are verified together.
struct BulkBatch: Sendable {
    /// From 0 on, in the order of the input.
    let number: Int
    let items: [BulkItem]
    /// The bytes of their evidence.
    let bytes: Int
}

/// The input of a bulk verification.
enum BulkInput: Sendable {
    /// One item on each line of a file, or of standard input (`-`).
    case lines(String)
    /// One item in each file.
    case files([String])

    /// The files of arguments, with the files of each folder in byte order. Hidden files and
    /// folders in folders are left out.
    init(files paths: [String]) throws {
        var files: [String] = []
        for path in paths {
            guard path != "-" else {
                throw Failure("- can't be one of several files; for items on lines use --lines -")
            }
            guard let names = try Self.names(in: path) else {
                files.append(path)
                continue
            }
            guard !names.isEmpty else { throw Failure("the folder \(path) has no files") }
            files += names.map { (path.hasSuffix("/") ? path : path + "/") + $0 }
        }
        self = .files(files)
    }

    /// The names in a folder; nil for a file, and for a path that can't be read, which gets a
    /// record of its own.
    private static func names(in path: String) throws -> [String]? {
        do throws(LoopError) {
            return try SystemFile.files(in: path)?.filter { !$0.hasPrefix(".") }
        } catch .notFound {
            return nil
        } catch {
            throw Failure("can't read \(path): \(error)")
        }
    }

    static func isFolder(_ path: String) -> Bool {
        guard path != "-" else { return false }
        return (try? SystemFile.files(in: path)) != nil
    }
}

/// Reads items and groups them into batches.
struct BulkReader {
    /// Takes each batch; returns false when no more are wanted.
    private let take: (BulkBatch) -> Bool
    private var items: [BulkItem] = []
    private var bytes = 0
    private(set) var batches = 0
    private(set) var emptyLines = 0
    private var isWanted = true

    init(_ take: @escaping (BulkBatch) -> Bool) { self.take = take }

    /// Reads all lines of a file. Does not wait for more input before lines that arrived go on.
    mutating func readLines(of file: borrowing InputFile) throws(LoopError) {
        var splitter = LineSplitter(limit: BulkLimits.lineBytes)
        var chunk = [UInt8](repeating: 0, count: BulkLimits.chunkBytes)
        while isWanted {
            let count = try file.read(into: &chunk)
            guard count > 0 else { break }
            splitter.receive(chunk.span.extracting(0..<count)) { add(line: $1, number: $0) }
            flush()
        }
        splitter.finish { add(line: $1, number: $0) }
        flush()
    }

    mutating func readFiles(_ paths: [String]) {
        for path in paths where isWanted { add(BulkItem(source: .file(path), content: read(path))) }
        flush()
    }

    private func read(_ path: String) -> Result<[UInt8], BulkFault> {
        do {
            return .success(try Input.evidence(path))
        } catch {
            return .failure(.unreadable((error as? Failure)?.reason ?? "\(error)"))
        }
    }

    private mutating func add(line: LineSplitter.Line, number: Int) {
        switch line {
        case .tooLong:
            let fault = BulkFault.lineTooLong(limit: BulkLimits.lineBytes)
            add(BulkItem(source: .line(number), content: .failure(fault)))
        case .text(let text) where text.allSatisfy({ $0 == 0x20 || $0 == 0x09 }): emptyLines += 1
        case .text(let text): add(BulkItem(source: .line(number), content: .success(text)))
        }
    }

    private mutating func add(_ item: BulkItem) {
        // A large item begins a batch of its own, which another processor takes.
        if !items.isEmpty, bytes + item.bytes > BulkLimits.batchBytes { flush() }
        items.append(item)
        bytes += item.bytes
        if items.count == BulkLimits.batchItems { flush() }
    }

    private mutating func flush() {
        guard !items.isEmpty, isWanted else { return }
        isWanted = take(BulkBatch(number: batches, items: items, bytes: bytes))
        if isWanted { batches += 1 }
        items = []
        bytes = 0
    }
}
