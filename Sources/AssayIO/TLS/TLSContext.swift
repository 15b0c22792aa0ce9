import COpenSSL

/// A server's TLS identity, and the clients that it accepts.
public struct TLSServerSettings: Hashable, Sendable {
    /// PEM file of the certificate, followed by its intermediates.
    public var certificate: String
    /// PEM file of the private key.
    public var key: String
    /// PEM file of the authorities whose clients are accepted; nil accepts any client.
    public var clientAuthority: String?
    /// Accepted client names; empty accepts any. A client's certificate needs one of the names: a
    /// SPIFFE id (a URI in the subject alternative names), a DNS name, or the common name.
    /// Compared octet for octet, DNS names without regard to the case of ASCII letters. No
    /// wildcards.
    public var clientNames: [String]
    /// Whether TLS 1.2 is accepted as well as TLS 1.3.
    public var allowsTLS12: Bool

    /// Creates settings.
    public init(
        certificate: String, key: String, clientAuthority: String? = nil,
        clientNames: [String] = [], allowsTLS12: Bool = false
    ) {
        self.certificate = certificate
        self.key = key
        self.clientAuthority = clientAuthority
        self.clientNames = clientNames
        self.allowsTLS12 = allowsTLS12
    }
}

/// The authorities that a client trusts, and its own identity.
public struct TLSClientSettings: Hashable, Sendable {
    /// PEM file of the trusted authorities; nil trusts the system's.
    public var authority: String?
    /// PEM file of a client certificate, for servers that request one.
    public var certificate: String?
    /// PEM file of the private key of `certificate`.
    public var key: String?
    /// The name that the server's certificate needs; nil expects the host of its address.
    public var serverName: String?

    /// Creates settings. The defaults trust the system's authorities and send no certificate.
    public init(
        authority: String? = nil, certificate: String? = nil, key: String? = nil,
        serverName: String? = nil
    ) {
        self.authority = authority
        self.certificate = certificate
        self.key = key
        self.serverName = serverName
    }
}

/// The keys, certificates and rules of TLS connections. Reads the files when it is created.
///
/// Thread-safe: OpenSSL counts references to it and locks it. Sessions keep it alive.
@safe
public final class TLSContext: @unchecked Sendable {
    let context: OpaquePointer
    let isServer: Bool
    let clientNames: ClientNames
    /// The content of the file of authorities; nil if clients need no certificate.
    let clientAuthority: [UInt8]?
    let serverName: String?
    /// Expiry of its own certificate, in seconds since 1970; nil without a certificate.
    public let notAfter: Int64?

    /// Limit of a peer's certificate chain in bytes. A few certificates take about 5 KB; more is
    /// an attempt to use up memory.
    private static let mostCertificateBytes = 32 * 1024

