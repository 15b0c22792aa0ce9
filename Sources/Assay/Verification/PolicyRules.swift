import AssayBytes
import AssayModels

// Checks policy, then expectations, in the order of Apple's libraries: bundle id, app id,
// environment, then the other expectations. All of them read signed bytes only.

extension EvidenceClaims {
    func check(
        _ policy: Policy, _ expectations: Expectations, chain: some AnchoredChain,
        log: CheckLog? = nil
    ) throws(Refusal) {
        try checkOrigin(policy, expectations, log: log)
        log?.begin(
            .rootPurpose, found: chain.anchor.fingerprintText, expected: environment?.rawValue)
        try checkAnchor(chain)
    }

    /// Checks app and environment.
    func checkOrigin(
        _ policy: Policy, _ expectations: Expectations, log: CheckLog? = nil
    ) throws(Refusal) {
        if let log { begin(.bundle, policy, expectations, log) }
        if let store = StoreFormat.of(kind), !store.apps(policy).isEmpty {
            try checkApp(store, policy)
        } else {
            try checkBundle(policy.bundleId)
        }
        try checkBundle(expectations.bundleId)
        if let log { begin(.app, policy, expectations, log) }
        try checkApp(policy.appAppleId, policy, expectations)
        try checkApp(expectations.appAppleId, policy, expectations)
        // Apple's rule, which the policy follows, applies to Production only. A caller's
        // expectation applies wherever the evidence has an app id.
        if let expected = expectations.appAppleId, let appAppleId, appAppleId != 0 {
            try check(appAppleId, is: expected)
        }
        if let log { begin(.environment, policy, expectations, log) }
        try checkEnvironment(policy, expectations)
    }

    /// Checks the app by the names of another store.
    private func checkApp(_ store: StoreFormat, _ policy: Policy) throws(Refusal) {
        guard carriesBundleId else { return }
        let accepted = store.apps(policy)
        let names = [bundleId, otherBundleId].compactMap(\.self)
        guard names.contains(where: { accepted.contains(where: $0.equalsByBytes) }) else {
            throw Refusal(
                .wrongBundle,
                "the \(store.appWord) is \(quoted(bundleId)), which \(store.appOption) does not "
                    + "name")
        }
    }

    private func checkBundle(_ expected: String?) throws(Refusal) {
        guard carriesBundleId, let expected else { return }
        guard let bundleId else {
            throw Refusal(.wrongBundle, "the \(kind.name) names no bundle, not \(quoted(expected))")
        }
        guard bundleId.equalsByBytes(expected) || otherBundleId?.equalsByBytes(expected) == true
        else {
            throw Refusal(
                .wrongBundle, "the bundle is \(quoted(bundleId)), not \(quoted(expected))")
        }
    }

    private func checkApp(
        _ expected: Int64?, _ policy: Policy, _ expectations: Expectations
    ) throws(Refusal) {
        guard carriesAppAppleId, let expected else { return }
        // In the sandbox an app has no App Store id: Apple omits it or writes 0.
        if environment != .production, appAppleId ?? 0 == 0 { return }
        // Outside of Production the id decides nothing, unless only Production is accepted.
        guard environment == .production || expectations.accepted(of: policy) == [.production]
        else { return }
        guard let appAppleId else {
            throw Refusal(.wrongApp, "the \(kind.name) names no app, not \(expected)")
        }
        try check(appAppleId, is: expected)
    }

    private func check(_ appAppleId: Int64, is expected: Int64) throws(Refusal) {
        guard appAppleId == expected else {
            throw Refusal(.wrongApp, "the app is \(appAppleId), not \(expected)")
        }
    }

    private func checkEnvironment(
        _ policy: Policy, _ expectations: Expectations
    ) throws(Refusal) {
        guard let environment else { return }
        // By comparison: the hash of a text takes longer than all environments.
        guard policy.environments.contains(where: { $0 == environment }),
            expectations.environments.isEmpty || expectations.environments.contains(environment)
        else {
            throw Refusal(
                .wrongEnvironment,
                "the environment is \(quoted(environment.rawValue)), which is not accepted")
        }
    }

    /// Checks that the chain's anchor is allowed to sign evidence of this environment.
    func checkAnchor(_ chain: some AnchoredChain) throws(Refusal) {
        let environment = environment ?? .unspecified
        let isXcode = environment == .xcode || environment == .localTesting
        if chain.isPinnedLeaf, !isXcode {
            throw Refusal(
                .wrongEnvironment,
                "a single pinned certificate signs Xcode and LocalTesting "
                    + "evidence only, not \(quoted(environment.rawValue))")
        }
        if chain.anchor.isApple, isXcode {
            throw Refusal(
                .wrongEnvironment, "Apple's roots do not sign \(environment) evidence")
        }
        let isProduction = environment == .production || environment == .unspecified
        if chain.anchor.development, isProduction {
            throw Refusal(
                .untrustedChain,
                "the root is pinned for development and does not validate "
                    + "\(environment) evidence")
        }
    }

