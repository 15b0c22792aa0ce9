import AssayIO
import CCurl

/// libcurl's transfers on one loop: libuv watches the sockets and the time, libcurl does the rest.
///
/// Only the loop's thread uses it. Call `close` before the loop stops.
@safe
final class CurlMulti {
    private let library: CurlLibrary
    private let loop: EventLoop
    private let timer: Timer
    private var multi: UnsafeMutableRawPointer?
    private var watchers: [Int32: DescriptorWatcher] = [:]
    private var transfers: [TransferID: CurlTransfer] = [:]

    init(_ library: CurlLibrary, on loop: EventLoop) throws(LoopError) {
        let timer = try Timer(on: loop)
        let multi = unsafe library.functions.pointee.multi_init()
        guard unsafe multi != nil else {
            timer.close()
            throw .outOfMemory
        }
        self.library = library
        self.loop = loop
        self.timer = timer
        unsafe self.multi = unsafe multi
        let connections = StoreLimits.requestsInFlight
        let isLimited = unsafe ccurl_multi_set_number(
            multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections)
        let isSet = unsafe ccurl_multi_set_callbacks(
            multi,
            { _, descriptor, what, context, _ in
                let multi = unsafe Unmanaged<CurlMulti>.fromOpaque(context!)
                return unsafe multi.takeUnretainedValue().watch(descriptor, what)
            },
            { _, milliseconds, context in
                let multi = unsafe Unmanaged<CurlMulti>.fromOpaque(context!)
                unsafe multi.takeUnretainedValue().setTimer(milliseconds)
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
        precondition(isLimited != 0 && isSet != 0, "options of every libcurl since 7.30")
    }

    deinit { precondition(transfers.isEmpty) }

    /// Ends all transfers and closes all connections.
    func close() {
        guard let closing = unsafe multi else { return }
        for id in Array(transfers.keys) { cancel(id) }
        unsafe multi = nil
        // Closes the connections, and so the watchers.
        _ = unsafe library.functions.pointee.multi_cleanup(closing)
        for watcher in watchers.values { watcher.close() }
        watchers = [:]
        timer.close()
    }

    func start(
        _ id: TransferID, _ request: TransportRequest, _ settings: CurlSettings,
        completion: @escaping (TransferResult) -> Void
    ) {
        guard unsafe multi != nil else { return completion(.failure(.cancelled)) }
        guard let transfer = CurlTransfer(id, request, settings, library, completion) else {
            return completion(.failure(.other("libcurl does not accept the request")))
        }
        transfers[id] = transfer
        guard unsafe library.functions.pointee.multi_add_handle(multi, transfer.easy) == CURLM_OK
        else {
            transfers[id] = nil
            return completion(.failure(.other("libcurl takes no more transfers")))
        }
    }

    func cancel(_ id: TransferID) { end(id, .failure(.cancelled)) }

    private func end(_ id: TransferID, _ result: TransferResult) {
        guard let transfer = transfers.removeValue(forKey: id) else { return }
        _ = unsafe library.functions.pointee.multi_remove_handle(multi, transfer.easy)
        transfer.completion(result)
    }

    // MARK: Events

    /// libcurl wants to know about a socket, or no longer.
    private func watch(_ descriptor: Int32, _ what: Int32) -> Int32 {
        guard what != CURL_POLL_REMOVE else {
            watchers.removeValue(forKey: descriptor)?.close()
            return 0
        }
        var readiness: DescriptorWatcher.Readiness = []
        if what & CURL_POLL_IN != 0 { readiness.insert(.readable) }
        if what & CURL_POLL_OUT != 0 { readiness.insert(.writable) }
        if watchers[descriptor] == nil {
            watchers[descriptor] = try? DescriptorWatcher(descriptor, on: loop) {
                [self] readiness in isReady(descriptor, readiness)
            }
        }
        guard let watcher = watchers[descriptor] else { return -1 }
        watcher.watch(for: readiness)
        return 0
    }

    private func setTimer(_ milliseconds: Int) {
        guard !timer.isClosing else { return }
        if milliseconds < 0 { return timer.stop() }
        timer.start(afterMilliseconds: UInt64(milliseconds)) { [self] in
            // What CURL_SOCKET_TIMEOUT stands for.
            act(-1, 0)
        }
    }

    private func isReady(_ descriptor: Int32, _ readiness: DescriptorWatcher.Readiness) {
        var events: Int32 = 0
        if readiness.contains(.readable) { events |= CURL_CSELECT_IN }
        if readiness.contains(.writable) { events |= CURL_CSELECT_OUT }
        if readiness.contains(.failed) { events |= CURL_CSELECT_ERR }
        act(descriptor, events)
    }

    private func act(_ descriptor: Int32, _ events: Int32) {
        guard let multi = unsafe multi else { return }
        var running: Int32 = 0
        _ = unsafe library.functions.pointee.multi_socket_action(
            multi, descriptor, events, &running)
        var code = CURLE_OK
        while let easy = unsafe ccurl_multi_next_ended(multi, &code) {
            let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(ccurl_get_private(easy)!)
                .takeUnretainedValue()
            end(transfer.id, transfer.result(of: code))
        }
    }
}
