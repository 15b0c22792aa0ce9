import Assay

/// A development CA as a folder of PEM files. Reading and writing them is the caller's.
extension DevelopmentCA {
    /// One file of the folder.
    public struct File: Sendable, Equatable {
        public var name: String
        public var contents: [UInt8]
        /// A private key: to be written so that its owner alone can read it (mode 0600).
        public var secret: Bool

        public init(name: String, contents: [UInt8], secret: Bool) {
            self.name = name
            self.contents = contents
            self.secret = secret
        }
    }

    enum FileName {
        static let root = "root.pem"
        static let intermediate = "intermediate.pem"
        static let leaf = "leaf.pem"
        static let rootKey = "root-key.pem"
        static let intermediateKey = "intermediate-key.pem"
        static let leafKey = "leaf-key.pem"
    }

    /// Names of all files that `files` may give and `init(files:)` looks for.
    public static let fileNames = [
        FileName.root, FileName.intermediate, FileName.leaf,
        FileName.rootKey, FileName.intermediateKey, FileName.leafKey,
    ]

    public func files() throws(MintError) -> [File] {
        var files = [
            (FileName.root, rootCertificate), (FileName.intermediate, intermediateCertificate),
            (FileName.leaf, leafCertificate),
        ].map { name, der in
            File(name: name, contents: PEM.encode(der, label: "CERTIFICATE"), secret: false)
        }
        let keys = [
            (FileName.rootKey, rootKey), (FileName.intermediateKey, intermediateKey),
            (FileName.leafKey, leafKey),
        ]
        for (name, key) in keys {
            guard let key else { continue }
            let der = try minting { () throws(SigningKeyError) in try key.pkcs8() }
            let pem = PEM.encode(der, label: "PRIVATE KEY")
            files.append(File(name: name, contents: pem, secret: true))
        }
        return files
    }

    /// Reads what `files` gave. The keys of root and intermediate may be missing; others files of
    /// the folder are not looked at.
    public init(files: [File]) throws(MintError) {
        func contents(_ name: String) -> [UInt8]? { files.first { $0.name == name }?.contents }

        func certificate(_ name: String, _ subject: DistinguishedName) throws(MintError) -> [UInt8]
        {
            guard let text = contents(name) else { throw .missingFile(name) }
            guard let der = PEM.decode(text, label: "CERTIFICATE") else {
                throw .malformedFile(name)
            }
            // The names of these three are what issuing relies on.
            guard der.holds(subject.der) else { throw .foreignCertificate(name) }
            return der
        }

        func key(_ name: String, of certificate: [UInt8]) throws(MintError) -> SigningKey? {
            guard let text = contents(name) else { return nil }
            guard let key = try? SigningKey(encoded: text) else { throw .malformedFile(name) }
            guard certificate.holds(key.subjectPublicKeyInfo) else { throw .keyMismatch(name) }
            return key
        }

        let root = try certificate(FileName.root, DevelopmentCA.rootName)
        let intermediate = try certificate(
            FileName.intermediate, DevelopmentCA.intermediateName)
        let leaf = try certificate(FileName.leaf, DevelopmentCA.leafName)
        guard let leafKey = try key(FileName.leafKey, of: leaf) else {
            throw .missingFile(FileName.leafKey)
        }
        self.init(
            certificates: [leaf, intermediate, root], rootKey: try key(FileName.rootKey, of: root),
            intermediateKey: try key(FileName.intermediateKey, of: intermediate), leafKey: leafKey)
    }
}

extension [UInt8] {
    /// Whether `part` stands somewhere in these bytes.
    func holds(_ part: [UInt8]) -> Bool {
        guard part.count <= count else { return false }
        return (0...(count - part.count)).contains { self[$0..<($0 + part.count)] == part[...] }
    }
}
