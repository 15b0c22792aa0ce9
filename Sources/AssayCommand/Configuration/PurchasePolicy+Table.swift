import Assay

extension PurchasePolicy {
    /// Reads `[app.google]` or `[app.huawei]`; notes problems in the table. Accepts nothing without
    /// the table.
    ///
    /// - Parameter name: the member with the keys, each a file or base64.
    init(_ table: ConfigurationTable?, keys name: String, folder: String) {
        self.init()
        guard let table else { return }
        packageNames = table.strings("package-names") ?? []
        let allowsLegacySize = table.bool("allow-1024-bit-keys") ?? false
        let texts = table.strings(name) ?? []
        if texts.isEmpty {
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
