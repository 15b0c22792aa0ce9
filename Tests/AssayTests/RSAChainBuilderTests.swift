@testable import Assay
import AssayMint
import AssayModels
import Testing

/// The search for a path of RSA, by itself: what evidence's own limits keep from it otherwise.
@Suite struct RSAChainBuilderTests {
    private static let date = EffectiveDate(signed: RSAChainTests.now, now: RSAChainTests.now)

    /// Nil where it validates.
    private static func refusal(
        _ leaf: [UInt8], _ bag: [[UInt8]], root: [UInt8]
    ) throws -> Refusal? {
        let builder = RSAChainBuilder(
            purpose: .receipts, trust: Fixture.trust(root), links: ValidatedLinks(),
            unseen: .validate)
        do throws(Refusal) {
            _ = try builder.validate(
                leaf: try Certificate.parse(leaf, as: .leaf),
                bag: try bag.map { (der) throws(Refusal) in
                    try Certificate.parse(der, as: .intermediate)
                }, effectiveDate: date)
            return nil
        } catch {
            return error
        }
    }

    @Test("line 54: a bag has 16 certificates at most")
    func bag() throws {
        let (leaf, root) = (try MintedRSA.leaf(), try MintedRSA.root())
        let intermediate = try MintedRSA.intermediate()
        for count in [1, 2, Limits.bagCertificates] {
            let bag = [[UInt8]](repeating: leaf, count: count - 1) + [intermediate]
            #expect(try Self.refusal(leaf, bag, root: root) == nil, "\(count)")
        }
        for count in [Limits.bagCertificates + 1, 100] {
            let bag = [intermediate] + [[UInt8]](repeating: leaf, count: count - 1)
            let refusal = try Self.refusal(leaf, bag, root: root)
            #expect(refusal?.verdict == .invalidChain, "\(count)")
            #expect(refusal?.detail.contains("\(count) certificates") == true)
        }
    }

    @Test("line 55: the root is valid at the effective date, to the second")
    func rootValidity() throws {
        let (leaf, intermediate) = (try MintedRSA.leaf(), try MintedRSA.intermediate())
        // A receipt's date has milliseconds, a certificate's seconds.
        let second = RSAChainBuilderTests.date
        let seconds = try second.seconds()
        func at(_ offset: Int64) -> Timestamp {
            Timestamp(milliseconds: (seconds + offset) * 1000)
        }
        for (from, to, verdict) in [
            (-1000, 1000, nil), (-1000, 0, nil), (0, 1000, nil),
            (-1000, -1, .certificateExpired), (1, 1000, .certificateExpired),
        ] as [(Int64, Int64, Verdict?)] {
            let root = try MintedRSA.root {
                $0.notBefore = at(from)
                $0.notAfter = at(to)
            }
            let refusal = try Self.refusal(leaf, [intermediate], root: root)
            #expect(refusal?.verdict == verdict, "\(from) to \(to)")
            if let refusal { #expect(refusal.detail.hasPrefix("the root is valid from ")) }
        }
    }
}
