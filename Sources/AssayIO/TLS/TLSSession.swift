import COpenSSL

/// One TLS connection in OpenSSL. Reads and writes ciphertext in memory, not on a socket.
@safe
package struct TLSSession: ~Copyable {
    private let session: OpaquePointer
    /// Received ciphertext, and ciphertext to send. The session owns both.
    private var ciphertextIn: OpaquePointer
    private var ciphertextOut: OpaquePointer
    private var inHighWater = 0
    /// Measures what a server's peer sends before it is authenticated; nil afterwards.
    private var hello: HelloMeter?
    /// Handshake messages of the peer before the data of the last read, such as KeyUpdate.
    private(set) var messagesBeforeData = 0

    package enum Step {
        /// Success, with the number of bytes (0 for a handshake).
        case bytes(Int)
        /// More bytes from the peer are needed.
        case needMore
        /// The peer closed its writing side.
        case ended
        case failed(TLSError)
    }

    /// A memory BIO that has held more than this is replaced once it is empty.
    private static let keptBytes = 4 * 1024
    /// Bytes of memory that OpenSSL 3.0 has for a session, as measured: after the handshake, while
    /// no record is read or written; and at most during the handshake.
    package static let memoryBytes = 20 << 10
    package static let handshakeMemoryBytes = 40 << 10

    /// Creates a session.
    ///
    /// - Parameters:
    ///   - host: the host that a client connects to.
    ///   - speaksHTTP: whether a server selects HTTP/2 or 1.1 if a client names protocols. A server
    ///     of frames selects none, so that bytes of another protocol are never taken for frames.
    package init(
        _ context: TLSContext, host: String?, speaksHTTP: Bool = false
    ) throws(TLSError) {
        let (new, input, output) = try unsafe Self.make(context, host)
        if speaksHTTP, unsafe assay_set_speaks_http(new) != 1 {
            unsafe SSL_free(new)
            throw .outOfMemory
        }
        unsafe session = unsafe new
        unsafe ciphertextIn = unsafe input
        unsafe ciphertextOut = unsafe output
        hello = context.isServer ? HelloMeter() : nil
    }

    /// Separate from the initializer, since a failing initializer would run `deinit` on stored
    /// fields.
    private static func make(
        _ context: TLSContext, _ host: String?
    ) throws(TLSError) -> (session: OpaquePointer, input: OpaquePointer, output: OpaquePointer) {
        ERR_clear_error()
        guard let session = unsafe SSL_new(context.context) else { throw .outOfMemory }
        guard let input = unsafe memory(), let output = unsafe memory() else {
            unsafe SSL_free(session)
            throw .outOfMemory
        }
        unsafe SSL_set_bio(session, input, output)
        if context.isServer {
            unsafe SSL_set_accept_state(session)
        } else {
            unsafe SSL_set_connect_state(session)
            guard unsafe expect(context.serverName ?? host ?? "", session) else {
                unsafe SSL_free(session)
                throw .outOfMemory
            }
        }
        return unsafe (session, input, output)
    }

    deinit { unsafe SSL_free(session) }

    private static func memory() -> OpaquePointer? {
        guard let memory = unsafe BIO_new(BIO_s_mem()) else { return nil }
        // An empty BIO is not the end: more bytes will come.
        unsafe BIO_ctrl(memory, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        return unsafe memory
    }

    /// Requires the server's certificate to match the host name or IP address.
    private static func expect(_ name: String, _ session: OpaquePointer) -> Bool {
        unsafe SSL_set_hostflags(session, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name) == 1 { return true }
        ERR_clear_error()
        guard !name.isEmpty, unsafe SSL_set1_host(session, name) == 1 else { return false }
        return unsafe assay_set_server_name(session, name) == 1
    }

    // MARK: Steps

    package mutating func handshake() -> Step {
        ERR_clear_error()
        if hello?.isAboveLimit == true { return refuseHello() }
        let code = unsafe SSL_do_handshake(session)
        guard code == 1 else { return outcome(code) }
        hello = nil
        _ = unsafe assay_take_handshake_messages(session)
        return .bytes(0)
    }

    /// Adds the alert that OpenSSL sends for a message above its own limit: illegal_parameter.
    private func refuseHello() -> Step {
        let alert: [UInt8] = [21, 3, 3, 0, 2, 2, UInt8(SSL_AD_ILLEGAL_PARAMETER)]
        unsafe BIO_write(ciphertextOut, alert, Int32(alert.count))
        return .failed(.protocolFault("a ClientHello above \(HelloMeter.limit) bytes"))
    }

    /// Decrypts up to `capacity` bytes.
    mutating func read(into memory: UnsafeMutableRawPointer, capacity: Int) -> Step {
        ERR_clear_error()
        let count = unsafe SSL_read(session, memory, Int32(clamping: capacity))
        guard count <= 0 else {
            messagesBeforeData = Int(unsafe assay_take_handshake_messages(session))
            return .bytes(Int(count))
        }
        // Each costs a derivation of keys. OpenSSL has no limit of its own.
        guard unsafe assay_has_too_many_handshake_messages(session) == 0 else {
            ERR_clear_error()
            return .failed(.protocolFault(Self.tooManyMessages))
        }
        return outcome(count)
    }

    private static let tooManyMessages =
        "more than \(assay_most_handshake_messages) handshake messages without data"

    /// Decrypts up to `limit` bytes, and appends them to `bytes`.
    package mutating func read(upTo limit: Int, into bytes: inout [UInt8]) -> Step {
        var buffer = [UInt8](repeating: 0, count: limit)
        let step = unsafe buffer.withUnsafeMutableBytes {
            unsafe read(into: $0.baseAddress!, capacity: $0.count)
        }
        if case .bytes(let count) = step { bytes += buffer.prefix(count) }
        return step
    }

    /// Encrypts all bytes.
    package mutating func write(_ bytes: Span<UInt8>) -> Step {
        ERR_clear_error()
        var start = 0
        while start < bytes.count {
            let rest = bytes.extracting(start...)
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe SSL_write(session, bytes.baseAddress!, Int32(clamping: bytes.count))
            }
            guard count > 0 else { return outcome(count) }
            start += Int(count)
        }
        return .bytes(start)
    }

    /// Encrypts the `close_notify` alert.
    mutating func close() {
        ERR_clear_error()
        unsafe SSL_shutdown(session)
        ERR_clear_error()
    }

    private func outcome(_ code: Int32) -> Step {
        switch unsafe SSL_get_error(session, code) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return .needMore
        case SSL_ERROR_ZERO_RETURN: return .ended
        default: return .failed(failure)
        }
    }

    private var failure: TLSError {
        let error = ERR_peek_error()
        defer { ERR_clear_error() }
        let verification = unsafe SSL_get_verify_result(session)
        if assay_error_is_alert(error) == 1 { return .refusedByPeer(OpenSSLReason.words(error)) }
        switch assay_error_reason(error) {
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return .noPeerCertificate
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            let words = unsafe X509_verify_cert_error_string(verification)
            return .untrustedPeer(unsafe words.map { unsafe String(cString: $0) } ?? "unknown")
        // Bytes that are no record.
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_PACKET_LENGTH_TOO_LONG: return .noTLS
        default: return .protocolFault(OpenSSLReason.words(error))
        }
    }

    // MARK: Ciphertext

    /// Adds ciphertext from the peer.
    mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count > 0 else { return }
        unsafe hello?.read(bytes.bindMemory(to: UInt8.self).span)
        guard hello?.isAboveLimit != true else { return }
        let count = unsafe BIO_write(ciphertextIn, bytes.baseAddress, Int32(bytes.count))
        precondition(count == Int32(bytes.count), "a memory BIO takes all bytes")
        inHighWater = max(inHighWater, Int(unsafe BIO_ctrl_pending(ciphertextIn)))
    }

    package mutating func feed(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBytes { unsafe feed($0) }
    }

    /// Bytes of ciphertext that were received and not read.
    var pendingCount: Int { Int(unsafe BIO_ctrl_pending(ciphertextIn)) }

    /// Whether a read can succeed without more bytes from the peer.
    var hasPending: Bool {
        unsafe SSL_pending(session) > 0 || BIO_ctrl_pending(ciphertextIn) > 0
    }

    /// Takes the ciphertext to send to the peer.
    package mutating func takeCiphertext() -> [UInt8] {
        let count = Int(unsafe BIO_ctrl_pending(ciphertextOut))
        guard count > 0 else { return [] }
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let got = unsafe BIO_read(ciphertextOut, buffer.baseAddress!, Int32(count))
            filled = max(0, Int(got))
        }
        if count > Self.keptBytes, let fresh = unsafe Self.memory() {
            unsafe SSL_set0_wbio(session, fresh)
            unsafe ciphertextOut = unsafe fresh
        }
        return bytes
    }

    /// Frees an empty input BIO that has grown, since OpenSSL's memory BIOs never shrink.
    package mutating func compact() {
        guard inHighWater > Self.keptBytes, unsafe BIO_ctrl_pending(ciphertextIn) == 0,
            let fresh = unsafe Self.memory()
        else { return }
        unsafe SSL_set0_rbio(session, fresh)
        unsafe ciphertextIn = unsafe fresh
        inHighWater = 0
    }

    // MARK: The peer

    /// The protocol that the server has selected (RFC 7301); nil if the client named none.
    var selectedProtocol: ApplicationProtocol? {
        var octets: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(session, &octets, &count)
        guard unsafe octets != nil else { return nil }
        // The two that `assay_select_protocol` knows.
        return count == 2 ? .http2 : .http1
    }

    /// Whether the context's authorities trust the peer's certificate. Costs a public-key
    /// operation for each certificate of its chain.
    func peerIsTrusted(by context: TLSContext) -> Bool {
        defer { ERR_clear_error() }
        return unsafe assay_peer_is_trusted(session, context.context) == 1
    }

    /// The names of the peer's certificate; nil if the peer sent none.
    var peerNames: CertificateNames? {
        guard let certificate = unsafe SSL_get0_peer_certificate(session) else { return nil }
        return unsafe PeerNames.all(of: certificate)
    }
}

