import AssayBytes
import AssayModels

extension DigestAlgorithm {
    /// Reads an AlgorithmIdentifier, with parameters absent or NULL (RFC 5754, section 2).
    /// Returns nil for an algorithm that no receipt uses.
    static func read(
        _ bytes: Span<UInt8>, _ element: DERElement
    ) throws(Refusal) -> DigestAlgorithm? {
        do throws(DERError) {
            let reader = DERReader(bytes, range: element.content)
            let identifier = try AlgorithmIdentifier(reader)
            if case .other(let parameters) = identifier.parameters {
                throw .unexpectedTag(
                    expected: Tag.null.rawValue, found: parameters.tag.rawValue,
                    at: parameters.start)
            }
            if reader.matches(identifier.algorithm, OID.sha1) { return .sha1 }
            if reader.matches(identifier.algorithm, OID.sha256) { return .sha256 }
            return nil
        } catch {
            throw Refusal(.malformed, "a digest algorithm is not valid DER: " + error.description)
        }
    }
}

/// Hashes content with every supported algorithm that was announced before the content.
struct ContentDigests: Sendable {
    /// Algorithms announced, supported or not.
    private(set) var count = 0
    private var sha1: SHA1?
    private var sha256: SHA256?
    /// Octets hashed so far.
    private var octets = 0
    /// The block size of both algorithms, in octets (FIPS 180-4, section 5.2.1).
    private static let blockOctets = 64

    mutating func add(_ algorithm: DigestAlgorithm?) {
        count += 1
        switch algorithm {
        case .sha1: sha1 = sha1 ?? SHA1()
        case .sha256: sha256 = sha256 ?? SHA256()
        case nil: break
        }
    }

    mutating func update(_ octets: Span<UInt8>) {
        sha1?.update(octets)
        sha256?.update(octets)
        self.octets += octets.count
    }

    /// The number of the next `count` octets that complete whole blocks. Whole blocks are hashed
    /// in place; a partial block is copied and kept until its rest arrives.
    func octetsOfWholeBlocks(in count: Int) -> Int {
        max(0, (octets + count) & -Self.blockOctets - octets)
    }

    /// Returns the digest of all octets so far, or nil if the algorithm was not announced.
    func digest(_ algorithm: DigestAlgorithm) -> [UInt8]? {
        switch algorithm {
        case .sha1: sha1?.finish().octets.span.array
        case .sha256: sha256?.finish().octets.span.array
        }
    }
}
