import AssayModels
import Synchronization

/// A parsed chain from evidence. It has the right shape, and a pinned root has its issuer's name.
/// No signature is checked yet.
struct UnvalidatedChain: Sendable {
    let leaf: Certificate
    /// Nil when the leaf itself is pinned and is alone in x5c.
    let intermediate: Certificate?
    /// The pinned roots whose subject is the intermediate's issuer, or the pinned leaf itself.
    let candidates: [TrustAnchor]
}

/// A chain that reaches a pinned root, with keys of any type.
protocol AnchoredChain: Sendable {
    var leaf: Certificate { get }
    var anchor: TrustAnchor { get }
    /// The leaf's serial number, in lower-case hexadecimal.
    var serial: String { get }
    /// Whether the leaf itself is pinned, for development.
    var isPinnedLeaf: Bool { get }
    /// The revocation statuses of leaf and intermediate; nil if the leaf itself is pinned. The
    /// first use registers the chain as validated.
    var statuses: ChainStatuses? { get }
}

/// A chain that is verified link by link up to a pinned root. It is not "valid now": each
/// verification compares its windows with the effective date of the evidence.
final class ValidatedChain: AnchoredChain {
    let certificates: UnvalidatedChain
    let anchor: TrustAnchor
    let leafKey: PublicKey
    let serial: String
    /// The seconds at which all of its certificates are valid. Nil when there are none.
    private let window: ClosedRange<Int64>?
    /// The same chain under other pinned roots with the anchor's name and key, which are renewals
    /// of one root.
    private let renewals: [ValidatedChain]
    private let revocation: RevocationStatuses
    private let foundStatuses = AtomicLazyReference<ChainStatuses>()

    /// - Parameters:
    ///   - anchors: one or more roots with one name and key, all of which verify the chain.
    ///   - revocation: the statuses of its certificates.
    convenience init(
        _ certificates: UnvalidatedChain, anchors: [TrustAnchor], leafKey: PublicKey,
        revocation: RevocationStatuses
    ) {
        let renewals = anchors.dropFirst().map {
            ValidatedChain(
                certificates, anchor: $0, leafKey: leafKey, renewals: [], revocation: revocation)
        }
        self.init(
            certificates, anchor: anchors[0], leafKey: leafKey, renewals: renewals,
            revocation: revocation)
    }

    private init(
        _ certificates: UnvalidatedChain, anchor: TrustAnchor, leafKey: PublicKey,
        renewals: [ValidatedChain], revocation: RevocationStatuses
    ) {
        self.certificates = certificates
        self.anchor = anchor
        self.leafKey = leafKey
        self.renewals = renewals
        self.revocation = revocation
        serial = certificates.leaf.serialText
        let all =
            [certificates.leaf, anchor.certificate] + [certificates.intermediate].compactMap(\.self)
        let first = all.map(\.notBefore).max() ?? .max
        let last = all.map(\.notAfter).min() ?? .min
        window = first <= last ? first...last : nil
    }

    /// The same chain, in objects that nobody else refers to.
    var copy: ValidatedChain { ValidatedChain(copying: self) }

    private init(copying chain: ValidatedChain) {
        certificates = chain.certificates
        anchor = chain.anchor
        leafKey = PublicKey(sharing: chain.leafKey)
        serial = String(decoding: chain.serial.utf8, as: UTF8.self)
        window = chain.window
        renewals = chain.renewals.map(\.copy)
        revocation = chain.revocation
    }

    var leaf: Certificate { certificates.leaf }
    var isPinnedLeaf: Bool { certificates.intermediate == nil }
    var statuses: ChainStatuses? {
        foundStatuses.find(
            in: revocation, leaf: leaf, intermediate: certificates.intermediate,
            root: anchor.certificate)
    }
    /// The last second at which the chain is valid under any of its roots.
    var lastValid: Int64 { ([self] + renewals).compactMap(\.window?.upperBound).max() ?? 0 }

    /// Returns this chain under a root that is valid at that second.
    func valid(at seconds: Int64) throws(Refusal) -> ValidatedChain {
        if let window, window.contains(seconds) { return self }
        for renewal in renewals where renewal.window?.contains(seconds) == true { return renewal }
        try certificates.checkValidity(at: seconds)
        // Leaf, intermediate and a candidate root are valid then, but no root that signed the
        // intermediate is.
        try anchor.certificate.checkValidity(at: seconds, as: .root)
        return self
    }
}