    /// Creates the context of a server.
    public init(server settings: TLSServerSettings) throws(TLSError) {
        let new = try unsafe Owner(TLS_server_method())
        isServer = true
        clientNames = ClientNames(settings.clientNames)
        clientAuthority = try settings.clientAuthority.map(Self.read)
        serverName = nil
        try new.begin(allowsTLS12: settings.allowsTLS12, Self.mostCertificateBytes)
        unsafe assay_select_protocols(new.context)
        notAfter = try new.identify(settings.certificate, settings.key)
        if let authority = settings.clientAuthority {
            try new.trust(authority, namesThem: true)
            unsafe SSL_CTX_set_verify(
                new.context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        unsafe context = new.take()
    }

    /// Creates the context of a client.
    public init(client settings: TLSClientSettings) throws(TLSError) {
        let new = try unsafe Owner(TLS_client_method())
        isServer = false
        clientNames = ClientNames([])
        clientAuthority = nil
        serverName = settings.serverName
        try new.begin(allowsTLS12: true, Self.mostCertificateBytes)
        switch (settings.certificate, settings.key) {
        case (nil, nil): notAfter = nil
        case (let certificate?, let key?): notAfter = try new.identify(certificate, key)
        default: throw .halfIdentity
        }
        if let authority = settings.authority {
            try new.trust(authority, namesThem: false)
        } else {
            unsafe SSL_CTX_set_default_verify_paths(new.context)
        }
        unsafe SSL_CTX_set_verify(new.context, SSL_VERIFY_PEER, nil)
        unsafe context = new.take()
    }

    deinit { unsafe SSL_CTX_free(context) }
}

extension TLSContext {
    /// Has a client's connections offer one protocol by ALPN (RFC 7301), such as `h2`.
    ///
    /// - Precondition: no connection uses the context yet.
    package func offer(_ name: String) {
        let list = [UInt8(name.utf8.count)] + Array(name.utf8)
        let code = unsafe SSL_CTX_set_alpn_protos(context, list, UInt32(list.count))
        precondition(code == 0, "OpenSSL has no memory")
    }

    /// Throws unless the file can be read. OpenSSL reports less about the reason.
    package static func checkReadable(_ file: String) throws(TLSError) { _ = try read(file) }

    fileprivate static func read(_ file: String) throws(TLSError) -> [UInt8] {
        do throws(LoopError) {
            // More than any chain, and than any system's file of authorities.
            if let content = try SystemFile.read(file, limit: 1 << 20) { return content }
        } catch {
            throw .unreadable(file, error.description)
        }
        throw .unreadable(file, "larger than a megabyte")
    }
}

/// A context under construction.
@safe
private struct Owner: ~Copyable {
    let context: OpaquePointer

    init(_ method: OpaquePointer?) throws(TLSError) {
        ERR_clear_error()
        guard let context = unsafe SSL_CTX_new(method) else { throw .outOfMemory }
        unsafe self.context = unsafe context
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// Returns the context with one more reference, which outlives this value.
    func take() -> OpaquePointer {
        unsafe SSL_CTX_up_ref(context)
        return unsafe context
    }

    func begin(allowsTLS12: Bool, _ mostCertificateBytes: Int) throws(TLSError) {
        let version = allowsTLS12 ? TLS1_2_VERSION : TLS1_3_VERSION
        guard unsafe assay_set_least_version(context, version) == 1 else { throw .outOfMemory }
        // A resumed session would skip the check of certificates, and so outlive a rotation.
        unsafe assay_keep_no_sessions(context)
        unsafe assay_set_strict_options(context)
        // Of TLS 1.2 what TLS 1.3 kept: forward secrecy, AEAD, and signatures without SHA-1.
        guard unsafe SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1,
            unsafe assay_set_signatures(context, Self.signatures) == 1,
            unsafe assay_set_groups(context, Self.groups) == 1
        else { throw .outOfMemory }
        unsafe assay_count_handshake_messages(context)
        // Idle connections hold no buffers.
        unsafe assay_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
        unsafe assay_set_most_certificate_bytes(context, mostCertificateBytes)
        // Never prompts a terminal for a passphrase.
        unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    }

    /// The groups of key exchanges, most preferred first: those of RFC 8446, 9.1, and P-384.
    /// Without a list OpenSSL accepts finite fields up to ffdhe8192, of which one handshake costs
    /// as much as a hundred of X25519, whatever the client has proven until then (CVE-2002-20001).
    private static let groups = "X25519:P-256:P-384"

    /// The signatures of handshakes, most preferred first.
    private static let signatures =
        "ECDSA+SHA256:ECDSA+SHA384:ECDSA+SHA512:ed25519:ed448"
        + ":RSA-PSS+SHA256:RSA-PSS+SHA384:RSA-PSS+SHA512:RSA+SHA256:RSA+SHA384:RSA+SHA512"

    /// Loads its own certificate, with intermediates, and key. Returns the certificate's expiry
    /// in seconds since 1970.
    func identify(_ certificate: String, _ key: String) throws(TLSError) -> Int64? {
        try TLSContext.checkReadable(certificate)
        try TLSContext.checkReadable(key)
        guard unsafe SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
            throw Self.failure(certificate, .noCertificate(certificate))
        }
        guard unsafe SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
            let reason = assay_error_reason(ERR_peek_last_error())
            if [X509_R_KEY_VALUES_MISMATCH, X509_R_KEY_TYPE_MISMATCH].contains(reason) {
                ERR_clear_error()
                throw .keyMismatch(certificate: certificate, key: key)
            }
            ERR_clear_error()
            throw .noKey(key)
        }
        guard unsafe SSL_CTX_check_private_key(context) == 1 else {
            ERR_clear_error()
            throw .keyMismatch(certificate: certificate, key: key)
        }
        return unsafe SSL_CTX_get0_certificate(context).flatMap { certificate in
            unsafe Self.seconds(X509_get0_notAfter(certificate))
        }
    }

    /// Trusts the authorities in the file.
    /// - Parameter namesThem: whether the server sends their names to clients.
    func trust(_ authority: String, namesThem: Bool) throws(TLSError) {
        try TLSContext.checkReadable(authority)
        guard unsafe SSL_CTX_load_verify_file(context, authority) == 1 else {
            throw Self.failure(authority, .noCertificate(authority))
        }
        if namesThem {
            unsafe SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(authority))
        }
    }

    /// Returns OpenSSL's reason if it read a certificate and refused it, else `absent`.
    private static func failure(_ file: String, _ absent: TLSError) -> TLSError {
        // The first error is the cause; later ones come from its callers.
        let error = ERR_peek_error()
        let reason = OpenSSLReason.words(error)
        let isRefused = assay_error_is_of_ssl(error) == 1
        ERR_clear_error()
        return isRefused ? .unusable(file, reason) : absent
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        guard let time = unsafe time, let epoch = unsafe ASN1_TIME_set(nil, 0) else { return nil }
        defer { unsafe ASN1_STRING_free(epoch) }
        var (days, seconds): (Int32, Int32) = (0, 0)
        guard unsafe ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return nil }
        return Int64(days) * 86_400 + Int64(seconds)
    }
}

enum OpenSSLReason {
    /// OpenSSL's constant text for an error's reason.
    static func words(_ error: UInt) -> String {
        unsafe ERR_reason_error_string(error).map { unsafe String(cString: $0) } ?? "unknown"
    }
}
