import AssayBytes
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

@testable import Assay

/// x509-limbo: certificates and chains of the web.
///
/// None has Apple's marker extensions, so the verifier refuses every chain. The other rules, with
/// no markers required, must give each case its expected result, except for the listed
/// differences.
@Suite struct LimboTests {
    private struct File: Decodable {
        let testcases: [Case]
    }
    private struct Case: Decodable {
        let id: String
        let expected_result: String
        let trusted_certs: [String]
        let untrusted_intermediates: [String]
        let peer_certificate: String
        let validation_time: String?

        var isExpectedToPass: Bool { expected_result == "SUCCESS" }

        /// Whether this is the name of the case, or of its group.
        func isNamed(_ name: String) -> Bool {
            name == id || name.hasSuffix("::") && id.hasPrefix(name)
        }
    }

    /// The certificates of a case, and the trust store with its roots pinned.
    private struct Material {
        let peer: [UInt8]
        let intermediates: [[UInt8]]
        let roots: [[UInt8]]
        let trust: TrustStore
        let date: Timestamp

        init(_ test: Case) throws {
            func der(_ pem: String) throws -> [UInt8] {
                try PEMDocument.certificate(Array(pem.utf8))
            }
            peer = try der(test.peer_certificate)
            intermediates = try test.untrusted_intermediates.map(der)
            roots = try test.trusted_certs.map(der)
            // A root with an unusable key cannot be pinned.
            trust = roots.reduce(TrustStore.empty) { trust, root in
                (try? trust.pinning(root, development: false)) ?? trust
            }
            date = try test.validation_time.map(LimboTests.date) ?? Fixture.now
        }
    }

    private static func date(_ text: String) throws -> Timestamp {
        let formatter = ISO8601DateFormatter()
        if text.contains(".") { formatter.formatOptions.insert(.withFractionalSeconds) }
        let date = try #require(formatter.date(from: text), "\(text)")
        return Timestamp(milliseconds: Int64((date.timeIntervalSince1970 * 1000).rounded()))
    }

    private static let whole = "limbo-no-bettertls.json"
    private static let files = [whole, "limbo-subset-chain.json"]

    private func cases(in file: String) throws -> [Case] {
        let bytes = try #require(Vectors.bytes("x509-limbo/" + file))
        return try JSONDecoder().decode(File.self, from: Data(bytes)).testcases
    }

    // MARK: With Apple's markers

