import AssayModels
import Synchronization

/// The purpose of an RSA chain, which decides the requirements on its certificates.
package struct RSAChainPurpose: Equatable, Sendable {
    /// Apple's marker extension of the leaf.
    package let leafMarker: CertificateExtensions.Markers
    /// Apple's marker extension of the intermediate.
    package let intermediateMarker: CertificateExtensions.Markers
    package let smallestLeafBits: Int

    /// App receipts, and transaction receipts of version 3.
    package static let receipts = RSAChainPurpose(
        leafMarker: .receiptSigning, intermediateMarker: .worldwideDeveloperRelations,
        smallestLeafBits: Limits.smallestRSAKeyBits)
    /// Transaction receipts of version 2, until 2015: the only purpose that allows a 1024-bit
    /// key.
    package static let purchaseReceipts = RSAChainPurpose(
        leafMarker: .purchaseReceiptSigning, intermediateMarker: .iTunesStore,
        smallestLeafBits: Limits.legacyRSAKeyBits)
}

/// A chain of leaf, intermediate and pinned root. Every link is verified, and every certificate
/// is valid at the effective date of the validation.
final class ValidatedRSAChain: AnchoredChain {
    let leaf: Certificate
    /// Nil when the leaf itself is pinned, for development.
    let intermediate: Certificate?
    let anchor: TrustAnchor
    let leafKey: RSAPublicKey
    let serial: String
    private let revocation: RevocationStatuses
    private let foundStatuses = AtomicLazyReference<ChainStatuses>()

    var isPinnedLeaf: Bool { intermediate == nil }
    var statuses: ChainStatuses? {
        foundStatuses.find(
            in: revocation, leaf: leaf, intermediate: intermediate, root: anchor.certificate)
    }

    fileprivate convenience init(
        _ leaf: Certificate, _ path: RSAChainBuilder.Path, _ leafKey: RSAPublicKey,
        _ links: ValidatedLinks
    ) {
        self.init(
            leaf: leaf, intermediate: path.intermediate, anchor: path.anchor, leafKey: leafKey,
            links)
    }

    fileprivate init(
        leaf: Certificate, intermediate: Certificate?, anchor: TrustAnchor, leafKey: RSAPublicKey,
        _ links: ValidatedLinks
    ) {
        revocation = links.revocation
        self.leaf = leaf
        self.intermediate = intermediate
        self.anchor = anchor
        self.leafKey = leafKey
        serial = leaf.serialText
    }

    /// Whether all of its certificates are valid, in seconds since 1970.
    func isValid(at seconds: Int64) -> Bool {
        leaf.contains(seconds) && intermediate?.contains(seconds) != false
            && anchor.certificate.contains(seconds)
    }
}

/// Finds the path from a leaf to a pinned root.
///
/// Several intermediates share one name, and two (of 2008 and of 2013) share one key. So every
/// candidate with the issuer's name goes through the stages (structure, algorithms, markers,
/// dates, signatures), and the first path that passes all stages is used. If none passes, the
/// refusal comes from the last stage that any path reached.
struct RSAChainBuilder {
    let purpose: RSAChainPurpose
    let trust: TrustStore
    let links: ValidatedLinks
    let unknownChains: UnknownChainPolicy
    var log: CheckLog?

    /// - Parameter bag: the certificates in the evidence, in any order.
    func validate(
        leaf: Certificate, bag: [Certificate], effectiveDate: EffectiveDate
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        if let pin = trust.anchors.first(where: {
            !$0.isApple && $0.certificate.hasBytes(of: leaf)
        }) {
            log?.begin(.pinnedLeaf, found: leaf.text(of: leaf.subject))
            return .validated(try pinned(pin, effectiveDate))
        }
        log?.begin(.leafForm, found: leaf.text(of: leaf.subject))
        // Its certificate also has an extension that no other has.
        if leaf.isOfXcode { throw Refusal(.untrustedChain, EvidenceForm.xcodeText) }
        try leaf.checkForm(as: .leaf)
        log?.begin(.leafUsage)
        try leaf.checkSignsMessages()
        log?.begin(.leafIssuer, found: "\(bag.count) certificates", expected: leaf.issuerText)
        let issuers = try issuers(of: leaf, in: bag)
        if log == nil, let known = known(leaf, issuers, effectiveDate) {
            if let bag = KnownCertificateSet(bag, known, purpose) { links.bags.keep(bag) }
            return .validated(known)
        }
        return try validate(leaf, under: issuers, effectiveDate)
    }

