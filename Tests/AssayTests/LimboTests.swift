@testable import Assay
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// x509-limbo: certificates and chains of the web, with their own root pinned. None has Apple's
/// marker extensions, so all must be rejected, quickly and without a crash.
@Suite struct LimboTests {
    private struct File: Decodable {
        let testcases: [Case]
    }
    private struct Case: Decodable {
        let id: String
        let trusted_certs: [String]
        let untrusted_intermediates: [String]
        let peer_certificate: String
        let validation_time: String?
    }

    private func der(_ pem: String) throws -> [UInt8] {
        try Assay::PEM.certificate(Array(pem.utf8))
    }

    @Test(
        "x509-limbo: never valid, never a crash, never long",
        .enabled(if: Vectors.has("x509-limbo")),
        .timeLimit(.minutes(2)),
        arguments: ["limbo-no-bettertls.json", "limbo-subset-chain.json"])
    func limbo(file: String) throws {
        let bytes = try #require(Vectors.bytes("x509-limbo/" + file))
        let cases = try JSONDecoder().decode(File.self, from: Data(bytes)).testcases
        let clock = ContinuousClock()
        var (parsed, refused, chains) = (0, 0, 0)
        for test in cases {
            let peer = try der(test.peer_certificate)
            let between = try test.untrusted_intermediates.map(der)
            let roots = try test.trusted_certs.map(der)
            var trust = TrustStore.empty
            for root in roots {
                if let more = try? trust.pinning(root, development: false) { trust = more }
            }
            for certificate in [peer] + between + roots {
                let time = clock.measure {
                    if (try? Certificate(der: certificate)) == nil {
                        refused += 1
                    } else {
                        parsed += 1
                    }
                }
                #expect(time < .seconds(1), "\(test.id)")
            }
            for (index, verdict) in verdicts(test, peer, between, roots, trust).enumerated() {
                #expect(verdict != .valid, "\(test.id), chain \(index)")
                chains += 1
            }
        }
        try Vectors.report(
            "\(file): \(parsed) certificates parsed, \(refused) refused; chains", chains)
    }

    /// Returns the verdicts on chains of the case's leaf, intermediates and root, in a few
    /// orders.
    private func verdicts(
        _ test: Case, _ peer: [UInt8], _ between: [[UInt8]], _ roots: [[UInt8]], _ trust: TrustStore
    ) -> [Verdict] {
        let root = roots.first ?? peer
        var x5cs = [[peer], [peer, root], [peer, peer, root], [peer, root, root]]
        x5cs += between.prefix(10).map { [peer, $0, root] }
        if between.count > 1 { x5cs.append([between[0], between[1], root]) }
        x5cs.append([peer] + between.prefix(20) + [root])
        let known = KnownChains(trust: trust)
        let date = test.validation_time.flatMap { ISO8601DateFormatter().date(from: $0) }
        let seconds = date.map { Int64($0.timeIntervalSince1970) } ?? Fixture.now.seconds
        let now = Timestamp(milliseconds: seconds * 1000)
        let clock = ContinuousClock()
        return x5cs.filter { !roots.contains($0[0]) || $0.count > 1 }.map { x5c in
            let json = AssayMint::JWSHeader(certificates: x5c).json
            let header = Base64URL.encode(json.span)
            var verdict = Verdict.valid
            let time = clock.measure {
                do throws(Refusal) {
                    _ = try known.resolve(header: header.span, effectiveDate: .at(now), now: now)
                } catch {
                    verdict = error.verdict
                }
            }
            #expect(time < .seconds(1), "\(test.id)")
            return verdict
        }
    }
}
