// Imports only what a user of the library imports.
import AssayClient
import Testing

@Suite struct InterfaceTests {
    @Test func oneImportIsEnough() async throws {
        let address = try Endpoint("unix:/tmp/assay-no-such.sock")
        var call = VerifyCall(kind: .transaction, expectations: Expectations(bundleId: "a.b"))
        call.returnsPayloadJSON = true
        let client = try AssayClient(address: address)
        do {
            let answer = try await client.verify(Array("a.b.c".utf8), call)
            #expect(answer.verification.verdict == .malformed)
        } catch {
            #expect(error == .connectFailed(.notFound))
            #expect(error.description == "no connection: no such file or folder")
        }
    }
}