    /// Finds the chain of a known leaf without the other certificates of its issuer's name, which
    /// an attacker can add to a receipt. The result equals that of the full search, because its
    /// root is the first one that any candidate names as its issuer. Returns nil if that is not
    /// certain.
    private func known(
        _ leaf: Certificate, _ issuers: [Certificate], _ effectiveDate: EffectiveDate
    ) -> ValidatedRSAChain? {
        guard let issuer = issuers.first(where: { links.isKnown(leaf, under: $0) }),
            let root = trust.anchors.first(where: { anchor in
                issuers.contains { $0.isIssued(inNameOf: anchor.certificate) }
            }),
            let outcome = try? validate(leaf, under: [issuer], effectiveDate),
            case .validated(let chain) = outcome, chain.anchor.fingerprint == root.fingerprint
        else { return nil }
        return chain
    }

    private func validate(
        _ leaf: Certificate, under issuers: [Certificate], _ effectiveDate: EffectiveDate
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        var paths = try paths(from: issuers)
        log?.begin(.chainAlgorithms, found: leaf.keyText)
        guard let leafKey = leaf.rsaKey(smallestBits: purpose.smallestLeafBits) else {
            throw Refusal(
                .unsupportedAlgorithm,
                "the leaf key is not RSA of \(purpose.smallestLeafBits) to "
                    + "\(Limits.largestRSAKeyBits) bits")
        }
        try leaf.rsaDigest(as: .leaf)
        paths = try passing(paths) { path throws(Refusal) in
            try path.intermediate.rsaDigest(as: .intermediate)
        }
        log?.begin(.leafMarker, leaf, purpose.leafMarker)
        try leaf.checkMarker(purpose.leafMarker, as: .leaf)
        log?.begin(.intermediateMarker, paths[0].intermediate, purpose.intermediateMarker)
        paths = try passing(paths) { path throws(Refusal) in
            try path.intermediate.checkMarker(purpose.intermediateMarker, as: .intermediate)
        }
        log?.begin(.denyList, found: leaf.serialText)
        try trust.checkNotDenied(leaf, as: .leaf)
        paths = try passing(paths) { path throws(Refusal) in
            try trust.checkNotDenied(path.intermediate, as: .intermediate)
            try trust.checkNotDenied(path.anchor)
        }
        log?.begin(.signingDate, found: effectiveDate.text)
        let seconds = try effectiveDate.seconds()
        log?.begin(
            .validity,
            found: "leaf \(leaf.windowText), intermediate \(paths[0].intermediate.windowText)",
            expected: effectiveDate.text)
        try leaf.checkValidity(at: seconds, as: .leaf)
        paths = try passing(paths) { path throws(Refusal) in
            try path.intermediate.checkValidity(at: seconds, as: .intermediate)
            try path.anchor.certificate.checkValidity(at: seconds, as: .root)
        }
        return try signed(leaf, leafKey, paths)
    }

    /// A path from the leaf's issuer up to a root. A class, because each stage copies the paths
    /// that pass: a copy of two certificates retains some forty objects.
    fileprivate final class Path {
        let intermediate: Certificate
        let anchor: TrustAnchor

        init(intermediate: Certificate, anchor: TrustAnchor) {
            self.intermediate = intermediate
            self.anchor = anchor
        }
    }

    /// Validates Xcode's StoreKit testing evidence: one self-signed certificate that an operator
    /// pinned.
    private func pinned(
        _ pin: TrustAnchor, _ effectiveDate: EffectiveDate
    ) throws(Refusal) -> ValidatedRSAChain {
        guard let key = pin.rsaKey else {
            throw Refusal(
                .unsupportedAlgorithm,
                "the pinned leaf key is not RSA of \(Limits.smallestRSAKeyBits) bits")
        }
        try trust.checkNotDenied(pin.certificate, as: .leaf)
        try pin.certificate.checkValidity(at: try effectiveDate.seconds(), as: .leaf)
        return ValidatedRSAChain(
            leaf: pin.certificate, intermediate: nil, anchor: pin, leafKey: key, links)
    }

