import AssayIO
import AssayModels
import Foundation

/// Answers to retention requests, which are verified and signed in one call, against a
/// verification over HTTP and one signature of OpenSSL.
extension HTTPSuite {
    /// More would wait longer than the server lets requests wait.
    private static let fewConnections = 4
    private static let apiKey = "0123456789abcdef0123456789abcdef"

    static func retention(_ ca: String, rounds: Int) throws -> [Row] {
        let configuration = ca + "/assay.toml"
        try Data(
            """
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            roots = ["root.pem"]
            sign-api-keys = ["\(apiKey)"]
            default = true
            [app.keys.main]
            file = "leaf-key.pem"
            key-id = "2X9R4HXF34"
            issuer-id = "57246542-96fe-1a63-e053-0824d011072a"
            """.utf8
        ).write(to: URL(fileURLWithPath: configuration))
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: configuration)
        let server = try AssayProcess.Server(
            processors: AssayProcess.serverProcessor, workers: 1, root: "",
            configuration: configuration)
        defer { server.stop() }
        let requests = try tokens(ca, "realtime-request")
        let verifying = try PipelinedLoad.http(
            server, connections: fewConnections,
            requests: requests.map { token in
                post("/v1/verify", "", #"{"kind":"realtime-request","evidence":""#, token, "\"}")
            })
        let answering = try PipelinedLoad.http(
            server, connections: fewConnections,
            requests: requests.map { token in
                post(
                    "/v1/sign/retention-answer", "Authorization: Bearer \(apiKey)\r\n",
                    #"{"answer":{"promotionalOffer":{"offerIdentifier":"stay","#
                        + #""messageIdentifier":"7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"}},"#
                        + #""signedPayload":""#, token, "\"}")
            }, body: #"{"promotionalOffer":"#)
        // The server builds the table of the leaf's key.
        _ = try verifying.answersPerProcessorSecond(seconds: 1)
        var (bases, answers): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            let verified = 1e6 / (try verifying.answersPerProcessorSecond(seconds: 2))
            bases.append(verified + signatureMicroseconds())
            answers.append(1e6 / (try answering.answersPerProcessorSecond(seconds: 2)))
        }
        let ratios = zip(answers, bases).map { $0 / $1 }
        return [
            Row(
                name: "a verification over HTTP and a signature of OpenSSL", value: bases.median,
                spread: bases.spread, unit: "µs", rounds: rounds),
            Row(
                name: "retention answer over HTTP", value: answers.median,
                spread: answers.spread, unit: "µs", ratio: ratios.median,
                ratioSpread: ratios.spread, rounds: rounds),
        ]
    }

    private static func post(
        _ path: String, _ fields: String, _ before: String, _ token: [UInt8], _ after: String
    ) -> [UInt8] {
        let length = before.utf8.count + token.count + after.utf8.count
        let head =
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "\(fields)Content-Length: \(length)\r\n\r\n"
        return Array((head + before).utf8) + token + Array(after.utf8)
    }

    /// Processor time of one ECDSA signature on P-256 by OpenSSL.
    private static func signatureMicroseconds() -> Double {
        let signer = Signer()
        let digest = [UInt8](repeating: 0x5A, count: 32)
        let count = 4_000
        let before = ProcessorTime.ofThread
        for _ in 0..<count { _ = signer.sign(digest) }
        return Double(ProcessorTime.ofThread - before) / 1000 / Double(count)
    }
}
