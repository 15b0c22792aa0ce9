import AssayHTTP
import AssayIO
import Synchronization
import TestSupport
import Testing

/// An `HTTPServer` on a loop of its own, with a clock that the test moves.
final class SmallServer {
    /// Echoes bodies of up to 100 bytes.
    ///
    /// `/held` is answered when the test says so, `/large` with 256 KiB, `/head` without the body.
    final class Site: HTTPSite {
        static let bodyLimit = 100
        var held: [HTTPReply] = []
        var answers = 0
        private let didHold: AssayIO.Semaphore

        init(_ didHold: AssayIO.Semaphore) { self.didHold = didHold }

        func intake(of request: HTTPRequest) -> HTTPIntake {
            request.path == "/head"
                ? .answer(HTTPResponse(200, body: Array("head".utf8)))
                : .body(limit: Self.bodyLimit)
        }

        func answer(_ request: HTTPRequest, _ reply: HTTPReply) {
            answers += 1
            switch request.path {
            case "/held":
                held.append(reply)
                didHold.signal()
            case "/large":
                reply.send(HTTPResponse(200, body: [UInt8](repeating: 0x61, count: 256 << 10)))
            default: reply.send(HTTPResponse(200, body: request.body ?? []))
            }
        }

        func problem(_ status: Int, _ reason: String) -> HTTPResponse {
            HTTPResponse(status, body: Array(reason.utf8))
        }
    }

    let endpoint: Endpoint
    private let site: LoopBound<Site>
    private let server: LoopBound<HTTPServer>
    private let loop: EventLoop
    private let clock: SharedClock
    /// Signalled for each request that is held.
    private let didHold: AssayIO.Semaphore
    /// The signals that were taken.
    private var heldCount = 0

    private final class SharedClock: Sendable {
        let nanoseconds = Atomic<UInt64>(1_000_000_000_000)
    }

    init(_ change: (inout HTTPServerLimits) -> Void = { _ in }) throws {
        var limits = HTTPServerLimits()
        limits.idleMilliseconds = 5_000
        limits.requestMilliseconds = 10_000
        change(&limits)
        let (loop, clock) = (try EventLoop(name: "small"), SharedClock())
        let didHold = try AssayIO.Semaphore()
        try loop.start()
        (self.loop, self.clock, self.didHold) = (loop, clock, didHold)
        (endpoint, site, server) = try loop.call { [limits] () throws(LoopError) in
            let site = Site(didHold)
            let server = HTTPServer(
                site, serving: HTTPOriginPolicy(.loopback("127.0.0.1"), hasPages: true), limits
            ) { clock.nanoseconds.load(ordering: .relaxed) }
            let endpoint = try server.listen(at: .tcp(host: "127.0.0.1", port: 0), on: loop)
            return (endpoint, LoopBound(site, to: loop), LoopBound(server, to: loop))
        }
    }

    deinit {
        loop.stop()
        loop.join()
    }

    /// Moves the clock, and closes the connections whose time is over.
    func advance(milliseconds: UInt64) throws {
        clock.nanoseconds.add(milliseconds * 1_000_000, ordering: .relaxed)
        let server = server
        try loop.call { () throws(LoopError) in server.value.closeLateConnections() }
    }

    /// Runs a body with the site, on the loop's thread.
    func withSite<R: Sendable>(_ body: @escaping @Sendable (Site) -> R) throws -> R {
        let site = site
        return try loop.call { () throws(LoopError) in body(site.value) }
    }

    /// Waits until requests are held.
    func waitForHeld(_ count: Int) throws {
        while heldCount < count {
            didHold.wait()
            heldCount += 1
        }
        #expect(try withSite { $0.held.count } == count)
    }

    func client(receiveBuffer: Int32? = nil) throws -> BlockingClient {
        try BlockingClient(endpoint, receiveBuffer: receiveBuffer)
    }

    /// Sends bytes on a new connection, and returns what comes until it ends.
    func exchange(_ text: String, cut: Int = .max) throws -> String {
        let (client, bytes) = (try client(), Array(text.utf8))
        for start in stride(from: 0, to: bytes.count, by: min(cut, bytes.count)) {
            try client.send(Array(bytes[start...].prefix(cut)))
        }
        return String(decoding: try client.receiveToEnd(), as: UTF8.self)
    }

    /// The statuses of responses, from the first to the last.
    static func statuses(_ text: String) -> [Int] {
        text.matches(of: /HTTP\/1\.1 (\d+)/).compactMap { Int($0.1) }
    }
}
