import AssayIO
import CCurl

/// One transfer: libcurl's handle, and what has arrived.
@safe
final class CurlTransfer {
    let id: TransferID
    let completion: (TransferResult) -> Void
    let easy: UnsafeMutableRawPointer
    private let library: CurlLibrary
    private var headers: UnsafeMutablePointer<curl_slist>?
    /// libcurl writes a reason for a failure here.
    private let reason: UnsafeMutableBufferPointer<CChar>

    private let byteLimit: Int
    private var body: [UInt8] = []
    private var headerBytes = 0
    private var isTooLarge = false
    private var retryAfter: String?
    private var date: String?

    init?(
        _ id: TransferID, _ request: TransportRequest, _ settings: CurlSettings,
        _ library: CurlLibrary, _ completion: @escaping (TransferResult) -> Void
    ) {
        guard let easy = unsafe library.functions.pointee.easy_init() else { return nil }
        self.id = id
        byteLimit = request.byteLimit
        self.library = library
        self.completion = completion
        unsafe self.easy = unsafe easy
        unsafe reason = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe reason.initialize(repeating: 0)
        guard setBehaviour(settings), set(request) else { return nil }
    }

    deinit {
        unsafe library.functions.pointee.easy_cleanup(easy)
        unsafe library.functions.pointee.slist_free_all(headers)
        unsafe reason.deallocate()
    }

    // MARK: Options

    private func set(_ option: CURLoption, _ number: Int) -> Bool {
        unsafe ccurl_set_number(easy, option, number) != 0
    }

    private func set(_ option: CURLoption, _ text: String) -> Bool {
        unsafe ccurl_set_text(easy, option, text) != 0
    }

    /// What holds for every request.
    private func setBehaviour(_ settings: CurlSettings) -> Bool {
        let isSet =
            // A signal handler for slow names is not for a process with threads.
            set(CURLOPT_NOSIGNAL, 1)
            && set(CURLOPT_PROTOCOLS_STR, "https,http")
            // Another host must not get the token.
            && set(CURLOPT_FOLLOWLOCATION, 0)
            && set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
            && set(
                CURLOPT_HTTP_VERSION,
                settings.usesHTTP2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1)
            && set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
            // Requests in flight share a connection of HTTP/2 instead of opening one each.
            && set(CURLOPT_PIPEWAIT, 1)
            && set(CURLOPT_CONNECTTIMEOUT_MS, Int(StoreLimits.connectMilliseconds))
            && set(CURLOPT_USERAGENT, "assay/" + AssayVersion.current)
        guard isSet, unsafe ccurl_set_text(easy, CURLOPT_ERRORBUFFER, reason.baseAddress) != 0
        else { return false }
        if let file = settings.certificateAuthorities {
            // With a file of one's own, the system's folder of authorities must not count as well.
            guard set(CURLOPT_CAINFO, file),
                unsafe ccurl_set_text(easy, CURLOPT_CAPATH, nil) != 0
            else { return false }
        }
        return settings.proxy.map { set(CURLOPT_PROXY, $0) } ?? true
    }

    private func set(_ request: TransportRequest) -> Bool {
        guard set(CURLOPT_URL, request.url), set(CURLOPT_CUSTOMREQUEST, request.method),
            set(CURLOPT_TIMEOUT_MS, Int(clamping: min(request.timeout, UInt64(Int32.max)))),
            add(header: "Accept: " + request.accept)
        else { return false }
        if let token = request.token, !add(header: "Authorization: Bearer " + token) {
            return false
        }
        if let body = request.body ?? (request.method == "GET" ? nil : []) {
            let isSet = unsafe body.withUnsafeBytes { bytes in
                // A null pointer would make libcurl ask for the bytes.
                unsafe ccurl_set_body(
                    easy, bytes.baseAddress ?? UnsafeRawPointer(easy), bytes.count)
                    != 0
            }
            let type = body.isEmpty ? "Content-Type:" : "Content-Type: " + request.contentType
            // Without the empty one, libcurl waits a second for 100 Continue of large bodies.
            guard isSet, add(header: type), add(header: "Expect:") else { return false }
        }
        return unsafe ccurl_set_headers(easy, headers) != 0
            && ccurl_set_private(easy, Unmanaged.passUnretained(self).toOpaque()) != 0
            && ccurl_set_sink(
                easy,
                { bytes, size, count, context in
                    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context!)
                    return unsafe transfer.takeUnretainedValue().take(
                        body: UnsafeRawBufferPointer(start: bytes, count: size * count))
                },
                { bytes, size, count, context in
                    let transfer = unsafe Unmanaged<CurlTransfer>.fromOpaque(context!)
                    return unsafe transfer.takeUnretainedValue().take(
                        header: UnsafeRawBufferPointer(start: bytes, count: size * count))
                }, Unmanaged.passUnretained(self).toOpaque()) != 0
    }

    private func add(header: String) -> Bool {
        guard let longer = unsafe library.functions.pointee.slist_append(headers, header) else {
            return false
        }
        unsafe headers = unsafe longer
        return true
    }

    // MARK: Input

    /// Returns the number of bytes taken; any other than all ends the transfer.
    private func take(body bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= byteLimit else {
            isTooLarge = true
            return 0
        }
        unsafe body.append(contentsOf: bytes)
        return bytes.count
    }

    private func take(header bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= StoreLimits.headerBytes else {
            isTooLarge = true
            return 0
        }
        let line = unsafe String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // The final answer begins, after one of status 1xx.
            (retryAfter, date) = (nil, nil)
        } else if let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) {
            let value = String(line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" })
            let trimmed = String(value.prefix { !$0.isNewline })
            switch line[..<colon].lowercased() {
            case "retry-after": retryAfter = trimmed
            case "date": date = trimmed
            default: break
            }
        }
        return bytes.count
    }

    // MARK: Result

    /// The result of a transfer that ended.
    func result(of code: CURLcode) -> TransferResult {
        guard code == CURLE_OK else { return .failure(error(of: code)) }
        let status = unsafe ccurl_get_number(easy, CURLINFO_RESPONSE_CODE)
        return .success(
            TransportAnswer(status: status, body: body, retryAfter: retryAfter, date: date))
    }

    private func error(of code: CURLcode) -> StoreTransportError {
        if isTooLarge { return .answerTooLarge(limit: byteLimit) }
        let written = unsafe String(cString: reason.baseAddress!)
        let text = written.isEmpty ? library.reason(code) : written
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .hostNotFound(text)
        case CURLE_COULDNT_CONNECT: return .connectFailed(text)
        case CURLE_SSL_CONNECT_ERROR: return .handshakeFailed(text)
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_CERTPROBLEM:
            return .untrusted(text)
        case CURLE_OPERATION_TIMEDOUT:
            let sent = unsafe ccurl_get_number(easy, CURLINFO_REQUEST_SIZE)
            return .timedOut(isSent: sent > 0)
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2,
            CURLE_HTTP2_STREAM, CURLE_WEIRD_SERVER_REPLY:
            return .connectionLost(text)
        default: return .other(text)
        }
    }
}
