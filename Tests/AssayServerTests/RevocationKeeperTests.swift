import Assay
import AssayIO
import AssayKeys
import AssayMint
import AssayModels
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry
@testable import AssayKeepers

@Suite struct RevocationKeeperTests {
    private typealias Keeper = SimulatedKeeper

    private static let hosts = RevocationSettings(hosts: [SimulatedKeeper.ocsp])
    private static let hard = RevocationPolicy.hard(maximumAge: .seconds(24 * 3600))

    @Test("a chain that never validated makes no request")
    func noRequests() throws {
        let keeper = Keeper(Self.hosts)
        let foreign = try DevelopmentCA.make(at: Keeper.start)
        #expect(keeper.verify(of: foreign.chain).verdict == .untrustedChain)
        #expect(keeper.verify(changing: { $0[9] ^= 1 }).verdict == .invalidSignature)
        // A leaf that the issuer did not sign, with a location of its own.
        let forged = try Keeper.ca.issueChain(
            validity: .around(Keeper.start, days: 100)
        ) { builder in
            builder.signature = Array(repeating: 1, count: 70)
            builder[CertificateExtension.authorityInfoAccessOID] =
                .authorityInfoAccess(ocsp: "http://ocsp.example.com/inside")
        }
        #expect(keeper.verify(of: forged).verdict == .invalidChain)
        #expect(keeper.verify(.off).verdict == .valid)
        keeper.wait(3_600_000)
        #expect(keeper.takeRequests().isEmpty)
        #expect(keeper.report.requests.isEmpty && keeper.report.certificates.isEmpty)
        // The same keeper asks about a chain that validates.
        _ = keeper.verify()
        #expect(keeper.takeRequests().count == 2)
    }

