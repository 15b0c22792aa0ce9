import AssayIO
import AssayStore

extension StoreKey {
    /// Reads a key and its identifiers from a table; notes problems in it. Nil if there are some.
    ///
    /// - Parameters:
    ///   - name: the key of the table with the .p8 file.
    ///   - page: the documentation of that file.
    init?(_ table: ConfigurationTable, file name: String, folder: String, page: String) {
        let file = Self.text(table, name, "name the .p8 file of App Store Connect")
        let keyId = table.string("key-id") ?? file.flatMap(StoreKeyNames.keyId(inName:))
        let issuerId = Self.text(table, "issuer-id", "write that of App Store Connect, a UUID")
        if file != nil, keyId == nil {
            table.note("key-id", "missing", "write the key's id, of ten letters and digits")
        }
        let isGood = [
            Self.check(table, "key-id", keyId, Self.check(keyId:)),
            Self.check(table, "issuer-id", issuerId, Self.check(issuerId:)),
        ]
        guard let file, let keyId, let issuerId, !isGood.contains(false) else { return nil }
        CoreDumps.forbid()
        do throws(StoreError) {
            try self.init(file: FetchSettings.path(file, folder), keyId: keyId, issuerId: issuerId)
        } catch {
            table.note(name, error.description, "see \(page), The key")
            return nil
        }
    }

    private static func text(
        _ table: ConfigurationTable, _ name: String, _ remedy: String
    ) -> String? {
        if let text = table.string(name), !text.isEmpty { return text }
        table.note(name, "missing", remedy)
        return nil
    }

    /// Returns false for a value that is there and has another form than Apple's.
    private static func check(
        _ table: ConfigurationTable, _ name: String, _ text: String?,
        _ rule: (String) throws(StoreError) -> Void
    ) -> Bool {
        guard let text else { return true }
        do throws(StoreError) {
            try rule(text)
            return true
        } catch {
            table.note(name, error.description, "copy it from App Store Connect")
            return false
        }
    }
}
