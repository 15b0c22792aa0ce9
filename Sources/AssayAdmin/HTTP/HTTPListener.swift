import AssayIO
import AssayServer
import CMicrohttpd
import Glibc
import Synchronization

/// The relevant parts of an HTTP request.
package struct HTTPRequest: Sendable {
    package var method: String
    /// The path as sent, without its query. Percent escapes are not decoded: no path here needs
    /// them.
    package var path: String
    package var host: String?
    /// The origin of the page that made a browser send the request.
    package var origin: String?
    /// What a browser says about that page: `same-origin`, `cross-site` and others.
    package var fetchSite: String?
    package var contentType = ""
    /// Nil before the body has arrived.
    package var body: [UInt8]?

    package init(method: String, path: String, host: String?) {
        self.method = method
        self.path = path
        self.host = host
    }
}

package struct HTTPAnswer: Sendable {
    package var status: Int
    package var contentType = "text/plain; charset=utf-8"
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8]
}

/// Answers the requests of an `HTTPListener`.
package protocol HTTPSite: Sendable {
    /// The most bytes of the body that the answer needs; nil to answer without a body.
    func bodyLimit(of request: HTTPRequest) -> Int?

    /// Answers a request: at once if it has no body, otherwise on the thread for pages.
    func answer(_ request: HTTPRequest) -> HTTPAnswer
}

/// Answers HTTP requests on its own thread; libmicrohttpd reads and writes them.
///
/// A request with a body can take seconds. Another thread makes its answer, one at a time, and
/// probes are answered meanwhile.
/// Each connection carries one request and is closed after ten seconds at most. The head of a
/// request has to fit into 8 KB. Connections above the limit wait in the system's listen queue.
@safe
final class HTTPListener: Sendable {
    /// The connection limit.
    static var connections: UInt32 {
        UInt32(ServerLimits.adminConnections(ofDescriptors: Descriptors.limit))
    }
    /// The memory of one connection. A browser's headers take 1 to 2 KB; the response headers
    /// have to fit, too.
    static let connectionBytes = 8 * 1024
    static let idleSeconds: UInt32 = 5
    static let connectionSeconds: UInt64 = 10
    /// Bodies in memory at the same time. A page is for one person.
    static let bodies = 2
    /// The interval of the checks for old connections and for `stop()`.
    private static let tickMilliseconds: Int32 = 200
    /// The interval of the checks for a page that is being made.
    private static let pageTickMilliseconds: Int32 = 5

    private let thread: WorkerPool
    private let pages: WorkerPool
    private let isStopping = Atomic(false)

    /// - Parameters:
    ///   - descriptor: A listening socket. The listener takes ownership of it.
    ///   - clock: Nanoseconds, by which connections have their time limit.
    init(
        _ descriptor: Int32, clock: @escaping @Sendable () -> UInt64,
        site: any HTTPSite
    ) throws(AdminError) {
        do throws(LoopError) {
            thread = try WorkerPool(count: 1, name: "assay-admin")
        } catch {
            _ = Glibc.close(descriptor)
            throw .system(error)
        }
        do throws(LoopError) {
            // Verifications go first.
            pages = try WorkerPool(count: 1, name: "assay-pages", hasLowPriority: true)
        } catch {
            _ = Glibc.close(descriptor)
            thread.stop()
            throw .system(error)
        }
        guard let service = HTTPService(descriptor, clock, site, pages) else {
            _ = Glibc.close(descriptor)
            thread.stop()
            pages.stop()
            throw unsafe cmicrohttpd_load() == nil ? .missingLibrary : .notStarted
        }
        thread.submit { [self] in
            while !isStopping.load(ordering: .relaxed) {
                service.run(
                    milliseconds: service.isMakingPage
                        ? Self.pageTickMilliseconds : Self.tickMilliseconds)
            }
            // A page that is being made ends by its time limit. The library can't be stopped
            // before its connection goes on.
            while service.isMakingPage { service.run(milliseconds: Self.pageTickMilliseconds) }
            service.stop()
        }
    }

