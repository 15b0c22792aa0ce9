import Assay
import AssayCommandLine

extension PurchasePolicy {
    /// Reads `[app.google]` or `[app.huawei]`; notes problems in the table. Accepts nothing without
    /// the table.
    ///
    /// - Parameters:
    ///   - name: the member with the keys, each a file or base64.
    ///   - needsKeys: whether the table is of no use without keys.
    init(
        _ table: ConfigurationTable?, keys name: String, folder: String, needsKeys: Bool = true
    ) {
        self.init()
        guard let table else { return }
        packageNames = table.strings("package-names") ?? []
        let allowsLegacySize = table.bool("allow-1024-bit-keys") ?? false
        let texts = table.strings(name) ?? []
        if texts.isEmpty, needsKeys || table.has(name) {
            table.note(
                name, "missing",
                "write the app's key as the store's console shows it, or the name of a file with it"
            )
        }
        for (index, text) in texts.enumerated() {
            do {
                keys.append(
                    try PurchaseKey(
                        argument: text, allowsLegacySize: allowsLegacySize, folder: folder
                    ) { reason, _ in reason })
            } catch {
                table.note(
                    name, (error as? Failure)?.reason ?? "\(error)",
                    "write the base64 of the app's public key, or the name of a file with it; "
                        + "allow-1024-bit-keys = true accepts keys of 1024 bits",
                    element: index + 1)
            }
        }
        for (index, package) in packageNames.enumerated() where package.isEmpty {
            table.note(
                "package-names", "empty", "write the name of the app's package", element: index + 1)
        }
        table.finish()
    }
}

extension PushPolicy {
    /// Reads what `[app.google]` says about pushes; notes problems in the table.
    ///
    /// - Returns: the policy, and the path of the file with the keys. Without `jwks`, neither.
    static func read(_ table: ConfigurationTable?, folder: String) -> (PushPolicy, String?) {
        guard let table else { return (PushPolicy(), nil) }
        var policy = PushPolicy()
        policy.audiences = table.strings("audiences") ?? []
        policy.serviceAccounts = table.strings("service-accounts") ?? []
        guard let name = table.string("jwks") else {
            for key in ["audiences", "service-accounts"] where table.has(key) {
                table.note(key, "without jwks", "name the file of Google's keys, or leave it out")
            }
            return (PushPolicy(), nil)
        }
        if policy.audiences.isEmpty {
            table.note(
                "audiences", "missing beside jwks",
                "write the audience of the push subscription; without one, it is its URL")
        }
        if policy.serviceAccounts.isEmpty {
            table.note(
                "service-accounts", "missing beside jwks",
                "write the e-mail address of the account that pushes: without it, pushes of any "
                    + "customer of Google's would pass")
        }
        let path = FetchSettings.path(name, folder)
        do {
            policy.keys = try PushKeys(file: path) { Failure($0) }
        } catch {
            table.note(
                "jwks", (error as? Failure)?.reason ?? "\(error)",
                "name a file with https://www.googleapis.com/oauth2/v3/certs")
        }
        return (policy, path)
    }
}