    @Test(
        "x509-limbo: no chain passes, and none costs a public-key operation",
        .enabled(if: Vectors.has("x509-limbo")), .timeLimit(.minutes(2)), arguments: files)
    func refused(file: String) throws {
        let cases = try cases(in: file)
        var (certificates, chains) = (0, 0)
        for test in cases {
            let material = try Material(test)
            let all = [material.peer] + material.intermediates + material.roots
            // Parsing must not crash; the other test decides which certificates pass.
            for certificate in all { _ = try? Certificate(der: certificate) }
            certificates += all.count
            let known = KnownChains(trust: material.trust)
            for x5c in Self.chains(of: material) {
                let header = Base64URL.encode(
                    MintedJWSHeader(certificates: x5c).json.span)
                #expect(throws: Refusal.self, "\(test.id)") {
                    _ = try known.resolve(
                        header: header.span, effectiveDate: .at(material.date),
                        now: material.date)
                }
                chains += 1
            }
            #expect(known.validations == 0, "\(test.id)")
        }
        try Vectors.report(
            "x509-limbo, \(file): \(certificates) certificates, \(chains) chains", cases.count)
    }

    /// Chains of the case's leaf, intermediates and root, in a few shapes and orders.
    private static func chains(of material: Material) -> [[[UInt8]]] {
        let (peer, between) = (material.peer, material.intermediates)
        let root = material.roots.first ?? peer
        var chains = [[peer], [peer, root], [peer, peer, root], [peer, root, root]]
        chains += between.prefix(10).map { [peer, $0, root] }
        if between.count > 1 { chains.append([between[0], between[1], root]) }
        chains.append([peer] + between.prefix(20) + [root])
        // A pinned certificate alone is trusted.
        return chains.filter { $0.count > 1 || !material.roots.contains($0[0]) }
    }

    // MARK: Without Apple's markers

    @Test(
        "x509-limbo: without markers, every case has its expected outcome",
        .enabled(if: Vectors.has("x509-limbo")), .timeLimit(.minutes(2)), arguments: files)
    func outcomes(file: String) throws {
        let cases = try cases(in: file)
        var seen: Set<String> = []
        for test in cases {
            let difference = Self.differences.first { $0.applies(to: test) }
            let isExpectedToPass =
                difference == nil ? test.isExpectedToPass : !test.isExpectedToPass
            let refusals = Self.refusals(of: try Material(test))
            #expect(
                refusals.isEmpty == isExpectedToPass,
                "\(test.id) (\(difference?.reason ?? test.expected_result)): \(refusals)")
            for reason in Self.reasons where reason.cases.contains(where: test.isNamed) {
                #expect(
                    refusals.contains { $0.detail.contains(reason.text) },
                    "\(test.id) (\(reason.text)): \(refusals)")
                seen.formUnion(reason.cases.filter(test.isNamed))
            }
            seen.formUnion(difference?.cases.filter(test.isNamed) ?? [])
        }
        if file == Self.whole {
            let names = Self.differences.flatMap(\.cases) + Self.reasons.flatMap(\.cases)
            #expect(names.filter { !seen.contains($0) } == [], "names of no case")
        }
        try Vectors.report("x509-limbo, \(file): expected outcomes", cases.count)
    }

    /// Why each chain of the leaf, a possible issuer and a pinned root is refused; empty if one
    /// is accepted. A root can be the issuer, too.
    private static func refusals(of material: Material) -> [Refusal] {
        var refusals: [Refusal] = []
        for issuer in material.intermediates + material.roots {
            do throws(Refusal) {
                // The third entry is not trusted, so any certificate will do.
                let chain = try UnvalidatedChain(
                    x5c: [material.peer, issuer, issuer], trust: material.trust,
                    markers: .init(leaf: [], intermediate: []))
                try chain.checkValidity(at: material.date.seconds)
                let valid = try chain.validate(intermediates: ValidatedIntermediates())
                _ = try valid.valid(at: material.date.seconds)
                return []
            } catch {
                refusals.append(error)
            }
        }
        return refusals
    }

    /// Cases whose outcome is the opposite of the expected result, for one reason. A name that
    /// ends in `::` stands for all cases of its group with that expected result.
    private struct Difference {
        let isExpectedToPass: Bool
        let reason: String
        let cases: [String]
        var exceptions: [String] = []

        func applies(to test: Case) -> Bool {
            test.isExpectedToPass == isExpectedToPass && cases.contains(where: test.isNamed)
                && !exceptions.contains(test.id)
        }

        static func accepts(
            _ reason: String, _ cases: [String], except: [String] = []
        ) -> Difference {
            Difference(isExpectedToPass: false, reason: reason, cases: cases, exceptions: except)
        }

        static func refuses(
            _ reason: String, _ cases: [String], except: [String] = []
        ) -> Difference {
            Difference(isExpectedToPass: true, reason: reason, cases: cases, exceptions: except)
        }
    }

    private static let differences: [Difference] = [
        .accepts("there are no revocation lists, but a deny list", ["crl::"]),
        .accepts("the shape limits the depth", ["pathlen::max-chain-depth-0-exhausted"]),
        .accepts(
            "evidence comes from no server, so names of hosts are not compared",
            ["rfc5280::san::", "webpki::cn::", "webpki::san::"],
            except: ["webpki::san::san-critical-with-nonempty-subject"]),
        .accepts(
            "Apple's markers state the purpose, not extendedKeyUsage",
            ["rfc5280::eku::", "webpki::eku::"], except: ["webpki::eku::ee-critical-eku"]),
        .accepts(
            "issuers are found by name and signature, not by key identifier",
            [
                "rfc5280::aki::leaf-missing-aki", "rfc5280::aki::intermediate-missing-aki",
                "rfc5280::ski::root-missing-ski", "rfc5280::ski::intermediate-missing-ski",
                "webpki::aki::",
            ]),
        .accepts(
            "other extensions that are not critical are not read",
            [
                "rfc5280::nc::not-allowed-in-ee-noncritical",
                "rfc5280::nc::permitted-dns-match-noncritical", "rfc5280::pc::ica-noncritical-pc",
                "webpki::malformed-aia",
            ]),
        .accepts(
            "a pinned root is asked for basicConstraints and keyUsage alone",
            ["rfc5280::nc::excluded-self-issued-leaf"]),
        .accepts(
            "basicConstraints count, critical or not",
            ["rfc5280::root-non-critical-basic-constraints"]),
        .accepts(
            "without the CA flag the bit keyCertSign allows nothing",
            ["rfc5280::leaf-ku-keycertsign"]),
        .refuses(
            "a chain has one intermediate",
            [
                "pathlen::intermediate-pathlen-may-increase", "pathlen::self-issued-certs-pathlen",
                "pathlen::max-chain-depth-1-self-issued",
                "rfc5280::nc::nc-forbids-alternate-chain-ica",
            ]),
        .refuses(
            "the issuer of the intermediate is pinned, not the intermediate",
            ["rfc5280::root-and-intermediate-swapped"]),
        .refuses(
            "a leaf is no certificate authority",
            ["pathlen::validation-ignores-pathlen-in-leaf", "rfc5280::ca-as-leaf"]),
        .refuses(
            "critical name constraints are unknown",
            ["rfc5280::nc::", "webpki::nc::nc-permits-dns-san-pattern"],
            except: [
                "rfc5280::nc::permitted-self-issued", "rfc5280::nc::nc-forbids-same-chain-ica",
            ]),
        .refuses("a critical subjectAltName is unknown", ["cve::cve-2024-0567"]),
        .refuses(
            "StoreKit 2 chains have no RSA keys",
            ["online::", "webpki::cryptographydotio-chain"],
            except: ["online::apple.com", "online::cloudflare.com", "online::akamai.com"]),
    ]

    /// What one of the refusals of these cases says.
    private static let reasons: [(text: String, cases: [String])] = [
        (
            "not at the effective date",
            [
                "rfc5280::validity::expired-root", "rfc5280::validity::expired-intermediate",
                "rfc5280::validity::expired-leaf", "rfc5280::validity::notbefore-fractional",
                "rfc5280::validity::expired-1-second", "rfc5280::validity::expired-5-seconds",
                "rfc5280::validity::not-yet-valid-1-second",
                "rfc5280::validity::not-yet-valid-5-seconds",
            ]
        ),
        ("the serial number is not positive or exceeds 20 octets", ["rfc5280::serial::"]),
        ("occurs twice", ["rfc5280::duplicate-extensions"]),
        (
            "unknown critical extension",
            [
                "rfc5280::unknown-critical-extension-ee",
                "rfc5280::unknown-critical-extension-root",
                "rfc5280::unknown-critical-extension-intermediate", "rfc5280::aki::critical-aki",
                "rfc5280::ski::critical-ski", "rfc5280::ee-critical-aia-invalid",
                "rfc5280::nc::not-allowed-in-ee-critical", "webpki::eku::ee-critical-eku",
                "webpki::san::san-critical-with-nonempty-subject",
            ]
        ),
        (
            "is not a certificate authority",
            ["rfc5280::intermediate-ca-without-ca-bit", "rfc5280::root-missing-basic-constraints"]
        ),
        ("an invalid BIT STRING", ["rfc5280::root-inconsistent-ca-extensions"]),
        (
            "the leaf is a certificate authority",
            [
                "rfc5280::ca-as-leaf-wrong-san", "webpki::ee-basicconstraints-ca",
                "webpki::ca-as-leaf",
            ]
        ),
        (
            "the leaf key is",
            [
                "webpki::forbidden-p192-leaf", "webpki::forbidden-dsa-leaf",
                "webpki::forbidden-weak-rsa-in-leaf",
                "webpki::forbidden-rsa-key-not-divisible-by-8-in-leaf",
            ]
        ),
        ("X.509 v1 certificate", ["webpki::v1-cert"]),
    ]
}
