import AssayBytes
import AssayModels

/// The protected header of a compact JWS (RFC 7515, section 4).
enum JWSHeader {
    /// Returns the DER certificates of x5c from a header whose algorithm is ES256, and whether it
    /// has the name of Xcode's key, which only chooses the text of a refusal.
    ///
    /// Ignores `jwk`, `jku`, `x5u` and `kid`: only its chain makes a key trusted.
    static func certificates(
        of header: Span<UInt8>, log: CheckLog? = nil
    ) throws(Refusal) -> (x5c: [[UInt8]], isOfXcode: Bool) {
        log?.begin(.header, found: "\(header.count) characters")
        let text = try Base64URL.segment(header, named: "header")
        let document = try JSONDocument.payload(text, named: "header")
        try checkExtensions(document.root)
        log?.begin(.algorithm, found: quoted(document.root["alg"]?.string), expected: "ES256")
        guard document.root["alg"]?.equals("ES256") == true else {
            throw Refusal(.unsupportedAlgorithm, "the header's alg is not ES256")
        }
        log?.begin(
            .chainLength, found: document.root["x5c"]?.elements.map { "\(Array($0).count)" },
            expected: "\(Limits.x5cCertificates)")
        guard let x5c = document.root["x5c"] else {
            throw Refusal(.invalidChain, "the header has no x5c")
        }
        guard let entries = x5c.elements else {
            throw Refusal(.invalidChain, "the header's x5c is not an array")
        }
        return (try decode(entries), isOfXcode(document))
    }

    /// Whether the header names the key of Xcode's StoreKit testing.
    static func isOfXcode(_ header: JSONDocument) -> Bool {
        header.root["kid"]?.equals("Apple_Xcode_Key") == true
    }

    /// Rejects members that change the signed content or the encoding (RFC 7515, section 4.1.11;
    /// RFC 7797; RFC 7516, section 4.1.3). No store's evidence has one.
    static func checkExtensions(_ header: JSONValue) throws(Refusal) {
        for name in ["crit", "b64", "zip"] where header.hasMember(name) {
            throw Refusal(.malformed, "the header has a member \"\(name)\", which is not supported")
        }
    }

    private static func decode(_ entries: JSONElements) throws(Refusal) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        for entry in entries {
            guard certificates.count < Limits.x5cCertificates else {
                throw Refusal(
                    .invalidChain, "x5c has more than \(Limits.x5cCertificates) certificates")
            }
            guard let text = entry.string else {
                throw Refusal(.invalidChain, "x5c has an entry that is not a string")
            }
            let characters = Array(text.utf8)
            // Four characters encode three octets.
            guard characters.count <= (Limits.x5cEntryBytes + 2) / 3 * 4 else {
                throw Refusal(
                    .malformed, "an entry of x5c exceeds \(Limits.x5cEntryBytes) octets")
            }
            do throws(Base64Error) {
                certificates.append(try Base64.decode(characters.span))
            } catch {
                throw Refusal(
                    .malformed, "an entry of x5c is not base64: " + error.description)
            }
        }
        return certificates
    }
}

extension Base64URL {
    /// Decodes a segment of a JWS; throws MALFORMED if it violates RFC 7515.
    static func segment(_ text: Span<UInt8>, named name: String) throws(Refusal) -> [UInt8] {
        do throws(Base64Error) {
            return try decode(text)
        } catch {
            throw Refusal(
                .malformed,
                "the \(name) is not canonical base64url without padding: "
                    + error.description)
        }
    }
}

extension Base64URL {
    /// Decodes the signature of a JWS; returns nil if it is not an ES256 signature.
    static func signature(_ text: Span<UInt8>) throws(Refusal) -> ES256Signature? {
        // A signature of the usual size needs no allocation.
        if size(text.count) == ES256Signature.size {
            var error: Base64Error?
            let octets = [64 of UInt8](initializingWith: { output in
                error = decode(text, to: &output)
            })
            if error == nil { return ES256Signature(octets.span) }
        }
        let octets = try segment(text, named: "signature")
        return ES256Signature(octets.span)
    }
}

extension JSONDocument {
    /// Parses a JSON object; throws MALFORMED for anything else.
    static func payload(_ text: [UInt8], named name: String) throws(Refusal) -> JSONDocument {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument.parse(text)
        } catch {
            throw Refusal(.malformed, "the \(name) is not valid JSON: \(error)")
        }
        guard document.root.kind == .object else {
            throw Refusal(.malformed, "the \(name) is not a JSON object")
        }
        return document
    }
}
