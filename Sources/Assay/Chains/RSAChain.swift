import AssayModels

/// What a chain of RSA signs, and so what its certificates have to be.
package struct RSAChainPurpose: Equatable, Sendable {
    /// Apple's marker extension of the leaf.
    package let leafMarker: CertificateExtensions.Markers
    /// Apple's marker extension of the intermediate.
    package let intermediateMarker: CertificateExtensions.Markers
    package let smallestLeafBits: Int

    /// App receipts and transaction receipts of version 3.
    package static let receipts = RSAChainPurpose(
        leafMarker: .receiptSigning, intermediateMarker: .worldwideDeveloperRelations,
        smallestLeafBits: Limits.smallestRSAKeyBits)
    /// Transaction receipts of version 2, until 2015: the one purpose of a key of 1024 bits.
    package static let purchaseReceipts = RSAChainPurpose(
        leafMarker: .purchaseReceiptSigning, intermediateMarker: .iTunesStore,
        smallestLeafBits: Limits.legacyRSAKeyBits)
}

/// Leaf ← intermediate ← pinned root, every link verified and every certificate valid at the
/// effective date that it was built for.
final class ValidatedRSAChain: AnchoredChain {
    let leaf: Certificate
    /// Nil: the leaf is itself pinned, for development.
    let intermediate: Certificate?
    let anchor: TrustAnchor
    let leafKey: RSAPublicKey
    let serial: String

    var isPinnedLeaf: Bool { intermediate == nil }

    fileprivate convenience init(
        _ leaf: Certificate, _ path: RSAChainBuilder.Path, _ leafKey: RSAPublicKey
    ) {
        self.init(
            leaf: leaf, intermediate: path.intermediate, anchor: path.anchor, leafKey: leafKey)
    }

    fileprivate init(
        leaf: Certificate, intermediate: Certificate?, anchor: TrustAnchor, leafKey: RSAPublicKey
    ) {
        self.leaf = leaf
        self.intermediate = intermediate
        self.anchor = anchor
        self.leafKey = leafKey
        serial = leaf.serialText
    }
}

/// Finds the path from a leaf to a pinned root.
///
/// Several intermediates share one name, and two of them (of 2008 and of 2013) one key: so every
/// candidate that bears the issuer's name is carried through the stages (structure,
/// algorithms, markers, dates, signatures), and the first that passes all of them is the one. Where
/// none passes, the refusal is that of the last stage that any of them reached.
struct RSAChainBuilder {
    let purpose: RSAChainPurpose
    let trust: TrustStore
    let links: ValidatedLinks
    let unknownChains: UnknownChainPolicy

    /// - Parameter bag: certificates that came with the evidence, in any order.
    func validate(
        leaf: Certificate, bag: [Certificate], effectiveDate: EffectiveDate
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        if let pin = trust.anchors.first(where: {
            !$0.isApple && $0.certificate.hasBytes(of: leaf)
        }) {
            return .validated(try pinned(pin, effectiveDate))
        }
        try leaf.checkForm(as: .leaf)
        try leaf.checkSignsMessages()
        let issuers = try issuers(of: leaf, in: bag)
        if let known = known(leaf, issuers, effectiveDate) { return .validated(known) }
        return try validate(leaf, under: issuers, effectiveDate)
    }

    /// The chain of a known leaf, without a look at what else has its issuer's name: anybody can
    /// add that to a receipt. The answer is what all of them together would get, because the first
    /// root that any of them names is the one that is found; nil where that is not certain.
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
        try leaf.checkMarker(purpose.leafMarker, as: .leaf)
        paths = try passing(paths) { path throws(Refusal) in
            try path.intermediate.checkMarker(purpose.intermediateMarker, as: .intermediate)
        }
        try trust.checkNotDenied(leaf, as: .leaf)
        paths = try passing(paths) { path throws(Refusal) in
            try trust.checkNotDenied(path.intermediate, as: .intermediate)
            try trust.checkNotDenied(path.anchor)
        }
        let seconds = try effectiveDate.seconds()
        try leaf.checkValidity(at: seconds, as: .leaf)
        paths = try passing(paths) { path throws(Refusal) in
            try path.intermediate.checkValidity(at: seconds, as: .intermediate)
            try path.anchor.certificate.checkValidity(at: seconds, as: .root)
        }
        return try signed(leaf, leafKey, paths)
    }

    /// One way up from the leaf.
    fileprivate struct Path {
        let intermediate: Certificate
        let anchor: TrustAnchor
    }

    /// Xcode's StoreKit testing: one self-made certificate, which an operator pinned.
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
            leaf: pin.certificate, intermediate: nil, anchor: pin, leafKey: key)
    }

    /// The certificates that bear the name of the leaf's issuer.
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

    /// Those that may issue certificates, each with the pinned roots that bear the name of its
    /// issuer.
    private func paths(from issuers: [Certificate]) throws(Refusal) -> [Path] {
        let candidates = try passing(issuers) { candidate throws(Refusal) in
            try candidate.checkForm(as: .intermediate)
            try candidate.checkIssues(as: .intermediate, certificatesBelow: 0)
        }
        // Root by root: see `tries`.
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
        return try passing(paths) { path throws(Refusal) in
            // A root of version 1 has no extensions to say so.
            guard path.anchor.certificate.version == 3 else { return }
            try path.anchor.certificate.checkIssues(as: .root, certificatesBelow: 1)
        }
    }

    /// The public-key operations: two for each path at most, none for links known to hold.
    private func signed(
        _ leaf: Certificate, _ leafKey: RSAPublicKey, _ paths: [Path]
    ) throws(Refusal) -> ChainOutcome<ValidatedRSAChain> {
        let known = paths.firstIndex { isKnown($0, leaf) }
        if known == 0 { return .validated(ValidatedRSAChain(leaf, paths[0], leafKey)) }
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
        for path in Self.tries(paths, known: known) {
            guard let rootKey = path.anchor.rsaKey,
                let key = path.intermediate.rsaKey(smallestBits: Limits.smallestRSAKeyBits),
                links.holds(path.intermediate, under: path.anchor.certificate, rootKey)
            else { continue }
            isAnchored = true
            // Asked for only now, so that only what a pinned root's intermediate signed is kept.
            guard links.holds(leaf, under: path.intermediate, key) else { continue }
            return .validated(ValidatedRSAChain(leaf, path, leafKey))
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

    /// The paths whose signatures decide. The answer tells the root, and not the intermediate: so
    /// the first root that any path reaches is found, and no other path to the root of a known one
    /// is tried. Intermediates that anybody adds to a receipt of a known leaf cost no signature.
    private static func tries(_ paths: [Path], known: Int?) -> [Path] {
        guard let known else { return paths }
        let root = paths[known].anchor.fingerprint
        return paths[..<known].filter { $0.anchor.fingerprint != root } + [paths[known]]
    }

    /// All that its signatures depend on, each certificate with its length within it.
    private static func identity(_ leaf: Certificate, _ paths: [Path]) -> ChainID {
        var digest = SHA256()
        digest.update(leaf.der.span)
        for path in paths {
            digest.update(path.intermediate.der.span)
            digest.update(path.anchor.certificate.der.span)
        }
        return ChainID(digest: digest.finish().octets.span.array)
    }

    private func isKnown(_ path: Path, _ leaf: Certificate) -> Bool {
        links.isKnown(path.intermediate, under: path.anchor.certificate)
            && links.isKnown(leaf, under: path.intermediate)
    }
}
