import Testing

/// Each other file of this target imports one product and uses its public interface. The target
/// has no access to package symbols, so it compiles only what a user of the products can write.
@Suite("Each product is complete on its own")
struct ProductTests {
    private static let now = ServerProduct.now
    private static let evidence = Result { try MintProduct.evidence(at: now) }

    @Test("Assay verifies one item, and a batch")
    func core() throws {
        let verdicts = try CoreProduct.verdicts(of: Self.evidence.get(), at: Self.now)
        #expect(verdicts == ["VALID", "VALID", "MISMATCH"])
    }

    @Test("Assay verifies a receipt as it arrives")
    func stream() throws {
        let bundleId = try CoreProduct.bundleId(of: Self.evidence.get(), at: Self.now)
        #expect(bundleId == MintedEvidence.bundleId)
    }

    @Test("AssayServer serves AssayClient")
    func serverAndClient() async throws {
        let evidence = try Self.evidence.get()
        let path = "/tmp/assay-product-\(UInt64.random(in: 0 ... .max)).sock"
        let server = try ServerProduct(root: evidence.root, at: path)
        let answer = try await ClientProduct.verdict(of: evidence, at: server.address)
        #expect(answer.verdict == "VALID")
        #expect(answer.isServing)
        #expect(try ServerProduct.failsAtUsedAddress(root: evidence.root, at: path))
        #expect(server.stop())
    }

    @Test("AssayServer runs until its task is cancelled")
    func run() async throws {
        let path = "/tmp/assay-product-\(UInt64.random(in: 0 ... .max)).sock"
        let server = try ServerProduct(root: Self.evidence.get().root, at: path)
        let task = Task { await server.run() }
        task.cancel()
        #expect(await task.value)
    }

    @Test("AssayClient reports that no server listens")
    func noServer() async throws { #expect(try await ClientProduct.failsWithoutServer()) }

    @Test("AssayClient and AssayServer accept TLS settings")
    func tls() throws {
        #expect(try ClientProduct.keepsTLS())
        #expect(ServerProduct.unreadableFile() == "/nonexistent")
    }

    @Test("AssayEntitlements decides")
    func entitlements() {
        #expect(EntitlementsProduct.products(at: Self.now) == ["level"])
    }
}
