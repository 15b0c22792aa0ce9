import AssayIO
import AssayServer
import Glibc
import TestSupport
import Testing

/// A reload whose file blocks.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct HostileReloadTests {
    private let socket = temporaryPath("fifo-server")
    private let config = temporaryPath("fifo-config")
    private let root = temporaryPath("root")

    init() throws { try Present.writeRoot(root) }

    private var text: [UInt8] {
        Array(
            """
            listen = ["unix:\(socket)"]
            [[app]]
            name = "one"
            bundle-id = "\(Minted.bundleId)"
            environments = ["Sandbox"]
            development-roots = ["\(root)"]

            """.utf8)
    }

    /// Starts a server whose reload blocks on a FIFO; returns the server and the FIFO's writing
    /// end.
    private func reloading(_ options: String...) throws -> (ServerProcess, fifo: Int32) {
        try SystemFile.create(config, text, mode: 0o600)
        let server = try ServerProcess(["--config", config] + options)
        try #require(!server.ready.isEmpty, "\(server.log)")
        unsafe unlink(config)
        #expect(unsafe mkfifo(config, 0o600) == 0)
        server.signal(SIGHUP)
        // Opens once the server reads. Its read then waits for data that never comes.
        let fifo = unsafe open(config, O_WRONLY | O_CLOEXEC)
        try #require(fifo >= 0)
        return (server, fifo)
    }

    @Test("line 86: SIGTERM ends a server whose reload waits for its file")
    func termination() throws {
        let (server, fifo) = try reloading()
        defer { close(fifo) }
        try RawClient(.unix(path: socket)).expectPong()
        #expect(server.end() == 0, "\(server.log)")
        #expect(server.log.contains("\"event\":\"stopped\""))
        unsafe unlink(config)
    }

    @Test("line 86: a second signal ends it at once", arguments: [SIGTERM, SIGINT])
    func secondSignal(number: Int32) throws {
        let (server, fifo) = try reloading("--drain-delay", "3600")
        defer { close(fifo) }
        server.signal(SIGTERM)
        #expect(server.logs("\"event\":\"draining\""))
        server.signal(number)
        #expect(server.wait() == 128 + number, "\(server.log)")
        unsafe unlink(config)
    }

    @Test("line 86: a late file is applied, and a SIGHUP meanwhile causes one more reload")
    func lateFile() throws {
        let (server, fifo) = try reloading()
        server.signal(SIGHUP)
        server.signal(SIGHUP)
        try RawClient(.unix(path: socket)).expectPong()
        // The next read finds a regular file again.
        unsafe unlink(config)
        try SystemFile.create(config, text, mode: 0o600)
        let written = unsafe text.withUnsafeBytes { unsafe write(fifo, $0.baseAddress!, $0.count) }
        #expect(written == text.count)
        close(fifo)
        #expect(server.logs("\"event\":\"reloaded\"", times: 2), "\(server.log)")
        #expect(server.end() == 0, "\(server.log)")
        unsafe unlink(config)
    }
}
