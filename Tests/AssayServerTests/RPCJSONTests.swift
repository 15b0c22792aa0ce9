import AssayBytes
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// proto3's JSON mapping of the services' messages.
@Suite("JSON of the services") struct RPCJSONTests {
    private static let schema = RPCSchema.services

    private static func encoded(_ json: String) -> Result<[UInt8], HTTPProblem> {
        let bytes = Array(json.utf8)
        return Result { () throws(HTTPProblem) in
            try schema.encode(bytes.span, as: "assay.v1.VerifyRequest")
        }
    }

    private static func encode(_ json: String) throws -> [UInt8] { try encoded(json).get() }

    private static func problem(_ json: String) -> String? {
        if case .failure(let problem) = encoded(json) { problem.detail } else { nil }
    }

    private static func fields(_ name: String) throws -> [RPCSchema.Field] {
        schema.messages[try #require(schema.message(named: name))].fields
    }

    @Test("the services' requests and answers are described, and their fields are those of frames")
    func schema() throws {
        for method in RPCMethod.allCases where method.isDescribed {
            #expect(Self.schema.message(named: method.request) != nil, "\(method)")
            #expect(Self.schema.message(named: method.answer) != nil, "\(method)")
        }
        let (request, answer) = try (
            Self.fields("assay.v1.RequestHead"), Self.fields("assay.v1.ResponseHead")
        )
        // Frames have no calls that sign.
        let calls = RPCMethod.allCases.filter { $0.path.hasPrefix("/assay.v1.Verifier/") }
        for method in calls {
            for (name, head) in [(method.request, request), (method.answer, answer)] {
                for field in try Self.fields(name) where field.number < RPCBytes.evidenceField {
                    let same = head.first { $0.number == field.number }
                    #expect(same?.type == field.type, "\(name).\(field.name)")
                }
            }
            let shared = try Self.fields(method.request).map(\.number)
                .filter { $0 != RPCBytes.evidenceField }
            #expect(shared.sorted() == method.headFields.sorted())
        }
    }

    @Test("the evidence is the last field of its message")
    func evidenceIsLast() throws {
        for method in [RPCMethod.verify, .verifyStream, .resolve] {
            let fields = try Self.fields(method.request)
            #expect(fields.map(\.number).max() == MessageCodec.evidenceField)
            #expect(fields.first { $0.name == "evidence" }?.number == MessageCodec.evidenceField)
            let answer = try Self.fields(method.answer)
            #expect(answer.map(\.number).max() == MessageCodec.evidenceField)
        }
    }

    @Test(
        "requests: both names of a field, numbers as text, null, names and numbers of enumerations")
    func requests() throws {
        let message = RPCBytes.request([1, 2, 3], app: "game", bundleId: "a.b")
        func form(_ kind: String, _ bundle: String, _ more: String = "") -> String {
            #"{"app":"game","call":{"kind":\#(kind),"expectations":{"\#(bundle)":"a.b"\#(more)}},"#
                + #""mayWait":null,"evidence":"AQID"}"#
        }
        let forms = [
            form(#""EVIDENCE_KIND_TRANSACTION""#, "bundleId"), form("1", "bundle_id"),
            form("1.0", "bundleId", #","appAppleId":null"#),
        ]
        for form in forms { #expect(try Self.encode(form) == message, "\(form)") }
        #expect(try Self.encode("{}") == [])
        func call(_ json: String) throws -> RequestHead.Call {
            let message = try Self.encode(json)
            return try MessageCodec().decodeRequest(message.span).call
        }
        for number in ["-5", #""-5""#, "-5.0"] {
            let json = #"{"call":{"kind":1,"expectations":{"notOlderThan":\#(number)}}}"#
            guard case .verify(let verify) = try call(json) else {
                Issue.record("no Verify")
                return
            }
            #expect(verify.expectations.notOlderThan == Timestamp(milliseconds: -5))
        }
        let lists = #"{"call":{"kind":1,"expectations":{"environments":["Sandbox","Xcode"]}}}"#
        guard case .verify(let verify) = try call(lists) else {
            Issue.record("no Verify")
            return
        }
        #expect(verify.expectations.environments == [.sandbox, .xcode])
    }

    @Test("bytes: both alphabets, with and without padding")
    func bytes() throws {
        func evidence(_ text: String) throws -> [UInt8]? {
            RPCBytes.bytes(
                RPCBytes.evidenceField, of: try Self.encode(#"{"evidence":"\#(text)"}"#))
        }
        #expect(try evidence("") == [])
        for text in ["+/8=", "-_8=", "+/8", "-_8", "\\u002b\\/8="] {
            #expect(try evidence(text) == [0xFB, 0xFF], "\(text)")
        }
        for text in ["+_8", "A", "A===", "+/9=", "*AAA", "+/8=+/8="] {
            #expect(throws: HTTPProblem.self, "\(text)") { try evidence(text) }
        }
    }

    @Test(
        "what is no request",
        arguments: [
            ("[]", "the body is not a JSON object"), ("{", "not JSON"),
            (#"{"call":[]}"#, "call is not an object"), (#"{"app":1}"#, "app is not a string"),
            (#"{"mayWait":"true"}"#, "mayWait is not true or false"),
            (#"{"evidence":1}"#, "evidence is not base64"),
            (#"{"Evidence":""}"#, "unknown member \"Evidence\"; the members: app, call"),
            (#"{"call":{"expectations":{"bundelId":"a"}}}"#, "unknown member \"bundelId\""),
            (#"{"call":{"kind":"TRANSACTION"}}"#, "\"TRANSACTION\" is not a value of kind"),
            (#"{"call":{"kind":1.5}}"#, "kind is not a whole number"),
            (#"{"call":{"kind":2147483648}}"#, "kind is not a whole number"),
            (#"{"call":{"expectations":{"environments":"Sandbox"}}}"#, "is not an array"),
            (#"{"call":{"expectations":{"environments":[null]}}}"#, "environments is not a string"),
            (#"{"call":{"expectations":{"appAppleId":"1e3"}}}"#, "appAppleId is not a whole"),
            (#"{"mayWait":true,"may_wait":true}"#, "mayWait is given under both of its names"),
        ])
    func refusals(_ json: String, _ reason: String) {
        let problem = Self.problem(json)
        #expect(problem?.contains(reason) == true, "\(problem ?? "accepted")")
    }

    @Test(
        "answers: numbers of 64 bits as text, names of enumerations, base64, lists, no empty ones")
    func answers() {
        func json(_ message: MessageBuilder, as name: String) -> String {
            String(decoding: Self.schema.json(message.bytes, as: name), as: UTF8.self)
        }
        var certificate = MessageBuilder()
        certificate.set(1, text: "0a\"")
        certificate.set(2, varint: UInt64(bitPattern: -7))
        certificate.set(3, varint: 1)
        var verification = MessageBuilder()
        verification.set(1, varint: 1)
        verification.set(3, varint: 77)
        verification.set(6, bytes: certificate.bytes)
        var answer = MessageBuilder()
        answer.set(5, bytes: verification.bytes)
        answer.set(RPCBytes.evidenceField, bytes: [0xFB, 0xFF])
        #expect(
            json(answer, as: "assay.v1.VerifyResponse")
                == #"{"verification":{"verdict":"VERDICT_VALID","kind":77,"certificate":"#
                + #"{"serial":"0a\"","notAfter":"-7","expired":true}},"payloadJson":"+/8="}"#)
        var info = MessageBuilder()
        info.set(2, bytes: [1, 6])
        var facts = MessageBuilder()
        facts.set(7, bytes: info.bytes)
        #expect(
            json(facts, as: "assay.v1.InfoResponse")
                == #"{"info":{"kinds":["EVIDENCE_KIND_TRANSACTION","EVIDENCE_KIND_APP_RECEIPT"]}}"#)
        var items = MessageBuilder()
        items.set(RPCBytes.evidenceField, bytes: [])
        items.set(RPCBytes.evidenceField, bytes: [1])
        #expect(
            json(items, as: "assay.v1.ResolveResponse") == #"{"payloadJson":["","AQ=="]}"#)
        #expect(json(MessageBuilder(), as: "assay.v1.InfoResponse") == "{}")
    }
}