    /// Checks the caller's expectations of this purchase.
    func check(
        _ expectations: Expectations, effectiveDate: Timestamp, log: CheckLog? = nil
    ) throws(Refusal) {
        if !expectations.productIds.isEmpty {
            log?.begin(
                .product, found: quoted(productId),
                expected: expectations.productIds.prefix(8).map(quoted).joined(separator: ", "))
            // All products of a purchase of several: an expected one must not bring another.
            for productId in [productId] + otherProductIds {
                guard let productId,
                    expectations.productIds.contains(where: productId.equalsByBytes)
                else {
                    throw Refusal(.mismatch, wrongProduct(productId, expectations))
                }
            }
        }
        if let expected = expectations.appAccountToken {
            log?.begin(.accountToken, found: quoted(appAccountToken), expected: quoted(expected))
            guard isAccount(expected) else { throw wrongAccount(expected) }
        }
        if let expected = expectations.transactionId {
            log?.begin(.transaction, found: quoted(transactionId), expected: quoted(expected))
            let names = [transactionId, purchaseToken].compactMap(\.self)
            guard names.contains(where: expected.equalsByBytes) else {
                throw Refusal(.mismatch, wrongTransaction(expected))
            }
        }
        if !expectations.deviceIdentifiers.isEmpty || expectations.deviceVerificationId != nil {
            log?.begin(.device)
        }
        try checkDevice(expectations)
        if let oldest = expectations.notOlderThan {
            log?.begin(.age, found: effectiveDate.rfc3339, expected: oldest.rfc3339)
        }
        if let oldest = expectations.notOlderThan, effectiveDate < oldest {
            throw Refusal(
                .mismatch,
                "it was signed at \(effectiveDate.rfc3339), before the oldest date that "
                    + "the caller accepts")
        }
    }
}

extension EvidenceClaims {
    /// Compares the account: a UUID at Apple, the app's own text at other stores.
    private func isAccount(_ expected: String) -> Bool {
        guard let appAccountToken else { return false }
        guard kind.knownStore == .apple else { return appAccountToken.equalsByBytes(expected) }
        return appAccountToken.lowercased() == expected.lowercased()
    }

    /// Why no product is an expected one.
    private func wrongProduct(_ productId: String?, _ expectations: Expectations) -> String {
        guard productId == nil, kind.traits.hasRecords else {
            return "the product is \(quoted(productId)), not an expected one"
        }
        // One record has to meet both.
        return "no record of the receipt has an expected product"
            + (expectations.transactionId.map { " and the transaction id \(quoted($0))" } ?? "")
    }

    private func wrongTransaction(_ expected: String) -> String {
        guard transactionId == nil, purchaseToken == nil else {
            return "the transaction id is \(quoted(transactionId ?? purchaseToken)), not "
                + quoted(expected)
        }
        return kind.traits.hasRecords
            ? "no record of the receipt has the transaction id \(quoted(expected))"
            : "the \(kind.name) has no transaction id, and \(quoted(expected)) is expected"
    }

    private func wrongAccount(_ expected: String) -> Refusal {
        if kind.knownStore != .apple {
            return Refusal(
                .mismatch,
                appAccountToken == nil
                    ? "the \(kind.name) names no account"
                        + (kind.traits.accountMember.map { " (\($0))" } ?? ": it carries none")
                    : "the obfuscatedAccountId is not the expected one")
        }
        if let problem = Expectations(appAccountToken: expected).problem(of: [kind]) {
            return Refusal(.mismatch, problem)
        }
        guard appAccountToken == nil else {
            return Refusal(
                .mismatch, "the app account token is another one than the expected one")
        }
        let reason =
            kind.traits.accountMember != nil
            ? ": the app set none at the purchase"
            : kind.traits.isReceipt ? ": receipts carry none" : ""
        return Refusal(.mismatch, "the \(kind.name) has no app account token" + reason)
    }

    /// Checks the device binding. Evidence without a binding is a mismatch.
    private func checkDevice(_ expectations: Expectations) throws(Refusal) {
        let devices = expectations.deviceIdentifiers
        if !devices.isEmpty {
            guard case .receipt(let binding) = deviceBinding,
                devices.contains(where: { binding.matches($0.span) })
            else {
                throw Refusal(
                    .mismatch,
                    devices.count == 1
                        ? "the receipt is not bound to the expected device"
                        : "the receipt is bound to none of the expected devices")
            }
        }
        if let identifier = expectations.deviceVerificationId {
            guard case .verification(let binding) = deviceBinding,
                binding.matches(deviceVerificationId: identifier)
            else {
                throw Refusal(
                    .mismatch, "the \(kind.name) is not bound to the expected device")
            }
        }
    }
}

extension Expectations {
    /// The devices of an app receipt, one of which is enough.
    package var deviceIdentifiers: [[UInt8]] {
        guard let deviceIdentifier else { return otherDeviceIdentifiers }
        return [deviceIdentifier] + otherDeviceIdentifiers
    }

    /// The environments that both policy and caller accept.
    fileprivate func accepted(of policy: Policy) -> Set<StoreEnvironment> {
        environments.isEmpty ? policy.environments : policy.environments.intersection(environments)
    }
}

/// Formats text for messages: in quotation marks, shortened, without control characters.
func quoted(_ text: String?) -> String {
    guard let text else { return "none" }
    let printable = text.unicodeScalars.prefix(100).map { scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: "?"
        default: String(scalar)
        }
    }
    return "\"" + printable.joined() + "\""
}
