import Assay
import AssayModels
import TestSupport
import Testing

@testable import AssayCommand

@Suite("Configuration of other stores")
struct StoreConfigurationTests {
    private let folder = TemporaryFolder()

    private typealias Mistake = (text: String, location: String, remedy: String)

    private static let game = """
        [[app]]
        name = "game"
        bundle-id = "com.example.game"
        app-apple-id = 42

        """

    private static let mistakesOfStores: [Mistake] = [
        (Self.game + "[app.google]", "app[1].google.licence-keys: missing", "console"),
        (Self.game + "[app.huawei]\nkeys = []", "app[1].huawei.keys: missing", "console"),
        (
            Self.game + "[app.google]\nlicence-keys = [\"none.txt\"]",
            "app[1].google.licence-keys[1]: can't read", "base64"
        ),
        (
            Self.game + "[app.huawei]\nkeys = [\"assay.toml\"]", "app[1].huawei.keys[1]: it is not",
            "allow-1024-bit-keys"
        ),
        (
            Self.game + "[app.google]\nlicence-keys = [\"x\"]\npackage-names = [\"\"]",
            "app[1].google.package-names[1]: empty", "package"
        ),
        (
            Self.game + "[app.google]\njwks = \"none.json\"",
            "app[1].google.service-accounts: missing", "any customer of Google's"
        ),
        (
            Self.game + "[app.google]\njwks = \"none.json\"",
            "app[1].google.audiences: missing", "the push subscription"
        ),
        (
            Self.game + "[app.google]\njwks = \"assay.toml\"", "app[1].google.jwks: ",
            "oauth2/v3/certs"
        ),
        (
            Self.game + "[app.google]\njwks = \"none.json\"", "app[1].google.jwks: can't read",
            "oauth2/v3/certs"
        ),
        (
            Self.game + "[app.google]\naudiences = [\"a\"]",
            "app[1].google.audiences: without jwks", "leave it out"
        ),
        (
            Self.game + "[app.google]\nlicence-keys = []\njwks = \"a\"",
            "app[1].google.licence-keys: missing", "console"
        ),
        (Self.game + "[app.harmony]", "app[1].harmony.roots: missing", "Huawei CBG Root CA G2"),
        (
            Self.game + "[app.harmony]\nroots = [\"none.pem\"]",
            "app[1].harmony.application-ids: missing", "any app"
        ),
        (
            Self.game + "[app.harmony]\napplication-ids = [\"1\"]\nroots = [\"assay.toml\"]",
            "app[1].harmony.roots[1]: ", "one certificate"
        ),
        (
            Self.game + "[app.google]\nlicense-keys = []", "app[1].google.license-keys: unknown",
            "\"licence-keys\""
        ),
    ]

    @Test("an app of other stores alone needs no app-apple-id; one of the App Store beside does")
    func appAppleId() throws {
        let minted = try Tool.run(["mint", "google-purchase", "--ca", folder("ca")])
        #expect(minted.status == 0, "\(minted.error)")
        let key = folder("ca") + "/google-licence-key.txt"
        let game = "[[app]]\nname = \"game\"\nbundle-id = \"com.example.game\"\n"
        let google = "[app.google]\nlicence-keys = [\"\(key)\"]\n"
        let cases: [(String, isMissing: Bool)] = [
            (game + "environments = [\"Production\"]\n" + google, false),
            (game + "environments = [\"Production\"]\n[app.huawei]\nkeys = [\"\(key)\"]\n", false),
            (game + "environments = [\"Production\"]\n", true),
            (game + "environments = [\"Production\"]\nshared-secret = \"abc\"\n" + google, true),
            (game + "environments = [\"Production\"]\napp-apple-id = 42\n" + google, false),
        ]
        for (text, isMissing) in cases {
            let file = folder.write("assay.toml", text)
            var messages: [String] = []
            do {
                _ = try ServerSettings(flags: .init(config: file), environment: [:])
            } catch let problems as ConfigurationProblems {
                messages = problems.all.map(\.description)
            }
            let names = messages.filter { $0.contains("app-apple-id: missing") }
            #expect(names.count == (isMissing ? 1 : 0), "\(text): \(messages)")
            if !isMissing { #expect(messages.isEmpty, "\(messages)") }
        }
    }

    @Test("each error names its location and the remedy")
    func mistakes() throws {
        for (text, location, remedy) in Self.mistakesOfStores {
            let file = folder.write("assay.toml", text)
            let problems = try #require(throws: ConfigurationProblems.self) {
                try ServerSettings(flags: .init(config: file), environment: [:])
            }
            let messages = problems.all.map(\.description)
            #expect(
                messages.contains { $0.contains("assay.toml: " + location) && $0.contains(remedy) },
                "\(location): \(messages)")
        }
    }
}
