import Assay
import COpenSSL
import TestSupport
import Testing

@Suite struct OpenSSLMemoryTests {
    @Test(
        "line 70: when OpenSSL has no memory, the process ends with the reason",
        .disabled(if: Sanitizer.isOn, "a sanitizer's allocator ends the process itself"))
    func exhaustion() async {
        let result = await #expect(
            processExitsWith: .signal(6), observing: [\.standardErrorContent]
        ) {
            precondition(OpenSSLMemory.endWhenExhausted())
            // More than any machine has. OpenSSL alone would return NULL and go on.
            _ = unsafe CRYPTO_malloc(1 << 60, "", 0)
        }
        let words = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(words.contains("assay: out of memory"), "\(words)")
    }
}
