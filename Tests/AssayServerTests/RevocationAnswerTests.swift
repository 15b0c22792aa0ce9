import Assay
import AssayKeys
import AssayMint
import AssayModels
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry
@testable import AssayKeepers

/// What hosts send instead of a status.
@Suite struct RevocationAnswerTests {
    private typealias Keeper = SimulatedKeeper

    private static let hosts = RevocationSettings(hosts: [SimulatedKeeper.ocsp])

    /// What a host can send, and what the report says of it.
    private static let answers: [(String, RevocationReport.Outcome, String)] = [
        ("hangs", .timedOut, "no answer in time"),
        ("times out", .timedOut, "no answer in time"),
        ("resets", .unreachable, "reset"),
        ("redirects", .httpStatus, "302"),
        ("fails", .httpStatus, "503"),
        ("64 KiB and more", .tooLarge, "too large"),
        ("64 KiB and more, and the transport lets it pass", .notUsed, "limit is 65536"),
        ("nothing", .notUsed, "not a valid OCSP response"),
        ("less than its length", .notUsed, "not a valid OCSP response"),
        ("more than its length", .notUsed, "not a valid OCSP response"),
        ("HTML", .notUsed, "not a valid OCSP response"),
        ("tryLater", .notUsed, "tryLater"),
        ("wrong CertID", .notUsed, "another certificate"),
        ("stale", .notUsed, "stale"),
        ("from the future", .notUsed, "future"),
        ("wrong signer", .notUsed, "neither the issuer"),
        ("delegate without the purpose", .notUsed, "OCSPSigning"),
    ]

    private static func result(
        _ name: String, _ keeper: SimulatedKeeper
    ) throws -> Result<[UInt8], RevocationRequestError>? {
        let good = keeper.response()
        switch name {
        case "hangs": return nil
        case "times out": return .failure(.timedOut)
        case "resets": return .failure(.failed("connection reset"))
        case "redirects": return .failure(.status(302))
        case "fails": return .failure(.status(503))
        case "64 KiB and more": return .failure(.tooLarge)
        case "64 KiB and more, and the transport lets it pass":
            return .success(good + [UInt8](repeating: 0, count: 65_536))
        case "nothing": return .success([])
        case "less than its length": return .success(Array(good.dropLast()))
        case "more than its length": return .success(good + [0])
        case "HTML": return .success(Array("<html>".utf8))
        case "tryLater": return .success([0x30, 0x03, 0x0A, 0x01, 0x03])
        case "wrong CertID": return .success(keeper.response(serial: [9, 9]))
        case "stale":
            return .success(
                keeper.response(from: -2 * Keeper.hour, to: -Keeper.hour))
        case "from the future":
            return .success(keeper.response(from: Keeper.hour, to: 2 * Keeper.hour))
        case "wrong signer":
            return .success(keeper.response(by: try SigningKey(generating: .p384)))
        case "delegate without the purpose":
            let key = try SigningKey(generating: .p256)
            var builder = try CertificateBuilder(
                subject: DistinguishedName(commonName: "Delegate"),
                issuer: DevelopmentCA.intermediateName, publicKeyOf: key,
                notBefore: Keeper.start.moved(-Keeper.hour),
                notAfter: Keeper.start.moved(48 * Keeper.hour))
            builder.extensions = [.keyUsage(.digitalSignature)]
            let delegate = try builder.signed(by: Keeper.ca.intermediateKey!)
            return .success(keeper.response(by: key, certificates: [delegate]))
        default: throw CancellationError()
        }
    }

    @Test(
        "a host that misbehaves changes no status, and is asked again later",
        arguments: [
            false, true,
        ])
    func misbehaving(hasStatus: Bool) throws {
        for (name, outcome, reason) in Self.answers {
            let keeper = Keeper(Self.hosts)
            _ = keeper.verify()
            for request in keeper.takeRequests() {
                let isLeaf = request.request.url.hasSuffix("02")
                guard hasStatus || !isLeaf else { continue }
                keeper.answer(request, .success(keeper.response(isLeaf ? "leaf" : "intermediate")))
            }
            if hasStatus {
                keeper.wait(7 * 60 * Keeper.minute)
            } else {
                // The first request is given up.
                keeper.wait(12_000)
                keeper.wait(Keeper.minute)
            }
            let before = keeper.report.requests[outcome, default: 0]
            let request = try #require(
                keeper.takeRequests().first { $0.request.url.hasSuffix("02") }, "\(name)")
            if let result = try Self.result(name, keeper) {
                keeper.answer(request, result)
            } else {
                keeper.wait(11_999)
                #expect(keeper.report.requests[outcome, default: 0] == before)
                keeper.wait(1)
                // Its answer comes too late.
                keeper.answer(request, .success(keeper.response("leaf", .unknown)))
            }
            #expect(keeper.report.requests[outcome] ?? 0 > before, "\(name)")
            let row = try #require(keeper.row())
            #expect(row.problems.contains { $0.contains(reason) }, "\(name): \(row.problems)")
            #expect(row.status?.name == (hasStatus ? "good" : nil), "\(name)")
            let left = Int64(row.nextRefresh!.milliseconds - keeper.wall.milliseconds)
            #expect(left > 30_000 && left <= 3_600_000, "\(name)")
        }
    }

    @Test("the answer to a request that was given up does not count as that to the next")
    func answerToAnEarlierRequest() throws {
        let keeper = Keeper(Self.hosts)
        _ = keeper.verify()
        func request() throws -> Keeper.Sent {
            try #require(keeper.takeRequests().first { $0.request.url.hasSuffix("02") })
        }
        let first = try request()
        keeper.wait(12_000)
        keeper.wait(Keeper.minute)
        let second = try request()
        keeper.answer(first, .success(keeper.response("leaf", .unknown)))
        #expect(keeper.row()?.status == nil)
        keeper.answer(second, .success(keeper.response("leaf")))
        #expect(keeper.row()?.status?.name == "good")
    }
}
