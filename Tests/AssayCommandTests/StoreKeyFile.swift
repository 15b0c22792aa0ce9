import Foundation
import TestSupport
import Testing

/// A key of the App Store Server API in a file, as App Store Connect names it.
enum StoreKeyFile {
    static let name = "SubscriptionKey_2X9R4HXF34.p8"

    /// Writes a new key that its owner alone can read. Returns the path and the PEM text.
    @discardableResult
    static func write(to folder: TemporaryFolder) throws -> (path: String, pem: String) {
        let openssl = try #require(try OpenSSLTool())
        defer { openssl.cleanUp() }
        let key = try openssl.run(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        let begin = try #require(key.output.range(of: "-----BEGIN PRIVATE KEY-----"))
        let pem = String(key.output[begin.lowerBound...])
        let path = folder.write(name, pem)
        try setMode(0o600, of: path)
        return (path, pem)
    }

    static func setMode(_ mode: Int, of file: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    }
}
