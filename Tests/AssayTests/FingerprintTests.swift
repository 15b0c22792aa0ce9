import Assay
import Testing

@Suite struct FingerprintTests {
    private static let digits = String(repeating: "0123456789abcdef", count: 4)

    @Test(arguments: [
        digits, digits.uppercased(),
        stride(from: 0, to: 64, by: 2).map { String(Array(digits)[$0..<$0 + 2]) }
            .joined(separator: ":"),
    ])
    func isReadAsPeopleWriteIt(text: String) {
        #expect(Fingerprint(text)?.description == Self.digits)
    }

    @Test(arguments: [
        "", ":", "\(digits.dropLast())", "\(digits)0", "\(digits.dropLast())g",
        "\(digits.dropLast()) ", "\(digits.dropLast())é", "sha256:\(digits)",
        String(repeating: "0", count: 40),
    ])
    func invalidFingerprintsAreReported(text: String) {
        #expect(Fingerprint(text) == nil)
    }
}
