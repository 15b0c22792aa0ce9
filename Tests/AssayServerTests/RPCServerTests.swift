import Assay
import AssayBytes
import AssayMint
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Calls of Connect and gRPC-Web over HTTP/1.1, of a simulated server.
@Suite("Connect and gRPC-Web") struct RPCServerTests {
    @Test(
        "a verdict, and a refusal that is an answer, in every form", arguments: RPCTestForm.allCases
    )
    func verdicts(_ form: RPCTestForm) throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        for (evidence, bundleId, verdict) in [
            (token, nil, "VERDICT_VALID"), (token, Minted.bundleId, "VERDICT_VALID"),
            (token, "com.example.other", "VERDICT_WRONG_BUNDLE"),
            (Minted.tampered(token), nil, "VERDICT_INVALID_SIGNATURE"),
        ] as [([UInt8], String?, String)] {
            let response = caller.ask(RPCBytes.post(form, form.body(evidence, bundleId: bundleId)))
            let (message, code) = form.answer(response)
            #expect(code == 0 && response?.status == 200)
            #expect(form.verdict(message ?? []) == verdict)
            let type = response?.field("content-type")
            #expect(type == (form == .text ? form.rawValue + "+proto" : form.rawValue))
        }
    }

    @Test(
        "a purchase of Google Play: genuine, pending and refused ones",
        arguments: RPCTestForm.allCases
    )
    func purchases(_ form: RPCTestForm) throws {
        let minter = try StoreMinter()
        let server = try SimulatedServer(googleKeyOf: minter)
        let caller = SimulatedCaller(server)
        func purchase(_ state: Int64, _ scheme: StoreMinter.Scheme = .google) throws -> [UInt8] {
            let text = Samples.googlePurchase(
                index: 1, bundleId: Minted.bundleId, productId: "gold", environment: .sandbox,
                signedDate: Minted.now, state: state)
            return try minter.sign(text, scheme)
        }
        for (evidence, bundleId, verdict, state) in [
            (try purchase(0), nil, "VERDICT_VALID", "PURCHASED"),
            (try purchase(0), Minted.bundleId, "VERDICT_VALID", "PURCHASED"),
            (try purchase(4), nil, "VERDICT_VALID", "PENDING"),
            (try purchase(0), "com.example.other", "VERDICT_WRONG_BUNDLE", "PURCHASED"),
            (try purchase(0, .huawei), nil, "VERDICT_INVALID_SIGNATURE", nil),
            (try Minted.transaction.get(), nil, "VERDICT_MALFORMED", nil),
        ] as [([UInt8], String?, String, String?)] {
            let body = form.body(evidence, kind: .googlePurchase, bundleId: bundleId)
            let (message, code) = form.answer(caller.ask(RPCBytes.post(form, body)))
            #expect(code == 0)
            #expect(form.verdict(message ?? []) == verdict)
            #expect(form.state(message ?? []) == state)
        }
    }

    @Test("errors have the code of each protocol", arguments: RPCTestForm.allCases)
    func errors(_ form: RPCTestForm) throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        let good = form.body(token)
        let limit = form == .proto || form == .json ? "Connect-Timeout-Ms" : "Grpc-Timeout"
        let coding = form == .proto || form == .json ? "Content-Encoding" : "Grpc-Encoding"
        let isFramed = form == .web || form == .webJSON
        // A message that says that it is compressed.
        let broken = isFramed ? [1] + good.dropFirst() : good
        // gRPC has a code of its own for it.
        let unreadable = isFramed ? Status.internal : .invalidArgument
        let cases: [(String, [UInt8], Status)] = [
            ("compressed", RPCBytes.post(form, good, "\(coding): br\r\n"), .unimplemented),
            ("compressed", RPCBytes.post(form, good, "Content-Encoding: br\r\n"), .unimplemented),
            (
                "not compressed", RPCBytes.post(form, broken, "\(coding): gzip\r\n"),
                form == .text ? .unimplemented : unreadable
            ),
            ("no time limit", RPCBytes.post(form, good, "\(limit): soon\r\n"), .invalidArgument),
            ("no evidence", RPCBytes.post(form, form.body([])), .invalidArgument),
            ("no message", RPCBytes.post(form, Array("*".utf8)), unreadable),
            ("half a message", RPCBytes.post(form, Array(good.dropLast(3))), unreadable),
            (
                "no fetch", RPCBytes.post(form, good, path: "/assay.v1.Verifier/Fetch"),
                .failedPrecondition
            ),
        ]
        for (name, request, code) in cases {
            let response = caller.ask(request)
            #expect(form.answer(response).code == Int(code.rawValue), "\(name)")
        }
        // The connection goes on.
        #expect(
            form.answer(
                caller.ask(
                    RPCBytes.post(
                        form, good,
                        "\(limit): 1000\r\n".replacing(
                            "1000", with: limit == "Grpc-Timeout" ? "1000m" : "1000")))
            ).code == 0)
    }

    @Test("refusals of the admission: an unknown app, no kind")
    func refusals() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        for (message, code) in [
            (RPCBytes.request(token, app: "nowhere"), "not_found"),
            (RPCBytes.request(token, kind: nil), "unimplemented"),
        ] {
            let response = caller.ask(RPCBytes.post(.proto, message))
            #expect(response?.member("code") == code)
            #expect(response?.field("content-type") == "application/json")
        }
        #expect(
            caller.ask(RPCBytes.post(.proto, RPCBytes.request(token, app: "game")))?.status == 200)
    }

    @Test("requests that no client of a protocol sends")
    func otherRequests() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = RPCBytes.request(try Minted.transaction.get())
        func status(_ request: [UInt8]) -> Int? { caller.ask(request)?.status }
        #expect(status(HTTPClient.post(RPCBytes.verify, token)) == 415)
        #expect(status(HTTPClient.post(RPCBytes.verify, token, type: "application/grpc")) == 415)
        #expect(status(Array(HTTPClient.get(RPCBytes.verify).utf8)) == 405)
        #expect(
            status(RPCBytes.post(.proto, token, path: "/assay.v1.Verifier/Guess")) == 404)
        #expect(
            status(RPCBytes.post(.proto, token, "Connect-Protocol-Version: 2\r\n")) == 400)
        #expect(status(RPCBytes.post(.proto, token, "Connect-Protocol-Version: 1\r\n")) == 200)
    }

    @Test("gRPC-Web to a call that the server does not have is UNIMPLEMENTED, also for a page")
    func unknownCalls() throws {
        let server = try SimulatedServer { $0.http.allowedOrigins = ["https://app.example.com"] }
        let caller = SimulatedCaller(server)
        let origin = "Origin: https://app.example.com\r\n"
        let paths = ["/assay.v1.Verifier/Guess", "/other.Service/Verify", "/nowhere", "/"]
        for path in paths {
            for form in [RPCTestForm.web, .webJSON, .text] {
                let answer = caller.ask(RPCBytes.post(form, form.body([1]), origin, path: path))
                #expect(answer?.status == 200 && form.answer(answer).code == 12, "\(path) \(form)")
                #expect(answer?.field("access-control-allow-origin") == "https://app.example.com")
            }
            #expect(caller.ask(RPCBytes.post(.proto, [], path: path))?.status == 404)
        }
        // The path of a call is that of a service with its package, and a method.
        let preflights = [
            ("/other.Service/Verify", 204), ("/a.b.C/D", 204), ("/other/Verify", 404),
            ("/v1/nowhere", 404), ("/a.b/", 404), ("/a.b", 404), ("/a.b/c/d", 404),
            ("/a/b.c", 404),
        ]
        for (path, status) in preflights {
            let options = "OPTIONS \(path) HTTP/1.1\r\nHost: localhost\r\n\(origin)\r\n"
            let preflight = caller.ask(options)
            #expect(preflight?.status == status, "\(path)")
            let fields = preflight?.field("access-control-allow-headers") ?? ""
            #expect(fields.contains("x-grpc-web") == (status == 204), "\(path)")
        }
        let other = caller.ask(
            "OPTIONS /a.b.C/D HTTP/1.1\r\nHost: localhost\r\nOrigin: https://b.example\r\n\r\n")
        #expect(other?.status == 403)
    }

    @Test("the signed JSON is a field of the answer, if it was asked for")
    func payloadJSON() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        for returnsJSON in [true, false] {
            let request = RPCBytes.request(token, returnsJSON: returnsJSON)
            let body = caller.ask(RPCBytes.post(.proto, request))?.body ?? []
            let json = RPCBytes.bytes(RPCBytes.evidenceField, of: body)
            #expect(
                (json.map { String(decoding: $0, as: UTF8.self) }?
                    .hasPrefix(#"{"payload":{"#) ?? false) == returnsJSON)
        }
    }

    @Test("compressed messages, up to the limit of JSON bodies")
    func compressed() throws {
        let caller = SimulatedCaller(try RPCReceiptTests.streaming(1))
        /// A member with one stored block.
        func gzip(_ bytes: [UInt8], states size: Int? = nil) -> [UInt8] {
            var sum: UInt32 = 0xFFFF_FFFF
            for byte in bytes {
                sum ^= UInt32(byte)
                for _ in 0..<8 { sum = (sum & 1) * 0xEDB8_8320 ^ (sum >> 1) }
            }
            let count = UInt16(truncatingIfNeeded: bytes.count)
            let lengths = [count, ~count].flatMap {
                [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)]
            }
            let end = [~sum, UInt32(size ?? bytes.count)].flatMap { number in
                [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
            }
            return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF, 1] + lengths + bytes + end
        }
        let token = try Minted.transaction.get()
        let message = RPCBytes.request(token)
        func code(_ form: RPCTestForm, _ body: [UInt8], _ fields: String) -> Int? {
            let (answer, code) = form.answer(caller.ask(RPCBytes.post(form, body, fields)))
            if code == 0 { #expect(form.verdict(answer ?? []) == "VERDICT_VALID") }
            return code
        }
        let (whole, each) = ("Content-Encoding: gzip\r\n", "Grpc-Encoding: gzip\r\n")
        let json = RPCTestForm.json.body(token)
        #expect(code(.proto, gzip(message), whole) == 0)
        #expect(code(.json, gzip(json), whole) == 0)
        #expect(code(.web, RPCBytes.frame(gzip(message), flags: 1), each) == 0)
        #expect(code(.web, RPCBytes.frame(message), each) == 0)
        #expect(code(.webJSON, RPCBytes.frame(gzip(json), flags: 1), each) == 0)
        let invalid = Int(Status.invalidArgument.rawValue)
        let unreadable = Int(Status.internal.rawValue)
        #expect(code(.web, RPCBytes.frame(gzip(message), flags: 1), "") == unreadable)
        #expect(code(.proto, message, whole) == invalid)
        // More than the limit, by what it states and by what it has.
        let long = gzip(message, states: (64 << 10) + 1)
        #expect(code(.proto, long, whole) == Int(Status.resourceExhausted.rawValue))
        #expect(code(.proto, gzip(message, states: 10), whole) == invalid)
        // No message is none, however it is compressed.
        #expect(code(.proto, [], whole) == Int(Status.invalidArgument.rawValue))
    }

    @Test("a page of an allowed origin can call, and read the status; another one can't")
    func origins() throws {
        let server = try SimulatedServer { $0.http.allowedOrigins = ["https://app.example.com"] }
        let caller = SimulatedCaller(server)
        let origin = "Origin: https://app.example.com\r\n"
        let options = "OPTIONS \(RPCBytes.verify) HTTP/1.1\r\nHost: localhost\r\n\(origin)\r\n"
        let preflight = caller.ask(options)
        #expect(preflight?.status == 204)
        #expect(preflight?.field("access-control-allow-methods") == "post, options")
        let fields = preflight?.field("access-control-allow-headers") ?? ""
        for field in [
            "connect-protocol-version", "connect-timeout-ms", "grpc-timeout", "x-grpc-web",
        ] {
            #expect(fields.contains(field))
        }
        let token = try Minted.transaction.get()
        let answer = caller.ask(RPCBytes.post(.web, RPCTestForm.web.body(token), origin))
        #expect(answer?.field("access-control-allow-origin") == "https://app.example.com")
        #expect(
            answer?.field("access-control-expose-headers")
                == "grpc-status, grpc-message, grpc-status-details-bin")
        let other = caller.ask(
            RPCBytes.post(.web, RPCTestForm.web.body(token), "Origin: https://evil.example\r\n"))
        #expect(RPCTestForm.web.answer(other).code == Int(Status.permissionDenied.rawValue))
        #expect(other?.field("access-control-allow-origin") == nil)
    }
}
