import Assay
import AssayBytes
import AssayCommandLine
import AssayModels

extension VerificationReport {
    /// The readable report: each check in the documented order, then the main fields.
    func text(of question: Question) -> String {
        var lines = ["\(verification.verdict.name): \(detail)", ""]
        let failed = Check(decidedBy: verification.verdict)
        for check in Check.allCases {
            let (mark, words) = outcome(of: check, failed: failed, question)
            lines.append("  \(mark.padded(to: 4))  \(check.rawValue.padded(to: 14)) \(words)")
        }
        let fields = fields
        if !fields.isEmpty { lines.append("") }
        return (lines + ReportFields.table(fields)).joined(separator: "\n")
    }

    /// The parts of the request that decide which checks a verdict covers.
    struct Question {
        var namesBundle: Bool
        var namesApp: Bool
        /// True for a server, which has a configuration of its own.
        var isRemote: Bool
    }

    /// The result of one check. A check has passed only if the verdict implies it.
    private func outcome(
        of check: Check, failed: Check?, _ question: Question
    ) -> (mark: String, words: String) {
        if let failed {
            if check == failed { return ("FAIL", detail) }
            if check.isAfter(failed) { return ("-", "not reached") }
            // Evidence that is clearly of another kind is refused before any verification.
            if failed == .kind, check.isAfter(.shape) {
                return ("-", "unknown: a wrong kind can be refused before this check")
            }
        }
        switch check {
        case .chain where verification.kind?.traits.hasChain == false:
            return ("pass", "the app has a key of the store")
        case .markers where verification.kind?.traits.hasChain == false,
            .revocation where verification.kind?.traits.hasChain == false:
            return ("-", "not checked: this kind has no certificates")
        case .bundle where verification.kind?.traits.hasBundleId == false:
            return ("-", "not checked: this kind carries no bundle id")
        case .bundle where !question.namesBundle && !question.isRemote:
            return ("-", "not checked: no --bundle-id")
        case .app where verification.kind?.traits.hasAppAppleId == false:
            return ("-", "not checked: this kind carries no App Store id")
        case .app where !question.namesApp && !question.isRemote:
            return ("-", "not checked: no --app-apple-id")
        default: return ("pass", check.meaning)
        }
    }

    /// The detail for a terminal: a server's text can contain line breaks.
    private var detail: String { TerminalText.escaped(verification.detail) }

    private var fields: [(name: String, value: String)] {
        var fields: [(String, String)] = []
        func add(_ name: String, _ value: String?) {
            guard let value else { return }
            fields.append((TerminalText.escaped(name), TerminalText.escaped(value)))
        }
        add("kind", verification.kind?.name)
        add("unwrapped", verification.unwrapped)
        add("environment", verification.environment?.rawValue)
        add("state", verification.state?.rawValue)
        add("dedupKey", verification.dedupKey)
        add("evidenceKey", verification.evidenceKey)
        if let certificate = verification.certificate {
            let state = certificate.expired ? "expired since " : "valid until "
            add(
                "certificate",
                "serial \(certificate.serial), \(state)\(certificate.notAfter.rfc3339)")
        }
        var found = ReportFields()
        for member in members {
            guard let root = member.document?.root else { continue }
            found.add(root, member.name == "payload" ? "" : member.name + ".")
            found.addAttributes(of: root)
            // A Server API answer has lists of payloads.
            guard let elements = root.elements else { continue }
            for (index, element) in elements.enumerated() {
                found.add(element, "\(member.name)[\(index)].")
            }
        }
        return fields + found.shown
    }
}

/// The checks in the order in which the first failure decides (docs/verdicts.md).
private enum Check: String, CaseIterable {
    case shape, algorithm, chain, markers, revocation, dates, signatures, kind, bundle, app
    case environment, expectations

    /// The check that failed; nil when all passed.
    init?(decidedBy verdict: Verdict) {
        switch verdict {
        case .valid: return nil
        case .malformed: self = .shape
        case .unsupportedAlgorithm: self = .algorithm
        case .untrustedChain, .invalidChain: self = .chain
        case .wrongCertificatePurpose: self = .markers
        case .certificateRevoked: self = .revocation
        case .certificateExpired, .invalidDate: self = .dates
        case .invalidSignature: self = .signatures
        case .wrongKind: self = .kind
        case .wrongBundle: self = .bundle
        case .wrongApp: self = .app
        case .wrongEnvironment: self = .environment
        case .mismatch: self = .expectations
        }
    }

    func isAfter(_ other: Check) -> Bool {
        Self.allCases.firstIndex(of: self)! > Self.allCases.firstIndex(of: other)!
    }

    var meaning: String {
        switch self {
        case .shape: "size, encoding and JSON are those of its kind"
        case .algorithm: "the store signs this kind with it"
        case .chain: "the certificates lead to a pinned root"
        case .markers: "the certificates are issued for this purpose"
        case .revocation: "no certificate is on the deny list"
        case .dates: "the date is possible, and all certificates were valid then"
        case .signatures: "every signature verifies"
        case .kind: "the payload is of the requested kind"
        case .bundle: "the bundle is the expected one, if one was named"
        case .app: "the App Store id is the expected one, if one was named"
        case .environment: "the environment is accepted"
        case .expectations: "all other expectations are met"
        }
    }
}