    @Test("the first sight of a chain asks once for each certificate")
    func firstSight() throws {
        let keeper = Keeper(Self.hosts)
        for _ in 0..<5 { #expect(keeper.verify().detail.contains("is unknown")) }
        keeper.wait(500)
        let sent = keeper.takeRequests()
        #expect(
            sent.map(\.request.url).sorted() == [
                "http://ocsp.example.com/ocsp03-assaydev02",
                "http://ocsp.example.com/ocsp03-assayroot",
            ])
        #expect(
            sent.allSatisfy {
                $0.request.byteLimit == 65_536 && $0.request.timeout == 10_000
                    && $0.request.body != nil
            })
        for request in sent {
            let isLeaf = request.request.url.hasSuffix("02")
            keeper.answer(request, .success(keeper.response(isLeaf ? "leaf" : "intermediate")))
        }
        #expect(!keeper.verify().detail.contains("revocation"))
        #expect(keeper.verify(Self.hard).verdict == .valid)
        #expect(keeper.report.requests == [.answered: 2])
        #expect(keeper.row()?.status?.name == "good")
    }

    @Test("a status is asked for again at half of its validity, less some")
    func refresh() throws {
        for (random, time) in [(0.0, 6 * 60), (0.999, 6 * 54)] {
            let keeper = Keeper(Self.hosts, random: random)
            _ = keeper.verify()
            for request in keeper.takeRequests() {
                let isLeaf = request.request.url.hasSuffix("02")
                keeper.answer(request, .success(keeper.response(isLeaf ? "leaf" : "intermediate")))
            }
            keeper.wait(UInt64(time - 1) * Keeper.minute)
            #expect(keeper.takeRequests().isEmpty)
            keeper.wait(2 * Keeper.minute)
            #expect(keeper.takeRequests().count == 2, "\(random)")
        }
    }

    @Test("an answer that is old already is not asked for again at once")
    func oldAnswers() {
        let keeper = Keeper(Self.hosts)
        _ = keeper.verify()
        for request in keeper.takeRequests() where request.request.url.hasSuffix("02") {
            keeper.answer(
                request,
                .success(keeper.response(from: -8 * Keeper.hour, to: 4 * Keeper.hour)))
        }
        let isOfLeaf: (SimulatedKeeper.Sent) -> Bool = { $0.request.url.hasSuffix("02") }
        keeper.wait(59 * Keeper.minute)
        #expect(!keeper.takeRequests().contains(where: isOfLeaf))
        keeper.wait(2 * Keeper.minute)
        #expect(keeper.takeRequests().contains(where: isOfLeaf))
    }

    @Test("hard refreshes at half of the maximum age, if that is less")
    func maximumAge() {
        let keeper = Keeper(RevocationSettings(hosts: [Keeper.ocsp], maximumAge: 2 * Keeper.hour))
        _ = keeper.verify()
        for request in keeper.takeRequests() {
            let isLeaf = request.request.url.hasSuffix("02")
            keeper.answer(request, .success(keeper.response(isLeaf ? "leaf" : "intermediate")))
        }
        keeper.wait(59 * Keeper.minute)
        #expect(keeper.takeRequests().isEmpty)
        keeper.wait(2 * Keeper.minute)
        #expect(keeper.takeRequests().count == 2)
    }

    @Test("failures double the pause from one minute up to one hour")
    func backoff() throws {
        let keeper = Keeper(Self.hosts)
        _ = keeper.verify()
        var pauses: [UInt64] = []
        var sent = keeper.takeRequests()
        for _ in 0..<9 {
            for request in sent { keeper.answer(request, .failure(.failed("refused"))) }
            var waited: UInt64 = 0
            repeat {
                keeper.wait(1000)
                waited += 1000
                sent = keeper.takeRequests()
            } while sent.isEmpty
            pauses.append(waited / 1000)
            #expect(sent.count == 2)
        }
        #expect(pauses == [60, 120, 240, 480, 960, 1920, 3600, 3600, 3600])
        #expect(keeper.row()?.failures == 9)
        #expect(keeper.report.requests == [.unreachable: 18])
        // Only a new reason is logged.
        #expect(keeper.events.count == 2)
        let request = try #require(sent.first { $0.request.url.hasSuffix("02") })
        keeper.answer(request, .success(keeper.response()))
        #expect(keeper.row()?.failures == 0 && keeper.row()?.problems.isEmpty == true)
    }

    @Test("an answer without a nonce is used")
    func nonce() throws {
        let keeper = Keeper(Self.hosts)
        _ = keeper.verify()
        let request = try #require(keeper.takeRequests().first { $0.request.url.hasSuffix("02") })
        let nonce: [UInt8] = [0x2B, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x01, 0x02]
        let body = try #require(request.request.body)
        #expect(body.indices.allSatisfy { !body[$0...].starts(with: nonce) })
        keeper.answer(request, .success(keeper.response()))
        #expect(keeper.row()?.status?.name == "good")
    }

    @Test("only hosts on the list are asked; the CRL where the responder is not")
    func allowList() throws {
        let none = Keeper(RevocationSettings(hosts: ["ocsp.example.net"]))
        _ = none.verify()
        none.wait(3_600_000)
        #expect(none.takeRequests().isEmpty)
        #expect(none.row()?.notAsked == "ocsp.example.com is not in hosts")
        let lists = Keeper(RevocationSettings(hosts: [Keeper.crl]))
        _ = lists.verify()
        let sent = lists.takeRequests()
        #expect(sent.map(\.request.url) == ["http://crl.example.com/assayroot.crl"])
        let request = try #require(sent.first)
        #expect(request.request.body == nil && request.request.byteLimit == 4 << 20)
        lists.answer(request, .success(lists.list()))
        #expect(lists.row("intermediate")?.status?.name == "good")
        // Added by a reload.
        lists.apply(RevocationSettings(hosts: [Keeper.crl, "OCSP.example.com:80"]))
        #expect(
            lists.takeRequests().map(\.request.url).contains {
                $0 == "http://ocsp.example.com/ocsp03-assaydev02"
            })
    }

    @Test("a revoked certificate is not asked for again, and a restart remembers it")
    func restart() throws {
        let folder = TemporaryFolder()
        let settings = RevocationSettings(hosts: [Keeper.ocsp], state: folder.path)
        let first = Keeper(settings)
        #expect(first.verify().verdict == .valid)
        let request = try #require(first.takeRequests().first { $0.request.url.hasSuffix("02") })
        first.answer(
            request,
            .success(first.response("leaf", .revoked(at: Keeper.start.moved(-1000), reason: 1))))
        #expect(first.verify().verdict == .certificateRevoked)
        #expect(first.events.contains { if case .revoked = $0 { true } else { false } })
        first.wait(48 * 60 * Keeper.minute)
        #expect(!first.takeRequests().contains { $0.request.url.hasSuffix("02") })
        #expect(first.row()?.notAsked == "it is revoked")
        #expect(folder.names.count == 2, "\(folder.names)")
        // Days later, and the host can't be reached: the statement is stale and still counts.
        let second = Keeper(settings)
        second.wait(72 * 60 * Keeper.minute)
        #expect(second.verify().verdict == .certificateRevoked)
        #expect(second.row()?.status?.isFinal == true)
    }

    @Test("hard refuses the first evidence without a status, and after a restart needs none anew")
    func hardFromTheFirstRequest() throws {
        let folder = TemporaryFolder()
        let settings = RevocationSettings(hosts: [Keeper.ocsp], state: folder.path)
        let keeper = Keeper(settings)
        let answer = keeper.verify(Self.hard)
        #expect(answer.verdict == .certificateRevoked)
        #expect(answer.detail.contains("requires a good revocation status"))
        for request in keeper.takeRequests() {
            let isLeaf = request.request.url.hasSuffix("02")
            keeper.answer(request, .success(keeper.response(isLeaf ? "leaf" : "intermediate")))
        }
        #expect(keeper.verify(Self.hard).verdict == .valid)
        let next = Keeper(settings)
        #expect(next.verify(Self.hard).verdict == .valid)
        #expect(next.takeRequests().isEmpty)
    }

    @Test("a forged state folder is not believed")
    func forgedState() throws {
        let folder = TemporaryFolder()
        let other = Keeper(Self.hosts)
        folder.write("a.ocsp", other.response(by: try SigningKey(generating: .p384)))
        folder.write("b.ocsp", [1, 2, 3])
        let keeper = Keeper(RevocationSettings(hosts: [Keeper.ocsp], state: folder.path))
        #expect(keeper.verify(Self.hard).verdict == .certificateRevoked)
        #expect(keeper.row()?.status == nil)
    }

    @Test("files are read at the start, on change and on reload; a removed one counts no longer")
    func files() throws {
        let folder = TemporaryFolder()
        let settings = RevocationSettings(files: [folder.path])
        let keeper = Keeper(settings)
        #expect(keeper.verify(Self.hard).verdict == .certificateRevoked)
        folder.write("leaf.ocsp", keeper.response())
        folder.write("intermediate.ocsp", keeper.response("intermediate"))
        #expect(keeper.verify(Self.hard).verdict == .certificateRevoked)
        keeper.wait(5000)
        #expect(keeper.verify(Self.hard).verdict == .valid)
        #expect(keeper.report.documents == 2)
        folder.write(
            "leaf.ocsp", keeper.response("leaf", .revoked(at: Keeper.start, reason: nil)))
        keeper.apply(settings)
        #expect(keeper.verify().verdict == .certificateRevoked)
        folder.write("leaf.ocsp", keeper.response())
        keeper.wait(5000)
        #expect(keeper.verify(Self.hard).verdict == .valid)
        folder.remove("leaf.ocsp")
        keeper.wait(5000)
        #expect(keeper.verify(Self.hard).verdict == .certificateRevoked)
        #expect(keeper.takeRequests().isEmpty)
        #expect(keeper.row()?.notAsked == "ocsp.example.com is not in hosts")
    }

    @Test("a file that can't be used is reported, once in the log")
    func unusableFiles() throws {
        let folder = TemporaryFolder()
        folder.write("note.txt", Array("see the wiki".utf8))
        let missing = folder.path + "/missing"
        let keeper = Keeper(RevocationSettings(files: [folder.path, missing]))
        for _ in 0..<3 { keeper.wait(5000) }
        #expect(keeper.report.files.map(\.path) == [missing, folder.path + "/note.txt"])
        #expect(keeper.events.count == 2)
        folder.remove("note.txt")
        folder.write("missing", keeper.response())
        keeper.wait(5000)
        #expect(keeper.report.files.isEmpty)
    }

    @Test("at most four requests are in flight")
    func inFlight() throws {
        let keeper = Keeper(Self.hosts)
        let verifier = keeper.verifier
        for _ in 0..<6 {
            let chain = try Keeper.ca.issueChain(validity: .around(Keeper.start, days: 100))
            _ = keeper.verify(by: verifier, of: chain)
        }
        let sent = keeper.takeRequests()
        #expect(sent.count == 4)
        keeper.wait(1000)
        #expect(keeper.takeRequests().isEmpty)
        keeper.answer(sent[0], .failure(.timedOut))
        #expect(keeper.takeRequests().count == 1)
    }

    @Test("the report in the state folder says what is known")
    func report() throws {
        let folder = TemporaryFolder()
        let keeper = Keeper(RevocationSettings(hosts: [Keeper.ocsp], state: folder.path))
        _ = keeper.verify()
        for request in keeper.takeRequests() where request.request.url.hasSuffix("02") {
            keeper.answer(request, .success(keeper.response()))
        }
        let path = folder.path + "/" + RevocationReport.fileName
        let text = String(
            decoding: try SystemFile.read(path, limit: 1 << 20) ?? [], as: UTF8.self)
        for part in [
            #""status":"good""#, #""status":"none""#, #""nextRefresh":"2026-01-01T06:00:00Z""#,
            #""answered":1"#, #""thisUpdate":"2026-01-01T00:00:00Z""#,
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }
}
