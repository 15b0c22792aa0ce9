internal import COpenSSL

/// SHA-256 as a value: a copy of it continues from the same state.
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

/// 32 octets.
package struct SHA256Digest: Sendable {
    package var octets = [32 of UInt8](repeating: 0)
    package var text: String { hexadecimal(octets.span) }
}
