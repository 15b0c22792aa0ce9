import AssayKeys

/// A development CA as PEM files of a folder. The caller reads and writes the files.
extension DevelopmentCA {
    /// One file of the folder.
    public struct File: Sendable, Equatable {
        /// The file's name in its folder.
        public var name: String
        /// The file's contents, PEM text.
        public var contents: [UInt8]
        /// Whether this is a private key, which only its owner may read (mode 0600).
        public var secret: Bool

        /// Creates a file.
        public init(name: String, contents: [UInt8], secret: Bool) {
            self.name = name
            self.contents = contents
            self.secret = secret
        }
    }

    static let chainFiles = ChainFiles(root: "root", intermediate: "intermediate", leaf: "leaf")

    /// The names of all files that `files` can return and `init(files:)` reads.
    public static let fileNames = chainFiles.names

    /// Returns the files of certificates and keys.
    public func files() throws(MintError) -> [File] {
        try Self.chainFiles.write(
            certificates: [rootCertificate, intermediateCertificate, leafCertificate],
            keys: [rootKey, intermediateKey, leafKey])
    }

    /// Reads the result of `files`. The keys of root and intermediate are optional; other files
    /// are ignored.
    public init(files: [File]) throws(MintError) {
        let chain = try Self.chainFiles.read(
            files, subjects: [Self.rootName, Self.intermediateName, Self.leafName])
        self.init(
            certificates: chain.certificates.reversed(), rootKey: chain.rootKey,
            intermediateKey: chain.intermediateKey, leafKey: chain.leafKey)
    }
}

/// The PEM files of a root, an intermediate and a leaf: for each a certificate and its private
/// key.
struct ChainFiles {
    private let stems: [String]

    init(root: String, intermediate: String, leaf: String) { stems = [root, intermediate, leaf] }

    var names: [String] { stems.map(Self.certificateName) + stems.map(Self.keyName) }
    var rootKey: String { Self.keyName(stems[0]) }
    var intermediateKey: String { Self.keyName(stems[1]) }

    private static func certificateName(_ stem: String) -> String { stem + ".pem" }
    private static func keyName(_ stem: String) -> String { stem + "-key.pem" }

    /// In the order root, intermediate, leaf.
    func write(
        certificates: [[UInt8]], keys: [SigningKey?]
    ) throws(MintError) -> [DevelopmentCA.File] {
        var files = zip(stems, certificates).map { stem, der in
            DevelopmentCA.File(
                name: Self.certificateName(stem), contents: PEM.encode(der, label: "CERTIFICATE"),
                secret: false)
        }
        for (stem, key) in zip(stems, keys) {
            guard let key else { continue }
            let der = try minting { () throws(SigningKeyError) in try key.pkcs8() }
            let pem = PEM.encode(der, label: "PRIVATE KEY")
            files.append(.init(name: Self.keyName(stem), contents: pem, secret: true))
        }
        return files
    }

    struct Chain {
        /// In the order root, intermediate, leaf.
        var certificates: [[UInt8]]
        var rootKey: SigningKey?
        var intermediateKey: SigningKey?
        var leafKey: SigningKey
    }

    /// Reads a chain. The leaf's key is required, the other keys are optional.
    func read(
        _ files: [DevelopmentCA.File], subjects: [DistinguishedName]
    ) throws(MintError) -> Chain {
        var certificates: [[UInt8]] = []
        for (stem, subject) in zip(stems, subjects) {
            certificates.append(try certificate(stem, subject, in: files))
        }
        guard let leafKey = try key(stems[2], of: certificates[2], in: files) else {
            throw .missingFile(Self.keyName(stems[2]))
        }
        return Chain(
            certificates: certificates, rootKey: try key(stems[0], of: certificates[0], in: files),
            intermediateKey: try key(stems[1], of: certificates[1], in: files), leafKey: leafKey)
    }

    private func certificate(
        _ stem: String, _ subject: DistinguishedName, in files: [DevelopmentCA.File]
    ) throws(MintError) -> [UInt8] {
        let name = Self.certificateName(stem)
        guard let file = files.first(where: { $0.name == name }) else { throw .missingFile(name) }
        guard let der = PEM.decode(file.contents, label: "CERTIFICATE") else {
            throw .malformedFile(name)
        }
        // Issuing relies on the names of these three certificates.
        guard der.holds(subject.der) else { throw .foreignCertificate(name) }
        return der
    }

    private func key(
        _ stem: String, of certificate: [UInt8], in files: [DevelopmentCA.File]
    ) throws(MintError) -> SigningKey? {
        let name = Self.keyName(stem)
        guard let file = files.first(where: { $0.name == name }) else { return nil }
        guard let key = try? SigningKey(encoded: file.contents) else { throw .malformedFile(name) }
        guard certificate.holds(key.subjectPublicKeyInfo) else { throw .keyMismatch(name) }
        return key
    }
}

extension [UInt8] {
    /// Whether these bytes contain `part`.
    func holds(_ part: [UInt8]) -> Bool {
        guard part.count <= count else { return false }
        return (0...(count - part.count)).contains { self[$0..<($0 + part.count)] == part[...] }
    }
}
