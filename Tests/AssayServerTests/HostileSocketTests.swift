import AssayClient
import AssayServer
import AssayWire
import Glibc
import TestSupport
import Testing

@testable import AssayIO

/// Unix sockets: the users that can connect, and the files that can exist at a socket's path.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(2))) struct HostileSocketTests {
    private static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status : nil
    }

    @Test(
        "line 67: mode and group of the socket file", arguments: [nil, 0o600, 0o666] as [UInt32?])
    func mode(mode: UInt32?) throws {
        let path = temporaryPath("mode")
        try withSocketServer {
            $0.listen = [.unix(path: path)]
            if let mode { $0.socketAccess.mode = mode }
            $0.socketAccess.group = getgid()
            $0.socketAccess.owner = getuid()
        } _: { _ in
            let status = try #require(Self.status(path))
            #expect(status.st_mode & 0o777 == mode ?? 0o660)
            #expect(status.st_gid == getgid() && status.st_uid == getuid())
        }
        #expect(Self.status(path) == nil, "the socket file is left behind")
    }

    @Test("writing to a closed peer raises no signal, and the signal handling is unchanged")
    func brokenPipes() throws {
        let wasDefault = Self.isBrokenPipeDefault
        try withSocketServer { test in
            let pings = (1...50 as ClosedRange<UInt64>).flatMap { RawClient.ping($0) }
            for _ in 1...20 {
                let client = try RawClient(test.unix)
                try client.send(pings)
                client.socket.close()
            }
            try RawClient(test.unix).expectPong()
        }
        #expect(Self.isBrokenPipeDefault == wasDefault)
    }

    private static var isBrokenPipeDefault: Bool {
        var action = sigaction()
        _ = unsafe sigaction(SIGPIPE, nil, &action)
        return unsafe action.__sigaction_handler.sa_handler == nil
    }

    @Test("line 67: a user without permission gets PERMISSION_DENIED and is closed")
    func users() throws {
        let me = getuid()
        try withSocketServer {
            $0.allowedUsers = [me &+ 1]
        } _: { test in
            try RawClient(test.unix).expectEnd(.permissionDenied)
            let client = try RawClient(test.unix)
            try client.send(RawClient.ping(1))
            try client.expectEnd(.permissionDenied)
            // A TCP connection carries no user id.
            try RawClient(test.tcp).expectPong()
            #expect(test.log.count(of: "a peer without permission") == 2)
            #expect(test.server.metrics?.connectionsRefused == 2)
            #expect(test.server.metrics?.connectionsAccepted == 3)
        }
        try withSocketServer {
            $0.allowedUsers = [me &+ 1, me]
        } _: { test in
            try RawClient(test.unix).expectPong()
        }
    }

    @Test("line 67: the allowed users can change while the server runs")
    func reload() throws {
        var configuration: ServerConfiguration?
        let test = try SocketServer { configuration = $0 }
        var other = try #require(configuration)
        let early = try RawClient(test.unix)
        try early.expectPong()
        other.allowedUsers = [getuid() &+ 1]
        #expect(try test.server.reload(other) == [])
        // The allowed users do not apply to TCP.
        let remote = try RawClient(test.tcp)
        try remote.expectPong()
        try early.expectEnd(.permissionDenied)
        try RawClient(test.unix).expectEnd(.permissionDenied)
        other.allowedUsers = [getuid()]
        let again = try RawClient(test.unix)
        try again.expectEnd(.permissionDenied)
        #expect(try test.server.reload(other) == [])
        let served = try RawClient(test.unix)
        try served.expectPong()
        // A reload that removes no permission closes no connection.
        #expect(try test.server.reload(other) == [])
        try served.expectPong(78)
        try remote.expectPong(78)
        for client in [served, remote] { client.socket.close() }
        test.server.drain()
        test.server.wait()
    }

    private static func listeningSocket(at path: String) throws(LoopError) -> Int32 {
        try UnixSocket.listen(path, SocketFileAccess(), backlog: 128).descriptor
    }

    /// The state between the first server's bind and its listen, as a second server finds it.
    @Test(
        "line 87: a path where another server starts to listen is in use",
        .enabled(if: TimedTests.areEnabled)
    )
    func twoServers() throws {
        let path = temporaryPath("twice")
        let lock = try FileLock(path + ".lock")
        let first = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(first) }
        bindSocket(first, path)
        let outcome = Locked<LoopError??>(nil)
        let second = try WorkerPool(count: 1, name: "second")
        second.submit {
            do throws(LoopError) {
                close(try Self.listeningSocket(at: path))
                outcome.withLock { $0 = .some(nil) }
            } catch {
                outcome.withLock { $0 = .some(error) }
            }
        }
        usleep(200_000)
        #expect(listen(first, 1) == 0)
        lock.release()
        second.stop()
        #expect(outcome.withLock { $0 } == .some(.addressInUse))
        #expect(Self.status(path) != nil && Self.status(path + ".lock") == nil)
        unsafe unlink(path)
    }

    @Test("line 87: one of several servers that start on one path listens")
    func manyServers() throws {
        let pool = try WorkerPool(count: 8, name: "servers")
        for round in 0..<50 {
            let path = temporaryPath("race")
            if round % 2 == 0 { leaveSocket(at: path) }
            let descriptors = Locked<[Int32]>([])
            let failures = Locked<[LoopError]>([])
            let done = try Semaphore()
            for _ in 0..<8 {
                pool.submit {
                    do throws(LoopError) {
                        let socket = try Self.listeningSocket(at: path)
                        descriptors.withLock { $0.append(socket) }
                    } catch {
                        failures.withLock { $0.append(error) }
                    }
                    done.signal()
                }
            }
            for _ in 0..<8 { done.wait() }
            let listening = descriptors.withLock { $0 }
            #expect(listening.count == 1)
            #expect(failures.withLock { $0 } == Array(repeating: .addressInUse, count: 7))
            for descriptor in listening { close(descriptor) }
            unsafe unlink(path)
        }
        pool.stop()
    }

    @Test("line 87: mode and owner of a socket file do not follow a link")
    func accessFollowsNoLink() throws {
        let target = temporaryPath("target"), link = temporaryPath("link")
        let socket = temporaryPath("socket")
        close(unsafe creat(target, 0o600))
        #expect(unsafe symlink(target, link) == 0)
        leaveSocket(at: socket)
        var access = SocketFileAccess()
        access.mode = 0o666
        access.owner = getuid()
        for path in [link, target] {
            #expect(throws: LoopError.notASocket) { try SocketFile(path, access) }
        }
        _ = try SocketFile(socket, access)
        #expect(Self.status(target)?.st_mode == S_IFREG | 0o600)
        #expect(Self.status(socket)?.st_mode == S_IFSOCK | 0o666)
        for path in [link, target, socket] { unsafe unlink(path) }
    }

    @Test("line 67: a stale socket file is replaced, anything else stays")
    func staleFiles() throws {
        let stale = temporaryPath("stale"), target = temporaryPath("target")
        leaveSocket(at: stale)
        try withSocketServer {
            $0.listen = [.unix(path: stale)]
        } _: { test in
            try RawClient(test.unix).expectPong()
            #expect(throws: ServerError.listen(test.unix, .addressInUse)) {
                try SocketServer { $0.listen = [test.unix] }
            }
            try RawClient(test.unix).expectPong()

            // A link to a live socket, and one to a file.
            let link = temporaryPath("link")
            #expect(unsafe symlink(stale, link) == 0)
            #expect(throws: ServerError.listen(.unix(path: link), .notASocket)) {
                try SocketServer { $0.listen = [.unix(path: link)] }
            }
            #expect(Self.status(link) != nil && Self.status(stale) != nil)
            unsafe unlink(link)
        }
        leaveSocket(at: stale)
        let link = temporaryPath("link")
        #expect(unsafe symlink(stale, link) == 0)
        try SystemFile.create(target, [1, 2, 3], mode: 0o600)
        for path in [link, target, "/tmp"] {
            #expect(throws: ServerError.listen(.unix(path: path), .notASocket)) {
                try SocketServer { $0.listen = [.unix(path: path)] }
            }
            #expect(Self.status(path) != nil)
        }
        for path in [stale, link, target] { unsafe unlink(path) }
    }

    @Test("line 67: a new file at the path is not removed")
    func replacedFile() throws {
        let path = temporaryPath("replaced")
        try withSocketServer {
            $0.listen = [.unix(path: path)]
        } _: { _ in
            unsafe unlink(path)
            leaveSocket(at: path)
        }
        #expect(Self.status(path) != nil)
        unsafe unlink(path)
    }

    @Test("line 67: abstract names have no file, and one owner")
    func abstract() async throws {
        let endpoint = try Endpoint("unix:@" + temporaryPath("abstract"))
        try withSocketServer {
            $0.listen = [endpoint]
        } _: { test in
            #expect(test.unix == endpoint)
            try RawClient(endpoint).expectPong()
            #expect(throws: ServerError.listen(endpoint, .addressInUse)) {
                try SocketServer { $0.listen = [endpoint] }
            }
        }
        try withSocketServer {
            $0.listen = [endpoint]
        } _: { _ in
            try RawClient(endpoint).expectPong()
        }
        try await withClient {
            $0.listen = [endpoint]
        } _: { _, client in
            let isServing = try await client.health()
            #expect(isServing)
        }
        #expect(throws: EndpointError.noPath("unix:@")) { try Endpoint("unix:@") }
    }
}
