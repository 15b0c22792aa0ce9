import Foundation

/// Tokens for a local store that accepts any key.
package enum StoreToken {
    /// The value of an Authorization field: claims with a signature of the right length.
    ///
    /// - Parameter now: seconds since 1970.
    package static func bearer(_ bundleId: String, at now: Int64) -> [UInt8] {
        let header = #"{"alg":"ES256","kid":"TRIAL"}"#
        let claims =
            #"{"iss":"trial","aud":"appstoreconnect-v1","bid":"\#(bundleId)","exp":\#(now + 60)}"#
        let signature = [UInt8](repeating: 1, count: 64)
        let segments = [Array(header.utf8), Array(claims.utf8), signature].map { bytes in
            Data(bytes).base64EncodedString()
                .replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
        }
        return Array(("Bearer " + segments.joined(separator: ".")).utf8)
    }
}
