import AssayHTTP
import Testing

/// The one rule about hosts and origins of the HTTP listener, the admin listener and the local
/// App Store. That each of them asks it is tested beside their other hostile requests.
@Suite("HTTP origin policy")
struct HTTPOriginPolicyTests {
    private static func refusal(
        _ policy: HTTPOriginPolicy, _ host: String?, _ origin: String? = nil,
        site: String? = nil, isReading: Bool = false
    ) -> HTTPOriginPolicy.Refusal? {
        policy.refusal(
            of: .init(host: host, origin: origin, fetchSite: site, isReading: isReading))
    }

    @Test("131: hosts at a loopback address, at an open one, and at a Unix socket")
    func hosts() {
        let loopback = HTTPOriginPolicy(.loopback("127.0.0.1"))
        let named = HTTPOriginPolicy(.loopback("localhost"), hosts: ["known.example"])
        let open = HTTPOriginPolicy(.open("10.0.0.5"))
        let closed = HTTPOriginPolicy(.open("10.0.0.5"), hosts: ["known.example"])
        let table: [(host: String?, served: [Bool])] = [
            // At a loopback address, with a name; at an open address, with a name.
            (nil, [true, true, true, true]), ("", [true, true, true, true]),
            ("localhost", [true, true, true, false]),
            ("LOCALHOST:7445", [true, true, true, false]),
            ("127.0.0.1", [true, true, true, false]), ("127.0.0.1:1", [true, true, true, false]),
            ("127.9.8.7:65535", [true, true, true, false]),
            ("[::1]", [true, true, true, false]), ("[::1]:7445", [true, true, true, false]),
            ("[0:0:0:0:0:0:0:1]", [true, true, true, false]),
            ("known.example:7445", [false, true, true, true]),
            ("KNOWN.example", [false, true, true, true]),
            ("10.0.0.5:7445", [false, false, true, true]),
            ("10.0.0.1", [false, false, true, false]), ("[::2]", [false, false, true, false]),
            ("evil.example", [false, false, true, false]),
            ("evil.example:7445", [false, false, true, false]),
            ("localhost.evil", [false, false, true, false]),
            ("localhost.", [false, false, true, false]),
            ("a.localhost", [false, false, true, false]),
            ("known.example.evil", [false, false, true, false]),
            ("127.0.0.1.evil", [false, false, true, false]),
            ("127.0.0.256", [false, false, true, false]), ("127.1", [false, false, true, false]),
            ("127.0.0.01", [false, false, true, false]), ("127.0.0.", [false, false, true, false]),
            ("[::ffff:127.0.0.1]", [false, false, true, false]),
            // No host at all.
            ("[localhost]", [false, false, false, false]), ("::1", [false, false, false, false]),
            ("[::1].evil", [false, false, false, false]),
            ("[::1]evil", [false, false, false, false]), ("[::1", [false, false, false, false]),
            ("[]", [false, false, false, false]), (":80", [false, false, false, false]),
            ("localhost:x", [false, false, false, false]),
            ("localhost:65536", [false, false, false, false]),
            ("localhost:000080", [false, false, false, false]),
            ("localhost:80:80", [false, false, false, false]),
            ("a b", [false, false, false, false]), ("localhost/", [false, false, false, false]),
            ("user@localhost", [false, false, false, false]),
        ]
        for (host, served) in table {
            for (policy, isServed) in zip([loopback, named, open, closed], served) {
                let refusal = Self.refusal(policy, host, isReading: true)
                #expect((refusal == nil) == isServed, "\(host ?? "none") at \(policy)")
                #expect(refusal == nil || refusal == .host)
            }
            #expect(Self.refusal(HTTPOriginPolicy(.unix), host) == nil)
        }
    }

    @Test("131: origins: none, those that are allowed, and a listener's own pages")
    func origins() {
        let tools: Set = ["https://tools.example"]
        let api = HTTPOriginPolicy(.loopback("127.0.0.1"), allowedOrigins: tools)
        let pages = HTTPOriginPolicy(.loopback("127.0.0.1"), hasPages: true)
        let table: [(origin: String?, site: String?, isReading: Bool, api: Bool, pages: Bool)] = [
            (nil, nil, false, true, true), (nil, "none", false, true, true),
            (nil, "same-origin", false, true, true), (nil, "Same-Origin", false, true, true),
            (nil, "cross-site", false, false, false), (nil, "same-site", false, false, false),
            (nil, "", false, false, false), (nil, "new-word", false, false, false),
            // A link of another site leads to a page.
            (nil, "cross-site", true, false, true),
            ("https://tools.example", "cross-site", false, true, false),
            ("https://tools.example.evil", nil, false, false, false),
            ("https://tools.example:444", nil, false, false, false),
            ("http://tools.example", nil, false, false, false),
            ("null", nil, false, false, false), ("", nil, false, false, false),
            ("http://evil.example", nil, true, false, false),
            ("http://localhost:7444", "same-origin", false, false, true),
            ("https://localhost:7444", nil, false, false, true),
            ("http://localhost", nil, false, false, false),
            ("http://localhost:7444.evil", nil, false, false, false),
            ("http://127.0.0.1:7444", nil, false, false, false),
        ]
        for row in table {
            for (policy, isServed) in [(api, row.api), (pages, row.pages)] {
                let refusal = Self.refusal(
                    policy, "localhost:7444", row.origin, site: row.site,
                    isReading: row.isReading)
                #expect((refusal == nil) == isServed, "\(row)")
                #expect(refusal == nil || refusal == .origin)
            }
        }
        // A rebound page's origin agrees with its host.
        let own = "http://evil.example:7444"
        #expect(Self.refusal(pages, "evil.example:7444", own) == .host)
        #expect(Self.refusal(pages, nil, "http://localhost:7444") == .origin)
    }
}
