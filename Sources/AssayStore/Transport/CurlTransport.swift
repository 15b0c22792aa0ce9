import AssayIO
import CCurl

/// The settings of libcurl.
struct CurlSettings: Sendable {
    /// nil: that of the environment variables; empty: none.
    var proxy: String?
    /// A file of authorities; nil: the system's.
    var certificateAuthorities: String?
    /// Whether a server that speaks HTTP/2 is asked by it. The one of the tests speaks HTTP/1.1
    /// alone, on a listener that selects HTTP/2.
    var usesHTTP2 = true
}

/// HTTP by libcurl, on an event loop of its own. Loads libcurl with the first instance.
final class CurlTransport: HTTPTransport {
    private let loop: EventLoop
    private let multi: LoopBound<CurlMulti>
    private let settings: CurlSettings

    init(_ settings: CurlSettings) throws(StoreTransportError) {
        guard let library = CurlLibrary.loaded else { throw .libraryMissing }
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-store")
            try loop.start()
            multi = try loop.call { () throws(LoopError) in
                LoopBound(try CurlMulti(library, on: loop), to: loop)
            }
            self.loop = loop
        } catch {
            throw .other(error.description)
        }
        self.settings = settings
    }

    deinit {
        close()
        // A thread that nobody joins keeps its stack: a server makes a client with each reload.
        if !loop.isCurrent { loop.join() }
    }

    func close() {
        loop.post { [multi] in multi.value.close() }
        loop.stop()
    }

    func send(
        _ request: TransportRequest
    ) async throws(StoreTransportError) -> TransportAnswer {
        let id = TransferID()
        let result = await awaitAnswer(cancelled: TransferResult.failure(.cancelled)) { end in
            let isPosted = loop.post { [multi, settings] in
                multi.value.start(id, request, settings, completion: end)
            }
            if !isPosted { end(.failure(.cancelled)) }
        } cancel: {
            cancel(id)
        }
        return try result.get()
    }

    private func cancel(_ id: TransferID) { loop.post { [multi] in multi.value.cancel(id) } }
}

typealias TransferResult = Result<TransportAnswer, StoreTransportError>

/// Names a transfer by its identity.
final class TransferID: Sendable, Hashable {
    static func == (left: TransferID, right: TransferID) -> Bool { left === right }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// The functions of libcurl. They live as long as the process.
@safe
struct CurlLibrary: @unchecked Sendable {
    let functions: UnsafePointer<ccurl>

    /// The library; nil if it is not installed.
    static var loaded: CurlLibrary? {
        guard let functions = unsafe ccurl_load() else { return nil }
        return unsafe CurlLibrary(functions: functions)
    }

    func reason(_ code: CURLcode) -> String {
        unsafe functions.pointee.easy_strerror(code).map { unsafe String(cString: $0) } ?? "?"
    }
}
