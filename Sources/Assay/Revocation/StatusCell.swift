import AssayBytes
import AssayLocks
import AssayModels
import Synchronization

/// Identifies a certificate by its issuer's certificate and its serial number. The issuer's key
/// would not do: the holder of any pinned root can issue a certificate with the key of another
/// authority, and a status found under it would count for that authority's chains.
package struct CertificateID: Hashable, Sendable, CustomStringConvertible {
    private let issuer: SHA256Digest
    private let serial: [UInt8]

    init(_ certificate: Certificate, under issuer: Certificate) {
        self.issuer = issuer.fingerprint
        serial = Array(certificate.der[certificate.serialNumber])
    }

    /// The first octets of the issuer's SHA-256, and the serial number. Suits file names.
    package var description: String {
        issuer.text.prefix(16) + "-" + hexadecimal(serial.span)
    }
}

/// What is known of one certificate. Verifications read it by one atomic load, so a status that
/// arrives applies to the next token, without a lock.
package final class StatusCell: Sendable {
    package let id: CertificateID
    package let certificate: Certificate
    package let issuer: Certificate
    package let position: ChainPosition
    private let word = Atomic<UInt64>(PackedStatus.none.rawValue)
    private let details = Locked(Details())
    /// Whether all documents have been compared with the certificate.
    let isCompared = Locked(false)

    /// The statements about the certificate, by the names of their documents.
    struct Details {
        var statuses: [String: RevocationStatus] = [:]
        /// Why documents about this certificate are not used.
        var problems: [String: RevocationError] = [:]
    }

    init(
        _ id: CertificateID, _ certificate: Certificate, under issuer: Certificate,
        position: ChainPosition
    ) {
        self.id = id
        self.certificate = certificate
        self.issuer = issuer
        self.position = position
    }

    /// The status that counts, to the second.
    var status: PackedStatus { PackedStatus(rawValue: word.load(ordering: .relaxed)) }

    /// The status that counts and the name of its document; nil if there is none.
    package var current: (name: String, status: RevocationStatus)? {
        details.withLock { Self.decisive($0.statuses) }
    }

    /// Why documents about this certificate are not used, by their names.
    package var problems: [(name: String, error: RevocationError)] {
        details.withLock { details in
            details.problems.map { (name: $0.key, error: $0.value) }.sorted { $0.name < $1.name }
        }
    }

    func update(_ change: (inout Details) -> Void) {
        details.withLock { details in
            change(&details)
            let packed = Self.decisive(details.statuses).map { PackedStatus($0.status) } ?? .none
            word.store(packed.rawValue, ordering: .relaxed)
        }
    }

    /// A revocation is final, and one for compromise counts before others. Of other statements the
    /// newest counts.
    private static func decisive(
        _ statuses: [String: RevocationStatus]
    ) -> (name: String, status: RevocationStatus)? {
        let best = statuses.max { left, right in
            let (first, second) = (rank(left.value), rank(right.value))
            if first != second { return first < second }
            // The earliest revocation, so that the order of arrival does not matter.
            if case .revoked(let one, _) = left.value.state,
                case .revoked(let other, _) = right.value.state, first > 0, one != other
            {
                return one > other
            }
            if left.value.thisUpdate != right.value.thisUpdate {
                return left.value.thisUpdate < right.value.thisUpdate
            }
            if severity(left.value) != severity(right.value) {
                return severity(left.value) < severity(right.value)
            }
            return left.key > right.key
        }
        return best.map { (name: $0.key, status: $0.value) }
    }

    private static func rank(_ status: RevocationStatus) -> Int {
        guard status.isFinal, case .revoked(_, let reason) = status.state else { return 0 }
        return reason.isCompromise ? 2 : 1
    }

    private static func severity(_ status: RevocationStatus) -> Int {
        switch status.state {
        case .good: 0
        case .unknown: 1
        case .revoked: 2
        }
    }
}

/// The statuses of a chain's certificates, found when a policy first asks for them.
final class ChainStatuses: Sendable {
    let leaf: StatusCell
    let intermediate: StatusCell

    init(leaf: StatusCell, intermediate: StatusCell) {
        self.leaf = leaf
        self.intermediate = intermediate
    }

    /// What counts now, read without a reference to the cells.
    var current: (leaf: PackedStatus, intermediate: PackedStatus) {
        (leaf.status, intermediate.status)
    }
}

/// A status in 64 bits, so that it is read and written at once. Dates are seconds from 1970 to
/// 2106; others become the nearest of these.
struct PackedStatus: RawRepresentable, Equatable, Sendable {
    let rawValue: UInt64

    static let none = PackedStatus(rawValue: 0)

    /// Two bits of kind, 32 of a date, 30 of what the kind needs beside.
    private enum Kind: UInt64 {
        case none, good, revoked, unknown
    }

    private static let besideBits: UInt64 = 30
    private static let largestBeside: UInt64 = (1 << 30) - 1

    init(rawValue: UInt64) { self.rawValue = rawValue }

    init(_ status: RevocationStatus) {
        func pack(_ kind: Kind, _ date: Timestamp, _ beside: UInt64) -> UInt64 {
            let seconds = UInt64(min(max(date.seconds, 0), Int64(UInt32.max)))
            return kind.rawValue << 62 | seconds << Self.besideBits | beside
        }
        let duration = status.nextUpdate.map { $0.seconds - max(status.thisUpdate.seconds, 0) }
        // The largest value stands for no end.
        let beside = duration.map { UInt64(min(max($0, 0), Int64(Self.largestBeside) - 1)) }
        switch status.state {
        case .good:
            rawValue = pack(.good, status.thisUpdate, beside ?? Self.largestBeside)
        case .unknown:
            rawValue = pack(.unknown, status.thisUpdate, beside ?? Self.largestBeside)
        case .revoked(let date, let reason):
            rawValue = pack(.revoked, date, UInt64(reason.rawValue))
        }
    }

    private var kind: Kind { Kind(rawValue: rawValue >> 62)! }
    private var date: Int64 { Int64(rawValue >> Self.besideBits & UInt64(UInt32.max)) }
    private var beside: UInt64 { rawValue & Self.largestBeside }

    /// What the status says of evidence.
    enum Statement: Equatable {
        case none
        case good(since: Int64, until: Int64?)
        case revoked(at: Int64, CertificateRevocationReason)
        case unknown
    }

    var statement: Statement {
        switch kind {
        case .none: return .none
        case .unknown: return .unknown
        case .good:
            let end = beside == Self.largestBeside ? nil : date + Int64(beside)
            return .good(since: date, until: end)
        case .revoked:
            return .revoked(
                at: date, CertificateRevocationReason(rawValue: UInt8(beside & 0xF)) ?? .unspecified
            )
        }
    }
}