extension UnvalidatedChain {
    /// The marker extensions that the certificates of a chain must have.
    struct Markers: Sendable {
        let leaf: CertificateExtensions.Markers
        let intermediate: CertificateExtensions.Markers

        static let appStore = Markers(
            leaf: .receiptSigning, intermediate: .worldwideDeveloperRelations)
        /// Huawei's documentation names a marker of the leaf alone.
        static let harmony = Markers(leaf: .harmonySigning, intermediate: [])
    }

    /// Parses the x5c of RFC 7515, section 4.1.6, as Apple fills it: leaf, intermediate, root.
    ///
    /// The third entry has to be present. It is never trusted and never becomes an anchor.
    /// - Parameters:
    ///   - markers: others than the App Store's only for tests of the other rules.
    ///   - isOfXcode: whether the header names Xcode's key.
    init(
        x5c: [[UInt8]], trust: TrustStore, markers: Markers = .appStore, isOfXcode: Bool = false,
        log: CheckLog? = nil
    ) throws(Refusal) {
        guard x5c.count == Limits.x5cCertificates else {
            self = try Self.pinnedLeaf(x5c, trust, isOfXcode: isOfXcode, log)
            return
        }
        log?.begin(.certificates)
        let leaf = try Certificate.parse(x5c[0], as: .leaf)
        let intermediate = try Certificate.parse(x5c[1], as: .intermediate)
        try Self.checkIsOneElement(x5c[2])

        log?.begin(.leafForm, found: leaf.text(of: leaf.subject))
        try leaf.checkForm(as: .leaf)
        log?.begin(.intermediateForm, found: intermediate.text(of: intermediate.subject))
        try intermediate.checkForm(as: .intermediate)
        log?.begin(.leafUsage)
        try leaf.checkSignsMessages()
        log?.begin(.intermediateUsage)
        try intermediate.checkIssues(as: .intermediate, certificatesBelow: 0)
        log?.begin(
            .leafIssuer, found: intermediate.text(of: intermediate.subject),
            expected: leaf.text(of: leaf.issuer))
        guard leaf.der[leaf.issuer] == intermediate.der[intermediate.subject] else {
            throw Refusal(.invalidChain, "the issuer of the leaf is not the intermediate's subject")
        }
        log?.begin(.rootName, expected: intermediate.text(of: intermediate.issuer))
        var candidates = trust.anchors.filter {
            $0.certificate.der[$0.certificate.subject] == intermediate.der[intermediate.issuer]
        }
        guard !candidates.isEmpty else {
            throw Refusal(
                .untrustedChain,
                "no pinned root is named \(intermediate.issuerText), which issued the "
                    + "intermediate")
        }
        log?.begin(.rootUsage)
        candidates = try passing(candidates) { candidate throws(Refusal) in
            guard candidate.certificate.version == 3 else { return }
            try candidate.certificate.checkIssues(as: .root, certificatesBelow: 1)
        }
        log?.begin(.chainAlgorithms, found: "\(leaf.keyText) under \(intermediate.keyText)")
        try Self.checkAlgorithms(leaf, intermediate)
        log?.begin(.leafMarker, leaf, markers.leaf)
        try leaf.checkMarker(markers.leaf, as: .leaf)
        log?.begin(.intermediateMarker, intermediate, markers.intermediate)
        try intermediate.checkMarker(markers.intermediate, as: .intermediate)
        log?.begin(.denyList, found: leaf.serialText)
        try trust.checkNotDenied(leaf, as: .leaf)
        try trust.checkNotDenied(intermediate, as: .intermediate)
        candidates = try passing(candidates) { candidate throws(Refusal) in
            try trust.checkNotDenied(candidate)
        }
        self.init(leaf: leaf, intermediate: intermediate, candidates: candidates)
    }

