import AssayBytes
import AssayModels

/// The binding of evidence to one device.
enum DeviceBinding: Equatable, Sendable {
    case receipt(ReceiptDeviceBinding)
    case verification(DeviceVerification)

    /// The binding of a StoreKit 2 payload, or nil when the payload has none.
    init?(_ deviceVerification: String?, nonce: String?) {
        guard let deviceVerification, let nonce else { return nil }
        self = .verification(DeviceVerification(digest: deviceVerification, nonce: nonce))
    }

    /// The binding of an app receipt, or nil when a part is missing.
    init?(_ receipt: AppReceipt) {
        guard !receipt.sha1Hash.isEmpty, !receipt.bundleIdOctets.isEmpty else { return nil }
        self = .receipt(
            ReceiptDeviceBinding(
                opaqueValue: receipt.opaqueValue, bundleIdOctets: receipt.bundleIdOctets,
                sha1Hash: receipt.sha1Hash))
    }
}

/// Attribute 5 of an app receipt: SHA-1 over the device identifier, attribute 4 and the octets of
/// attribute 2 with tag and length.
package struct ReceiptDeviceBinding: Equatable, Sendable {
    package var opaqueValue: [UInt8]
    package var bundleIdOctets: [UInt8]
    package var sha1Hash: [UInt8]

    package init(opaqueValue: [UInt8], bundleIdOctets: [UInt8], sha1Hash: [UInt8]) {
        self.opaqueValue = opaqueValue
        self.bundleIdOctets = bundleIdOctets
        self.sha1Hash = sha1Hash
    }

    /// Whether the receipt is bound to this device.
    ///
    /// - Parameter identifier: 16 octets of identifierForVendor or 6 octets of a Mac's address.
    ///   Other lengths never match.
    package func matches(_ identifier: Span<UInt8>) -> Bool {
        guard identifier.count == 16 || identifier.count == 6 else { return false }
        var hash = SHA1()
        hash.update(identifier)
        hash.update(opaqueValue.span)
        hash.update(bundleIdOctets.span)
        let digest = hash.finish()
        return digest.octets.span.equals(sha1Hash)
    }
}

/// `deviceVerification` of StoreKit 2 payloads: base64 of SHA-384 over the lower-case nonce and
/// the lower-case device verification id.
package struct DeviceVerification: Equatable, Sendable {
    package var digest: String
    package var nonce: String

    package init(digest: String, nonce: String) {
        self.digest = digest
        self.nonce = nonce
    }

    /// Whether the payload is bound to this device.
    ///
    /// - Parameter deviceVerificationId: AppStore.deviceVerificationID, a UUID.
    package func matches(deviceVerificationId: String) -> Bool {
        guard let expected = try? Base64.decode(Array(digest.utf8).span), !nonce.isEmpty,
            !deviceVerificationId.isEmpty
        else { return false }
        let text = Array((nonce.lowercased() + deviceVerificationId.lowercased()).utf8)
        return SHA384.digest(text.span).span.equals(expected)
    }
}

/// The text of a device identifier.
package enum DeviceText {
    /// The octets of hexadecimal text, such as a UUID with hyphens or a MAC address with colons;
    /// nil for other text.
    package static func octets(_ text: String) -> [UInt8]? {
        var octets: [UInt8] = []
        var high: UInt8?
        for character in text where character != "-" && character != ":" {
            guard character.isASCII, let digit = character.hexDigitValue else { return nil }
            if let first = high {
                octets.append(first << 4 | UInt8(digit))
                high = nil
            } else {
                high = UInt8(digit)
            }
        }
        guard high == nil else { return nil }
        return octets
    }

    /// Whether the octets are those of an app receipt's device: identifierForVendor, or a Mac's
    /// address.
    package static func isOfReceipt(_ octets: [UInt8]) -> Bool {
        octets.count == 16 || octets.count == 6
    }
}
