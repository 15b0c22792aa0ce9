import AssayIO

/// `[unix]`: the access to the Unix sockets.
struct UnixSettings {
    var access = SocketFileAccess()
    /// The ids of the users that can connect; nil for every user that the file's permissions
    /// admit.
    var allowedUsers: Set<UInt32>?

    init() {}

    /// Reads the table; notes problems in it.
    init(_ table: ConfigurationTable?) {
        guard let table else { return }
        if let text = table.string("mode") {
            if let mode = UInt32(text, radix: 8), mode <= 0o777, mode & 0o600 == 0o600 {
                access.mode = mode
            } else {
                table.note(
                    "mode", "\"\(text)\" is not a file mode",
                    "write octal digits, such as \"0660\", with access for the owner")
            }
        }
        access.owner = table.string("owner").flatMap { name in
            Self.known(SystemAccount.userId(name), name, "owner", "user", table)
        }
        access.group = table.string("group").flatMap { name in
            Self.known(SystemAccount.groupId(name), name, "group", "group", table)
        }
        if let names = table.strings("allowed-users") {
            allowedUsers = Set(
                names.enumerated().compactMap { index, name in
                    Self.known(
                        SystemAccount.userId(name), name, "allowed-users", "user", table,
                        element: index + 1)
                })
            if names.isEmpty {
                table.note(
                    "allowed-users", "empty", "name at least one, or leave the key out")
            }
        }
        table.finish()
    }

    private static func known(
        _ id: UInt32?, _ name: String, _ key: String, _ kind: String, _ table: ConfigurationTable,
        element: Int? = nil
    ) -> UInt32? {
        if id == nil {
            table.note(
                key, "this machine has no \(kind) \"\(name)\"",
                "name an existing one, or write its number",
                element: element)
        }
        return id
    }
}
