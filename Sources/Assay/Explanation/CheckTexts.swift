import AssayBytes
import AssayModels

// What is compared, as text for explanations. Texts of evidence are shortened.

extension CheckLog {
    /// Begins the check of a marker extension.
    func begin(
        _ check: Check, _ certificate: Certificate, _ marker: CertificateExtensions.Markers
    ) {
        let found = certificate.extensions.markers.name
        begin(check, found: found.isEmpty ? "none" : found, expected: marker.name)
    }
}

extension Certificate {
    var keyText: String { publicKey.kind.text }

    var windowText: String {
        let dates = [notBefore, notAfter].map { CivilTime(secondsSince1970: $0).rfc3339 }
        return dates.joined(separator: " to ")
    }
}

extension TrustAnchor {
    /// The name, and the SHA-256 of the certificate.
    var fingerprintText: String { "\(certificate.subjectCommonName) (\(fingerprint))" }
}

extension EvidenceClaims {
    /// Bundle, app and environment.
    var originText: String {
        var parts = [environment?.rawValue].compactMap(\.self)
        if carriesAppAppleId, let appAppleId { parts.insert("\(appAppleId)", at: 0) }
        if carriesBundleId { parts.insert(quoted(bundleId), at: 0) }
        return parts.joined(separator: ", ")
    }

    /// Begins a check of the policy, if it applies to this evidence.
    func begin(
        _ check: Check, _ policy: Policy, _ expectations: Expectations, _ log: CheckLog
    ) {
        func distinct(_ texts: [String?]) -> String? {
            let texts = texts.compactMap(\.self)
            return texts.isEmpty ? nil : Set(texts).sorted().joined(separator: ", ")
        }
        switch check {
        case .bundle:
            let expected = [policy.bundleId, expectations.bundleId].map { $0.map { quoted($0) } }
            guard carriesBundleId, let expected = distinct(expected) else { return }
            log.begin(check, found: quoted(bundleId), expected: expected)
        case .app:
            let expected = [policy.appAppleId, expectations.appAppleId].map { $0.map { "\($0)" } }
            guard carriesAppAppleId, let expected = distinct(expected) else { return }
            log.begin(check, found: appAppleId.map { "\($0)" } ?? "none", expected: expected)
        default:
            guard environment != nil else { return }
            let accepted = policy.environments.filter {
                expectations.environments.isEmpty || expectations.environments.contains($0)
            }
            log.begin(
                check, found: environment?.rawValue,
                expected: accepted.map(\.rawValue).sorted().joined(separator: ", "))
        }
    }
}