    /// Closes all connections and waits until the thread ends. Call it once.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        thread.stop()
        pages.stop()
    }
}

/// A request whose body is arriving.
private struct ArrivingRequest {
    let request: HTTPRequest
    let limit: Int
    private(set) var body: [UInt8] = []

    init(request: HTTPRequest, limit: Int) {
        self.request = request
        self.limit = limit
    }

    /// Appends bytes. Returns false for more than the limit, which ends the connection.
    mutating func receive(_ bytes: [UInt8]) -> Bool {
        guard body.count + bytes.count <= limit else { return false }
        body += bytes
        return true
    }
}

/// The libmicrohttpd daemon. `@unchecked Sendable` because one thread runs it, and it is created
/// before that thread starts.
@safe
private final class HTTPService: @unchecked Sendable {
    private let library: UnsafePointer<cmicrohttpd>
    private var daemon: OpaquePointer?
    private let clock: @Sendable () -> UInt64
    private let site: any HTTPSite
    private let pages: WorkerPool
    /// The request whose page is being made. The library does not touch its connection meanwhile.
    private var page: (connection: OpaquePointer, socket: Int32)?
    /// The page, once it is made.
    private let made = Locked<HTTPAnswer?>(nil)
    /// A page whose connection goes on, by the socket.
    private var ready: (answer: HTTPAnswer, socket: Int32)?
    /// The open connections: the start time of each socket's connection.
    private var opened: [Int32: UInt64] = [:]
    /// The requests whose bodies are arriving, by their sockets.
    private var arriving: [Int32: ArrivingRequest] = [:]

    init?(
        _ descriptor: Int32, _ clock: @escaping @Sendable () -> UInt64,
        _ site: any HTTPSite, _ pages: WorkerPool
    ) {
        guard let library = unsafe cmicrohttpd_load() else { return nil }
        unsafe self.library = unsafe library
        self.clock = clock
        self.site = site
        self.pages = pages
        unsafe daemon = unsafe cmicrohttpd_start(
            descriptor,
            { context, connection, url, method, _, data, count, begun in
                let service = unsafe Unmanaged<HTTPService>.fromOpaque(context!)
                let bytes = unsafe UnsafeRawBufferPointer(start: data, count: count!.pointee)
                unsafe count!.pointee = 0
                return unsafe service.takeUnretainedValue().take(
                    connection!, url!, method!, bytes, &begun!.pointee)
            },
            { context, connection, _, event in
                let service = unsafe Unmanaged<HTTPService>.fromOpaque(context!)
                unsafe service.takeUnretainedValue().note(connection!, event)
            },
            Unmanaged.passUnretained(self).toOpaque(), HTTPListener.connections,
            HTTPListener.connectionBytes, HTTPListener.idleSeconds)
        guard unsafe daemon != nil else { return nil }
    }

    var isMakingPage: Bool { unsafe page != nil }

    /// Performs one turn: waits for events, answers requests and closes connections past their
    /// limit.
    func run(milliseconds: Int32) {
        goOnWithPage()
        _ = unsafe library.pointee.run_wait(daemon, milliseconds)
        let now = clock()
        let oldest = now - min(now, HTTPListener.connectionSeconds * 1_000_000_000)
        let waiting = unsafe page?.socket
        for (socket, since) in opened where since < oldest && socket != waiting {
            // The library sees the end of input and closes the socket. `opened` has no socket
            // that the library already closed.
            _ = shutdown(socket, Int32(SHUT_RDWR))
        }
    }

    func stop() {
        unsafe library.pointee.stop_daemon(daemon)
        unsafe daemon = nil
    }

    /// Has the library ask for the answer once the page is made.
    private func goOnWithPage() {
        guard let waiting = unsafe page, let answer = made.withLock({ $0.take() }) else { return }
        unsafe page = nil
        ready = unsafe (answer, waiting.socket)
        // The page has as long to be read as it had to be asked for.
        opened[unsafe waiting.socket] = clock()
        unsafe library.pointee.resume_connection(waiting.connection)
    }

