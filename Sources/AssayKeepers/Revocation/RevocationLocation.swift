/// A location in a certificate, as far as a server asks there: plain HTTP, a host by name or IPv4
/// address, a path. The form is strict, so that no two parsers find different hosts in it.
struct RevocationLocation: Hashable, Sendable {
    /// In lower case, with the port if it is not 80: as the allow-list has it.
    let host: String
    /// Begins with a slash.
    let path: String

    var url: String { "http://" + host + path }

    /// Nil for other forms.
    init?(_ text: String) {
        guard text.utf8.count <= RevocationLimits.locationBytes else { return nil }
        let scheme = "http://"
        guard text.prefix(scheme.count).lowercased() == scheme else { return nil }
        let rest = text.dropFirst(scheme.count)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let host = Self.host(String(rest[..<end])) else { return nil }
        let path = rest[end...]
        // Printable ASCII without what ends a path or a request line.
        guard path.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }),
            !path.contains("\\")
        else { return nil }
        self.host = host
        self.path = path.isEmpty ? "/" : String(path)
    }

    /// A host, with a port if it is not 80, in the form in which hosts are compared; nil for
    /// others.
    static func host(_ text: String) -> String? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let name = parts.first, !name.isEmpty,
            name.utf8.allSatisfy(isOfName), name.first != ".", name.first != "-"
        else { return nil }
        let lower = name.lowercased()
        guard parts.count == 2 else { return lower }
        let digits = parts[1]
        guard (1...5).contains(digits.utf8.count), digits.first != "0",
            digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits)
        else { return nil }
        return port == 80 ? lower : "\(lower):\(port)"
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
