import AssayBytes
import AssayModels

// What to do about a refusal: the advice for the verdict, and the option or key that would change
// it. What to do about VALID evidence follows from what the customer owns: AssayEntitlements.

extension Explanation {
    /// What to do about a refusal, one sentence or two each, the general advice first. Empty for
    /// VALID.
    package var remedies: [String] {
        guard let (_, step) = failed else { return [] }
        // The detail names the option for a key: there is no root to pin.
        let needsKey = Self.checksOfKeys.contains(step.check)
        var texts = [needsKey ? "Refuse." : verification.verdict.advice]
        switch step.check {
        case .environment: texts.append(acceptingEnvironment(step))
        case .bundle: texts.append(changing("bundle", step, "--bundle-id", "bundle-id"))
        case .app: texts.append(changing("App Store id", step, "--app-apple-id", "app-apple-id"))
        case .rootPurpose:
            texts.append(
                """
                A root of development-roots is never good for Production and Unspecified; \
                evidence of Xcode and LocalTesting needs one.
                """)
        case .signingDate:
            texts.append("The verification is as of \(now.rfc3339); --at sets another time.")
        case .denyList: texts.append("The deny list is denied in the configuration.")
        case .legacyKey:
            texts.append("legacy-key = true of the app entry accepts keys of 1024 bits.")
        case .product, .accountToken, .transaction, .device, .age, .memberExpectations:
            texts += expectation(step.check)
        case .kind, .form, .receipt, .decoding: texts += namingKind
        default: break
        }
        if verification.verdict == .untrustedChain, !needsKey, step.check != .rootPurpose {
            texts.append(pinning)
        }
        if misses(step.check) {
            texts.append(
                """
                An old receipt contains no intermediate certificate: add Apple's with \
                --intermediate FILE, or intermediates of the app entry.
                """)
        }
        return texts
    }

    private func acceptingEnvironment(_ step: Step) -> String {
        let environment = step.found ?? "it"
        var text = "To accept \(environment): --environment \(environment), or environments of "
        text += "the app entry, now \(accepted(step))."
        if [.xcode, .localTesting].contains(StoreEnvironment(rawValue: environment)) {
            text += " Pin its certificate as well: --root FILE, or development-roots."
        }
        return text
    }

    private func changing(_ what: String, _ step: Step, _ option: String, _ key: String) -> String {
        """
        If the \(what) \(step.found ?? "none") is yours: \(option), or \(key) of the app entry, \
        now \(accepted(step)).
        """
    }

    private func accepted(_ step: Step) -> String {
        step.expected.flatMap { $0.isEmpty ? nil : $0 } ?? "none"
    }

    /// The pinned certificates, and how to pin another.
    private var pinning: String {
        let shown = pinned.prefix(Self.mostPinned).joined(separator: "; ")
        let omitted = pinned.count - Self.mostPinned
        let more = omitted > 0 ? " and \(omitted) more" : ""
        return (pinned.isEmpty ? "Nothing is pinned" : "Pinned are \(shown)\(more)")
            + ". To pin another root: --root FILE, or roots of the app entry."
    }

    /// Checks of keys and of what a token says, which no root to pin would pass.
    private static let checksOfKeys: Set<Check> = [
        .storeKey, .tokenKey, .tokenIssuer, .tokenAudience, .tokenSender,
    ]

    /// Apple's roots, and some of tests.
    private static let mostPinned = 8

    /// The parameter that has the expectation.
    private func expectation(_ check: Check) -> [String] {
        let names: (option: String, member: String)? =
            switch check {
            case .product: ("--product-id", "productIds")
            case .accountToken: ("--app-account-token", "appAccountToken")
            case .transaction: ("--transaction-id", "transactionId")
            case .device: ("--device-id", "deviceId")
            case .age: ("--not-older-than", "notOlderThan")
            default: nil
            }
        guard let names else { return [] }
        let who = check == .accountToken ? ["Ask the customer which account bought it."] : []
        return who + [
            """
            The expectation is \(names.option) of assay verify, and expectations.\(names.member) \
            of a request.
            """
        ]
    }

    private var namingKind: [String] {
        guard let likely = inspection.likelyKind, likely != verification.kind else { return [] }
        return ["It looks like \(likely.name): --kind \(likely.name), or --kind auto."]
    }

    /// Whether an intermediate that the evidence lacks explains the failure.
    private func misses(_ check: Check) -> Bool {
        guard check == .leafIssuer || check == .rootName else { return false }
        return verification.kind == .appReceipt || verification.kind == .transactionReceipt
    }
}
