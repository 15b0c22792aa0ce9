import COpenSSL
import TestSupport

/// A TLS client in memory that does what Assay's never does. It trusts any server.
@safe
final class OpenSSLPeer {
    /// What the client offers. The defaults are those of OpenSSL, with TLS 1.3.
    struct Offer: Sendable {
        var protocols: [String] = []
        /// Makes it offer TLS 1.2 alone, with these cipher suites.
        var ciphers12: String?
        var signatures: String?
        /// The groups of its key exchange; a share of the first is sent.
        var groups: String?
    }

    private let context: OpaquePointer
    private let session: OpaquePointer
    private let input: OpaquePointer
    private let output: OpaquePointer
    /// The alert that ended the handshake; nil if none did.
    private(set) var alert: Int32?

    init(_ offer: Offer = Offer()) {
        unsafe context = SSL_CTX_new(TLS_client_method())
        if let ciphers = offer.ciphers12 {
            unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
            precondition(unsafe SSL_CTX_set_cipher_list(context, ciphers) == 1)
        }
        if let signatures = offer.signatures {
            precondition(unsafe assay_set_signatures(context, signatures) == 1)
        }
        if let groups = offer.groups {
            precondition(unsafe assay_set_groups(context, groups) == 1)
        }
        let protocols = offer.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        if !protocols.isEmpty {
            precondition(
                unsafe SSL_CTX_set_alpn_protos(context, protocols, UInt32(protocols.count)) == 0)
        }
        unsafe session = SSL_new(context)
        unsafe (input, output) = (BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
        // An empty BIO is not the end: more bytes will come.
        unsafe BIO_ctrl(input, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        unsafe BIO_ctrl(output, BIO_C_SET_BUF_MEM_EOF_RETURN, -1, nil)
        unsafe SSL_set_bio(session, input, output)
        unsafe SSL_set_connect_state(session)
    }

    deinit {
        unsafe SSL_free(session)
        unsafe SSL_CTX_free(context)
    }

    /// Continues the handshake. Returns whether it has ended well.
    func handshake() -> Bool {
        ERR_clear_error()
        if unsafe SSL_do_handshake(session) == 1 { return true }
        let error = ERR_peek_error()
        if assay_error_is_alert(error) == 1 {
            alert = assay_error_reason(error) - SSL_AD_REASON_OFFSET
        }
        return false
    }

    /// The protocol that the server selected.
    var selected: String? {
        var octets: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(session, &octets, &count)
        guard let octets = unsafe octets else { return nil }
        let name = unsafe UnsafeBufferPointer(start: octets, count: Int(count))
        return unsafe String(decoding: name, as: UTF8.self)
    }

    var cipher: String {
        unsafe String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher(session)))
    }

    /// Adds a KeyUpdate to what is sent.
    func updateKeys() {
        precondition(unsafe SSL_key_update(session, SSL_KEY_UPDATE_NOT_REQUESTED) == 1)
        precondition(unsafe SSL_do_handshake(session) == 1)
    }

    /// Adds a record of these bytes to what is sent.
    func write(_ bytes: [UInt8]) {
        precondition(unsafe SSL_write(session, bytes, Int32(bytes.count)) == Int32(bytes.count))
    }

    /// Reads the data of the records that were fed.
    func read() -> [UInt8] {
        var (all, part) = ([UInt8](), [UInt8](repeating: 0, count: 16 << 10))
        while case let count = unsafe SSL_read(session, &part, Int32(part.count)), count > 0 {
            all += part.prefix(Int(count))
        }
        return all
    }

    func feed(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        precondition(unsafe BIO_write(input, bytes, Int32(bytes.count)) == Int32(bytes.count))
    }

    /// Takes the bytes to send.
    func take() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(unsafe BIO_ctrl_pending(output)))
        guard !bytes.isEmpty else { return [] }
        let count = unsafe BIO_read(output, &bytes, Int32(bytes.count))
        precondition(Int(count) == bytes.count)
        return bytes
    }

    /// Shakes hands through a socket. Returns whether that ended well.
    func handshake(over client: BlockingClient) throws -> Bool {
        while !handshake() {
            guard alert == nil else { return false }
            try client.send(take())
            let answer = try client.receive(upTo: 1 << 16)
            if answer.isEmpty { return false }
            feed(answer)
        }
        try client.send(take())
        return true
    }
}
