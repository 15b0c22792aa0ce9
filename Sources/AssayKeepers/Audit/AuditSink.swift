import AssayIO

/// Appends lines to a file.
final class AuditFile: RecordSink {
    private let path: String
    private var file: AppendedFile?
    private var inode: UInt64 = 0
    /// Bytes at the end of the file that are the beginning of a line.
    private var begun = 0

    /// The lines name customers.
    private static let mode: Int32 = 0o600

    init(_ path: String) { self.path = path }

    func open() throws(LoopError) {
        do throws(LoopError) {
            // To open a pipe would wait for its reader.
            _ = try SystemFile.stamp(path)
        } catch .notFound {
            // It is created.
        }
        let new = try AppendedFile(path, mode: Self.mode)
        inode = new.stamp?.inode ?? 0
        file = consume new
        begun = 0
    }

    func prepare() throws(LoopError) {
        // Between two lines, so that no file has half of one.
        guard begun == 0 else { return }
        if file != nil, let stamp = try? SystemFile.stamp(path), stamp.inode == inode { return }
        try open()
    }

    func write(_ bytes: [UInt8], from start: Int) throws(LoopError) -> Int {
        do throws(LoopError) {
            guard let count = try file?.append(bytes, from: start) else { throw .notFound }
            let taken = bytes[start..<start + count]
            begun =
                taken.lastIndex(of: UInt8(ascii: "\n"))
                .map { taken.endIndex - $0 - 1 } ?? begun + count
            return count
        } catch {
            takeBack()
            throw error
        }
    }

    /// Drops the beginning of a line. A file that can't be shortened keeps it.
    private func takeBack() {
        guard begun > 0, let size = file?.stamp?.size else { return }
        try? file?.truncate(to: Int(size) - begun)
        begun = 0
    }
}

/// Writes lines to a Unix socket. Connects again when the listener has left.
final class AuditSocket: RecordSink {
    private let path: String
    private var socket: WrittenSocket?

    /// Time to wait for a listener that reads slowly, in milliseconds: as long as lines are
    /// gathered.
    private static let waitMilliseconds: Int32 = 100

    init(_ path: String) { self.path = path }

    /// A listener can begin later than this server, so nothing is opened before there are lines.
    /// No listener can ever have a path that is too long.
    func open() throws(LoopError) {
        guard path.utf8.count <= Endpoint.pathLimit else { throw .pathTooLong }
        socket = nil
    }

    func prepare() throws(LoopError) {
        if socket == nil { socket = try WrittenSocket(connectingTo: path) }
    }

    func write(_ bytes: [UInt8], from start: Int) throws(LoopError) -> Int {
        do throws(LoopError) {
            guard
                let count = try socket?.write(
                    bytes, from: start, waitingMilliseconds: Self.waitMilliseconds)
            else { throw .connectionReset }
            return count
        } catch {
            socket = nil
            throw error
        }
    }
}
