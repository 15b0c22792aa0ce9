import Testing

@testable import AssayServer
@testable import AssayTelemetry
@testable import AssayKeepers

@Suite struct RevocationLocationTests {
    @Test(arguments: [
        ("http://ocsp.apple.com/ocsp03-wwdrg602", "ocsp.apple.com", "/ocsp03-wwdrg602"),
        ("HTTP://OCSP.Apple.com", "ocsp.apple.com", "/"),
        ("http://127.0.0.1:8888/a?b=c", "127.0.0.1:8888", "/a?b=c"),
        ("http://host:80/", "host", "/"),
    ])
    func accepted(text: String, host: String, path: String) throws {
        let location = try #require(RevocationLocation(text))
        #expect(location.host == host && location.path == path)
        #expect(location.url == "http://" + host + path)
    }

    @Test(arguments: [
        "https://ocsp.apple.com/", "ftp://ocsp.apple.com/", "ocsp.apple.com", "http://",
        "http:///a",
        "http://user@ocsp.apple.com/", "http://evil.example\\@ocsp.apple.com/",
        "http://ocsp.apple.com:0/", "http://ocsp.apple.com:99999/", "http://ocsp.apple.com:/",
        "http://ocsp.apple.com:080/", "http://a:1:2/", "http://[::1]/", "http://a b/",
        "http://ocsp.apple.com/a b", "http://ocsp.apple.com/\r\nX: y", "http://ocsp.apple.com/#a",
        "http://ocsp.apple.com?x=y", "http://ocsp.apple.com#x", "http://.apple.com/",
        "http://öcsp.apple.com/", "http://ocsp.apple.com/ö", "http://ocsp.apple.com/a\\b",
        "http://a/" + String(repeating: "a", count: 600),
    ])
    func refused(text: String) { #expect(RevocationLocation(text) == nil) }
}