    /// Accepts the chain of Xcode's StoreKit testing: one self-signed certificate that an
    /// operator pinned.
    private static func pinnedLeaf(
        _ x5c: [[UInt8]], _ trust: TrustStore, isOfXcode: Bool, _ log: CheckLog?
    ) throws(Refusal) -> UnvalidatedChain {
        guard x5c.count == 1,
            let pin = trust.anchors.first(where: { !$0.isApple && $0.certificate.der == x5c[0] })
        else {
            if x5c.count == 1,
                isOfXcode || (try? Certificate(der: x5c[0]))?.isOfXcode == true
            {
                throw Refusal(.untrustedChain, EvidenceForm.xcodeText)
            }
            throw Refusal(
                .invalidChain,
                "x5c has \(x5c.count) certificates, not \(Limits.x5cCertificates), or 1 that is "
                    + "itself pinned")
        }
        log?.begin(.pinnedLeaf, found: pin.certificate.text(of: pin.certificate.subject))
        try pin.certificate.checkKey(.leaf, isOn: [.p256])
        try trust.checkNotDenied(pin.certificate, as: .leaf)
        return UnvalidatedChain(leaf: pin.certificate, intermediate: nil, candidates: [pin])
    }

    private static func checkIsOneElement(_ der: [UInt8]) throws(Refusal) {
        do throws(DERError) {
            var reader = DERReader(der.span)
            _ = try reader.read(.sequence)
            try reader.atEnd()
        } catch {
            throw Refusal(
                .malformed, "the root certificate in x5c is not valid DER: " + error.description)
        }
    }

    private static func checkAlgorithms(
        _ leaf: Certificate, _ intermediate: Certificate
    ) throws(Refusal) {
        try leaf.checkKey(.leaf, isOn: [.p256])
        try intermediate.checkKey(.intermediate, isOn: [.p256, .p384])
        _ = try leaf.ecdsaDigest(as: .leaf)
        _ = try intermediate.ecdsaDigest(as: .intermediate)
    }

    /// The validity windows alone, without the certificates.
    var windows: ChainWindows {
        ChainWindows(
            leaf: leaf.window, intermediate: intermediate?.window,
            roots: candidates.map(\.certificate.window))
    }

    func checkValidity(at seconds: Int64) throws(Refusal) { try windows.check(at: seconds) }

    func checkValidity(at date: EffectiveDate, log: CheckLog?) throws(Refusal) {
        log?.begin(.signingDate, found: date.text)
        let seconds = try date.seconds()
        log?.begin(
            .validity,
            found: "leaf \(leaf.windowText)"
                + (intermediate.map { ", intermediate \($0.windowText)" } ?? ""),
            expected: date.text)
        try checkValidity(at: seconds)
    }

    /// Verifies the signatures: one public-key operation for each distinct key of the candidate
    /// roots, and one for the leaf.
    ///
    /// - Parameter intermediates: a cache. An intermediate in it costs no public-key operation.
    func validate(
        intermediates: ValidatedIntermediates, log: CheckLog? = nil
    ) throws(Refusal) -> ValidatedChain {
        log?.begin(.leafKey, found: leaf.keyText)
        guard let leafKey = leaf.ecKey else {
            throw Refusal(.invalidChain, "the key of the leaf is not a point of P-256")
        }
        guard let intermediate else {
            return ValidatedChain(
                self, anchors: candidates, leafKey: leafKey, revocation: intermediates.revocation)
        }
        log?.begin(
            .rootSignature, expected: candidates.map(\.fingerprintText).joined(separator: ", "))
        let issuer = try intermediates.validate(intermediate, under: candidates)
        log?.begin(.leafSignature, expected: intermediate.keyText)
        let digest = try leaf.ecdsaDigest(as: .leaf)
        let tables = intermediates.tables
        // Also of a forged leaf: a flood of them costs less with a table.
        tables.noteUse(of: issuer.key)
        guard leaf.isSigned(by: issuer.key, digest: digest, tables: tables) else {
            throw Refusal(
                .invalidChain, "the signature of the leaf is not the intermediate's")
        }
        return ValidatedChain(
            self, anchors: issuer.anchors, leafKey: leafKey, revocation: intermediates.revocation)
    }
}

/// The part of a refused chain that is kept: its windows, so that another date can be checked.
struct ChainWindows: Sendable {
    let leaf: CertificateWindow
    let intermediate: CertificateWindow?
    let roots: [CertificateWindow]

    /// Checks that leaf, intermediate and at least one root are valid at that second.
    func check(at seconds: Int64) throws(Refusal) {
        try leaf.check(at: seconds, as: .leaf)
        try intermediate?.check(at: seconds, as: .intermediate)
        if !roots.contains(where: { $0.contains(seconds) }) {
            try roots[0].check(at: seconds, as: .root)
        }
    }
}