/// What a client of TLS and a server have agreed to speak.
package enum ApplicationProtocol: Sendable {
    case http1, http2
}

private enum PeerNames {
    static func all(of certificate: OpaquePointer) -> CertificateNames {
        var names = CertificateNames()
        var critical: Int32 = 0
        if let raw = unsafe X509_get_ext_d2i(certificate, NID_subject_alt_name, &critical, nil) {
            unsafe add(alternative: OpaquePointer(raw), to: &names)
        } else if critical != Self.absent {
            // The alternative names can't be decoded, or appear twice.
            return names
        }
        names.commonName = unsafe common(of: certificate)
        return names
    }

    /// OpenSSL's result for an absent extension.
    private static let absent: Int32 = -1

    private static func add(alternative list: OpaquePointer, to names: inout CertificateNames) {
        defer { unsafe GENERAL_NAMES_free(list) }
        for index in 0..<(unsafe assay_name_count(list)) {
            var octets: UnsafePointer<UInt8>?
            var count: Int32 = 0
            let type = unsafe assay_name(list, index, &octets, &count)
            guard let octets = unsafe octets else { continue }
            let name = unsafe Array(UnsafeBufferPointer(start: octets, count: Int(count)))
            if type == GEN_DNS {
                names.domains.append(name)
            } else if type == GEN_URI {
                names.uris.append(name)
            }
        }
    }

    /// The subject's only common name, if its string type stores UTF-8 octets.
    private static func common(of certificate: OpaquePointer) -> [UInt8]? {
        let subject = unsafe X509_get_subject_name(certificate)
        let index = unsafe X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
        guard index >= 0, unsafe X509_NAME_get_index_by_NID(subject, NID_commonName, index) < 0
        else { return nil }
        let value = unsafe X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index))
        let type = unsafe ASN1_STRING_type(value)
        guard [V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING].contains(type) else {
            return nil
        }
        return unsafe Array(
            UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value))))
    }
}
