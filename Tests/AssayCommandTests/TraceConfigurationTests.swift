import AssayCommandLine
import AssayServer
import AssayStore
import Testing

@testable import AssayCommand

@Suite struct TraceConfigurationTests {
    private static func read(_ text: String) throws -> (TraceTable, [String]) {
        let table = try ConfigurationTable.parse(Array(text.utf8), file: "a.toml")
        let settings = TraceTable(table.table("trace"))
        return (settings, table.problems.map(\.description))
    }

    private static let url = "http://127.0.0.1:4318/v1/traces"

    @Test("without the table no spans are exported")
    func off() throws {
        let (settings, problems) = try Self.read("")
        #expect(problems.isEmpty && settings.summary == "no spans")
        #expect(try settings.service(reusing: nil, StandardErrorLog()) == nil)
    }

    @Test("the collector has a URL of HTTP")
    func urls() throws {
        for text in [Self.url, "https://collector.example/v1/traces", "http://[::1]:4318/"] {
            let (settings, problems) = try Self.read("[trace]\notlp = \"\(text)\"\n")
            #expect(problems.isEmpty && settings.otlp == text)
            #expect(settings.summary == "spans to \(text)")
        }
        for text in [
            "", "127.0.0.1:4318", "grpc://127.0.0.1:4317/", "http://", "http:///v1/traces",
            "http://127.0.0.1:4318", "http://user:password@host/v1", "http://a b/v1/traces",
            "http://host/v1/\u{E9}", "HTTP://host/v1/traces", " http://host/v1/traces",
        ] {
            let (settings, problems) = try Self.read("[trace]\notlp = \"\(text)\"\n")
            #expect(problems.count == 1 && settings.otlp == nil, "\(text)")
            #expect(problems.first?.contains("write the collector's URL") == true)
        }
    }

    @Test(
        "mistakes name the key and the remedy",
        arguments: [
            ("", "trace.otlp", "write the collector's URL"), ("otlp = 3", "trace.otlp", "a string"),
            ("otlp = \"\(url)\"\notpl = 1", "trace.otpl", "otlp"),
        ])
    func mistakes(text: String, key: String, remedy: String) throws {
        let (_, problems) = try Self.read("[trace]\n\(text)\n")
        #expect(problems.count == 1)
        #expect(problems.first?.contains(key) == true && problems.first?.contains(remedy) == true)
    }

    @Test("a flag goes before its variable, and both before the file")
    func flags() throws {
        #expect(try ServerSettings(flags: .init(), environment: [:]).trace.otlp == nil)
        let environment = ["ASSAY_TRACE_OTLP": "http://variable/v1/traces"]
        let variable = try ServerSettings(flags: .init(), environment: environment)
        #expect(variable.trace.otlp == environment["ASSAY_TRACE_OTLP"])
        var flags = ServerSettings.Flags()
        flags.traceOTLP = Self.url
        let named = try ServerSettings(flags: flags, environment: environment)
        #expect(named.trace.otlp == Self.url)
        flags.traceOTLP = "collector"
        #expect(throws: Failure.self) { try ServerSettings(flags: flags, environment: [:]) }
    }

    @Test("a reason why spans were not exported names the collector, and no store")
    func reasons() {
        let table: [(StoreTransportError, String)] = [
            (.answerTooLarge(limit: 65_536), "the collector's answer has more than 65536 bytes"),
            (.timedOut(isSent: true), "no answer in time"),
        ]
        for (error, reason) in table { #expect(CurlSpanTransport.reason(error) == reason) }
    }

    @Test("a reload goes on with the service", .enabled(if: PlainTransport.isAvailable))
    func reload() throws {
        var table = TraceTable()
        table.otlp = Self.url
        let service = try #require(try table.service(reusing: nil, StandardErrorLog()))
        #expect(try table.service(reusing: service, StandardErrorLog()) === service)
        service.stop()
    }
}
