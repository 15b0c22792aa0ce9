import AssayBytes
import AssayModels

/// Members of other stores' purchases, whose types have varied over the years. A member of another
/// type counts as absent, because the signature holds and no member is needed for it; a state
/// that can't be read is no state.
extension JSONMembers {
    /// A string, or the digits of a number.
    mutating func lenientString(_ name: JSONName) -> String? {
        if let text = try? string(name) { return text }
        guard let raw = text(name), let first = raw.utf8.first, first.isDigit else { return nil }
        return raw
    }

    /// A whole number, or its digits as a string.
    mutating func lenientInt64(_ name: JSONName) -> Int64? {
        if let number = try? int64(name) { return number }
        return (try? string(name)).flatMap { Int64($0) }
    }

    mutating func lenientInt32(_ name: JSONName) -> Int32? {
        lenientInt64(name).flatMap { Int32(exactly: $0) }
    }

    mutating func lenientDate(_ name: JSONName) -> Timestamp? {
        lenientInt64(name).map { Timestamp(milliseconds: $0) }
    }

    /// Whether the member is there, and not as what `read` returns.
    mutating func hasOther<Value>(
        _ name: JSONName, than read: (inout JSONMembers, JSONName) -> Value?
    ) -> Bool {
        text(name) != nil && read(&self, name) == nil
    }

    /// A truth value, also as a string or as 0 and 1.
    mutating func lenientBool(_ name: JSONName) -> Bool? {
        if let value = try? bool(name) { return value }
        switch lenientString(name)?.lowercased() {
        case "true", "1": return true
        case "false", "0": return false
        default: return nil
        }
    }
}