    /// Makes the answer on the thread for pages.
    private func makePage(
        _ request: HTTPRequest, _ connection: OpaquePointer, _ socket: Int32
    ) -> MHD_Result {
        unsafe page = unsafe (connection, socket)
        unsafe library.pointee.suspend_connection(connection)
        let (site, made) = (site, made)
        pages.submit {
            let answer = site.answer(request)
            made.withLock { $0 = answer }
        }
        return .YES
    }

    private func note(_ connection: OpaquePointer, _ event: MHD_ConnectionNotificationCode) {
        let socket = unsafe cmicrohttpd_socket(connection)
        opened[socket] =
            event == .CONNECTION_NOTIFY_STARTED ? clock() : nil
        arriving[socket] = nil
        if ready?.socket == socket { ready = nil }
    }

    private func take(
        _ connection: OpaquePointer, _ url: UnsafePointer<CChar>, _ method: UnsafePointer<CChar>,
        _ data: UnsafeRawBufferPointer, _ begun: inout UnsafeMutableRawPointer?
    ) -> MHD_Result {
        let socket = unsafe cmicrohttpd_socket(connection)
        if unsafe begun == nil {
            var request = unsafe HTTPRequest(
                method: String(cString: method), path: String(cString: url),
                host: field("Host", of: connection))
            request.origin = unsafe field("Origin", of: connection)
            request.fetchSite = unsafe field("Sec-Fetch-Site", of: connection)
            request.contentType = unsafe field("Content-Type", of: connection) ?? ""
            guard let limit = site.bodyLimit(of: request) else {
                return unsafe queue(site.answer(request), connection)
            }
            guard unsafe page == nil, arriving.count < HTTPListener.bodies else {
                return unsafe queue(.busy, connection)
            }
            let length = unsafe field("Content-Length", of: connection).flatMap { Int($0) } ?? 0
            guard length <= limit else { return unsafe queue(.tooLarge(limit), connection) }
            arriving[socket] = ArrivingRequest(request: request, limit: limit)
            // Any address but nil: the library calls again, with the body.
            unsafe begun = Unmanaged.passUnretained(self).toOpaque()
            return .YES
        }
        guard unsafe data.isEmpty else {
            let part = unsafe Array(data)
            return arriving[socket]?.receive(part) == true ? .YES : .NO
        }
        if let ready, ready.socket == socket {
            self.ready = nil
            return unsafe queue(ready.answer, connection)
        }
        guard let arrived = arriving.removeValue(forKey: socket) else { return .NO }
        guard unsafe page == nil else { return unsafe queue(.busy, connection) }
        var request = arrived.request
        request.body = arrived.body
        return unsafe makePage(request, connection, socket)
    }

    private func field(_ name: String, of connection: OpaquePointer) -> String? {
        let value = unsafe library.pointee.lookup_connection_value(connection, .HEADER_KIND, name)
        return unsafe value.map { text in unsafe String(cString: text) }
    }

    private func queue(_ answer: HTTPAnswer, _ connection: OpaquePointer) -> MHD_Result {
        let response = unsafe answer.body.withUnsafeBytes { bytes in
            unsafe library.pointee.create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress),
                .RESPMEM_MUST_COPY)
        }
        guard let response = unsafe response else { return .NO }
        defer { unsafe library.pointee.destroy_response(response) }
        let headers = [("Content-Type", answer.contentType)] + answer.headers
        let always = Self.always.filter { name, _ in !answer.headers.contains { $0.name == name } }
        for (name, value) in headers + always {
            _ = unsafe library.pointee.add_response_header(response, name, value)
        }
        return unsafe library.pointee.queue_response(connection, UInt32(answer.status), response)
    }

    private static let always = [
        ("Connection", "close"), ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"),
        (
            "Content-Security-Policy",
            "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; "
                + "form-action 'self'"
        ),
    ]
}