    /// The certificates whose subject is the leaf's issuer.
    private func issuers(
        of leaf: Certificate, in bag: [Certificate]
    ) throws(Refusal) -> [Certificate] {
        guard bag.count <= Limits.bagCertificates else {
            throw Refusal(
                .invalidChain,
                "the evidence has \(bag.count) certificates; the limit is "
                    + "\(Limits.bagCertificates)")
        }
        var candidates: [Certificate] = []
        for certificates in [bag, trust.intermediates] {
            for certificate in certificates
            where leaf.isIssued(inNameOf: certificate)
                && !candidates.contains(where: { $0.hasBytes(of: certificate) })
            {
                candidates.append(certificate)
            }
        }
        guard !candidates.isEmpty else {
            throw Refusal(
                .untrustedChain,
                "neither the evidence nor the trust store has the certificate named "
                    + "\(leaf.issuerText), which issued the leaf")
        }
        return candidates
    }

    /// The candidates that are allowed to issue certificates, each paired with the pinned roots
    /// whose subject is its issuer.
    private func paths(from issuers: [Certificate]) throws(Refusal) -> [Path] {
        log?.begin(.intermediateForm, found: "\(issuers.count) with the issuer's name")
        let candidates = try passing(issuers) { candidate throws(Refusal) in
            try candidate.checkForm(as: .intermediate)
            try candidate.checkIssues(as: .intermediate, certificatesBelow: 0)
        }
        log?.begin(.rootName, expected: candidates[0].issuerText)
        // Ordered by root: the first root that a path reaches is the one of the verdict.
        let paths = trust.anchors.flatMap { anchor in
            candidates.filter { $0.isIssued(inNameOf: anchor.certificate) }
                .map { Path(intermediate: $0, anchor: anchor) }
        }
        guard !paths.isEmpty else {
            throw Refusal(
                .untrustedChain,
                "no pinned root is named \(candidates[0].issuerText), which issued the "
                    + "intermediate")
        }
        log?.begin(.rootUsage)
        return try passing(paths) { path throws(Refusal) in
            // Version 1 certificates have no extensions to check.
            guard path.anchor.certificate.version == 3 else { return }
            try path.anchor.certificate.checkIssues(as: .root, certificatesBelow: 1)
        }
    }

    /// Verifies the signatures: at most two public-key operations per path, none for known links.
    private func signed(
        _ leaf: Certificate, _ leafKey: RSAPublicKey, _ paths: [Path]
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        log?.begin(
            .signatures, expected: paths.map(\.anchor.fingerprintText).joined(separator: ", "))
        let known = paths.firstIndex { isKnown($0, leaf) }
        if known == 0 { return .validated(ValidatedRSAChain(leaf, paths[0], leafKey, links)) }
        if known == nil {
            let chain = Self.identity(leaf, paths)
            if let refusal = links.refusal(of: chain) { throw refusal }
            if unknownChains == .deferred {
                let isValidated = paths.contains {
                    links.isKnown($0.intermediate, under: $0.anchor.certificate)
                }
                return .deferred(chain.issued(byValidated: isValidated))
            }
        }
        var isAnchored = false
        for path in paths {
            guard let rootKey = path.anchor.rsaKey,
                let key = path.intermediate.rsaKey(smallestBits: Limits.smallestRSAKeyBits),
                links.holds(path.intermediate, under: path.anchor.certificate, rootKey)
            else { continue }
            isAnchored = true
            // Checked only now, so that only leaves under a pinned root's intermediate are kept.
            guard links.holds(leaf, under: path.intermediate, key) else { continue }
            return .validated(ValidatedRSAChain(leaf, path, leafKey, links))
        }
        let refusal =
            isAnchored
            ? Refusal(.invalidChain, "the signature of the leaf is not the intermediate's")
            : Refusal(
                .untrustedChain,
                "the intermediate is not signed by the pinned root named "
                    + paths[0].intermediate.issuerText)
        links.remember(refusal, of: Self.identity(leaf, paths))
        throw refusal
    }

    /// A digest of everything that the signatures depend on. DER includes each certificate's
    /// length.
    private static func identity(_ leaf: Certificate, _ paths: [Path]) -> ChainID {
        var digest = SHA256()
        digest.update(leaf.der.span)
        for path in paths {
            let (intermediate, root) = (path.intermediate, path.anchor.certificate)
            digest.update(intermediate.der.span)
            digest.update(root.der.span)
        }
        return ChainID(digest: digest.finish())
    }

    private func isKnown(_ path: Path, _ leaf: Certificate) -> Bool {
        links.isKnown(path.intermediate, under: path.anchor.certificate)
            && links.isKnown(leaf, under: path.intermediate)
    }
}
