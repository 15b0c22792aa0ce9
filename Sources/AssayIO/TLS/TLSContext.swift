import COpenSSL

/// How a server proves who it is, and whom it serves.
public struct TLSServerSettings: Hashable, Sendable {
    /// Files, PEM: the certificate and, behind it, its intermediates; the key.
    public var certificate: String
    public var key: String
    /// A file of the authorities whose clients are served; nil: anybody's.
    public var clientAuthority: String?
    /// Names, one of which a client's certificate has to have: SPIFFE ids (a URI in the subject's
    /// alternative names), DNS names, or the common name; empty: any. Compared octet for octet, DNS
    /// names without regard to the case of ASCII letters. No wildcards.
    public var clientNames: [String]
    public var allowsTLS12: Bool

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

/// Whom a client trusts, and how it proves who it is.
public struct TLSClientSettings: Hashable, Sendable {
    /// A file of the authorities that are trusted; nil: the system's.
    public var authority: String?
    /// Files, PEM, for servers that ask for them.
    public var certificate: String?
    public var key: String?
    /// The name that the server's certificate has to have; nil: the host of its address.
    public var serverName: String?

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

/// Keys, certificates and rules of TLS connections; files are read when it is made.
///
/// OpenSSL counts its references and locks it: sessions that were made of it keep it.
@safe
public final class TLSContext: @unchecked Sendable {
    let context: OpaquePointer
    let isServer: Bool
    let clientNames: ClientNames
    /// The content of the file of authorities; nil where clients need no certificate.
    let clientAuthority: [UInt8]?
    let serverName: String?
    /// When its own certificate ends, in seconds since 1970; nil without one.
    public let notAfter: Int64?

    /// A chain of a few certificates has some 5 KB; more is made to cost us memory.
    private static let mostCertificateBytes = 32 * 1024

    public init(server settings: TLSServerSettings) throws(TLSError) {
        let new = try unsafe Owner(TLS_server_method())
        isServer = true
        clientNames = ClientNames(settings.clientNames)
        clientAuthority = try settings.clientAuthority.map(Self.read)
        serverName = nil
        try new.begin(allowsTLS12: settings.allowsTLS12, Self.mostCertificateBytes)
        notAfter = try new.identify(settings.certificate, settings.key)
        if let authority = settings.clientAuthority {
            try new.trust(authority, namesThem: true)
            unsafe SSL_CTX_set_verify(
                new.context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        unsafe context = new.take()
    }

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
    /// Whether a file that settings name can be read: OpenSSL says less of why it can't be.
    package static func checkReadable(_ file: String) throws(TLSError) { _ = try read(file) }

    fileprivate static func read(_ file: String) throws(TLSError) -> [UInt8] {
        do throws(LoopError) {
            // Larger than any chain, and than the authorities of any system.
            if let content = try SystemFile.read(file, limit: 1 << 20) { return content }
        } catch {
            throw .unreadable(file, error.description)
        }
        throw .unreadable(file, "longer than a megabyte")
    }
}

/// A context that is being made.
@safe
private struct Owner: ~Copyable {
    let context: OpaquePointer

    init(_ method: OpaquePointer?) throws(TLSError) {
        ERR_clear_error()
        guard let context = unsafe SSL_CTX_new(method) else { throw .outOfMemory }
        unsafe self.context = unsafe context
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// One more reference, for whoever outlives this.
    func take() -> OpaquePointer {
        unsafe SSL_CTX_up_ref(context)
        return unsafe context
    }

    func begin(allowsTLS12: Bool, _ mostCertificateBytes: Int) throws(TLSError) {
        let version = allowsTLS12 ? TLS1_2_VERSION : TLS1_3_VERSION
        guard unsafe assay_set_least_version(context, version) == 1 else { throw .outOfMemory }
        // A resumed session would not look at certificates again, and so outlive a rotation.
        unsafe assay_keep_no_sessions(context)
        unsafe assay_set_strict_options(context)
        // An idle connection holds no buffers.
        unsafe assay_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
        unsafe assay_set_most_certificate_bytes(context, mostCertificateBytes)
        // Never ask a terminal for a passphrase.
        unsafe SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in 0 }
    }

    /// Its own certificate, with its intermediates, and key; when the certificate ends.
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

    /// - Parameter namesThem: clients are told which authorities are meant.
    func trust(_ authority: String, namesThem: Bool) throws(TLSError) {
        try TLSContext.checkReadable(authority)
        guard unsafe SSL_CTX_load_verify_file(context, authority) == 1 else {
            throw Self.failure(authority, .noCertificate(authority))
        }
        if namesThem {
            unsafe SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(authority))
        }
    }

    /// OpenSSL's reason where it has read the file, and `absent` where there was nothing to read.
    private static func failure(_ file: String, _ absent: TLSError) -> TLSError {
        // The first is the cause; those after it tell who passed it on.
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
