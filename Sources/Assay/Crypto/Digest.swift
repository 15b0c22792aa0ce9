import AssayBytes
internal import COpenSSL

/// A SHA-256 computation with value semantics: a copy continues from the same state.
package struct SHA256: Sendable {
    private var state = SHA256_CTX()

    package init() {
        unsafe precondition(SHA256_Init(&state) == 1)
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe precondition(SHA256_Update(&state, buffer.baseAddress, buffer.count) == 1)
        }
    }

    package consuming func finish() -> SHA256Digest {
        var digest = SHA256Digest()
        var octets = digest.octets.mutableSpan
        unsafe octets.withUnsafeMutableBufferPointer { buffer in
            unsafe precondition(SHA256_Final(buffer.baseAddress, &state) == 1)
        }
        return digest
    }

    package static func digest(_ bytes: Span<UInt8>) -> SHA256Digest {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }
}

/// A SHA-256 digest: 32 octets.
package struct SHA256Digest: Sendable {
    package var octets: [32 of UInt8]

    package init(octets: [32 of UInt8] = .init(repeating: 0)) { self.octets = octets }

    package var text: String { hexadecimal(octets.span) }
}

extension SHA256Digest: Hashable {
    package static func == (first: Self, second: Self) -> Bool {
        first.octets.span.equals(second.octets.span)
    }

    package func hash(into hasher: inout Hasher) { octets.span.hash(into: &hasher) }
}

/// A SHA-1 computation with value semantics: a copy continues from the same state. Used only for
/// receipts and certificates from the SHA-1 era.
package struct SHA1: Sendable {
    private var state = SHA_CTX()

    package init() {
        unsafe precondition(SHA1_Init(&state) == 1)
    }

    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { buffer in
            unsafe precondition(SHA1_Update(&state, buffer.baseAddress, buffer.count) == 1)
        }
    }

    package consuming func finish() -> SHA1Digest {
        var digest = SHA1Digest()
        var octets = digest.octets.mutableSpan
        unsafe octets.withUnsafeMutableBufferPointer { buffer in
            unsafe precondition(SHA1_Final(buffer.baseAddress, &state) == 1)
        }
        return digest
    }

    package static func digest(_ bytes: Span<UInt8>) -> SHA1Digest {
        var hash = SHA1()
        hash.update(bytes)
        return hash.finish()
    }
}

/// A SHA-1 digest: 20 octets.
package struct SHA1Digest: Sendable {
    package var octets = [20 of UInt8](repeating: 0)
    package var text: String { hexadecimal(octets.span) }
}

/// SHA-384 for the device binding of StoreKit 2 payloads.
package enum SHA384 {
    /// Returns the digest: 48 octets.
    package static func digest(_ bytes: Span<UInt8>) -> [48 of UInt8] {
        var digest = [48 of UInt8](repeating: 0)
        var octets = digest.mutableSpan
        unsafe bytes.withUnsafeBufferPointer { input in
            unsafe octets.withUnsafeMutableBufferPointer { output in
                unsafe precondition(
                    COpenSSL::SHA384(input.baseAddress, input.count, output.baseAddress) != nil)
            }
        }
        return digest
    }
}
