import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayAdmin
@testable import AssayServer
@testable import AssayTelemetry

/// Exemplars of traced requests, and the format that has them.
@Suite("Exemplars", .ownThread, .serialized, .timeLimit(.minutes(3))) struct ExemplarTests {
    private static func trace(_ digit: Int, sampled: Bool = true) -> TraceContext {
        let id = String(repeating: String(digit), count: 32)
        return TraceContext("00-\(id)-b7ad6b716920333\(digit)-0\(sampled ? 1 : 0)")!
    }

    private static func exemplar(_ digit: Int, at second: Int64) -> Exemplar {
        Exemplar(trace: trace(digit), time: Timestamp(milliseconds: second * 1000))
    }

    @Test("a bucket has its last traced value, of any worker")
    func buckets() {
        var first = Distribution(bounds: [10, 20])
        first.add(5)
        #expect(first.exemplars.isEmpty)
        first.add(20, from: Self.exemplar(1, at: 1))
        first.add(11, from: Self.exemplar(2, at: 2))
        first.add(12)
        first.add(21, from: Self.exemplar(3, at: 3))
        #expect(first.exemplars.map { $0?.value } == [nil, 11, 21])
        #expect(first.exemplars.map { $0?.trace } == [nil, Self.trace(2), Self.trace(3)])

        var second = Distribution(bounds: [10, 20])
        second.add(9, from: Self.exemplar(4, at: 1))
        second.add(19, from: Self.exemplar(5, at: 1))
        second.add(99, from: Self.exemplar(6, at: 4))
        for (left, right) in [(first, second), (second, first)] {
            var sum = left
            sum.add(right)
            #expect(sum.exemplars.map { $0?.value } == [9, 11, 99])
            #expect(sum.count == 8)
        }
        var none = Distribution(bounds: [10, 20])
        none.add(first)
        #expect(none.exemplars == first.exemplars)
        first.add(Distribution(bounds: [10, 20]))
        #expect(none.exemplars == first.exemplars)
    }

    @Test("OpenMetrics is for those who name it and prefer it")
    func formats() {
        let name = "application/openmetrics-text"
        let table: [(String?, MetricsFormat)] = [
            (nil, .prometheus), ("", .prometheus), ("*/*", .prometheus),
            ("text/plain", .prometheus),
            ("text/html,application/xhtml+xml,*/*;q=0.8", .prometheus), (name, .openMetrics),
            ("\(name);version=1.0.0", .openMetrics), ("\(name); version=0.0.1", .prometheus),
            ("\(name);q=0", .prometheus), ("\(name);q=x", .prometheus),
            ("\(name);q=0.5,text/plain", .prometheus),
            ("text/plain, Application/OpenMetrics-Text ; Version=1.0.0 ", .openMetrics),
            // Prometheus 2.53 and 3.
            (
                "\(name);version=1.0.0;q=0.5,\(name);version=0.0.1;q=0.4,"
                    + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2", .openMetrics
            ),
            (
                "\(name);version=1.0.0;escaping=allow-utf-8;q=0.6,\(name);version=0.0.1;q=0.5,"
                    + "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,"
                    + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2", .openMetrics
            ),
            (String(repeating: ",", count: 10_000) + ";;;=;" + name, .prometheus),
        ]
        for (accept, format) in table {
            #expect(MetricsFormat(accepted: accept) == format, "\(accept ?? "nil")")
        }
    }

    /// Lines of OpenMetrics as those of Prometheus' format, in which a counter has its whole name,
    /// and bounds are written like other numbers.
    private static func asPrometheus(_ text: String) -> [String] {
        text.split(separator: "\n").compactMap { line -> String? in
            guard line != "# EOF" else { return nil }
            let words = line.split(separator: " ", maxSplits: 3)
            if words[0] == "#", words[1] == "TYPE" {
                switch words[3] {
                case "counter": return "# TYPE \(words[2])_total counter"
                // The name of another metric is that of the counter without `_total`.
                case "unknown": return "# TYPE \(words[2]) counter"
                default: return String(line)
                }
            }
            guard !line.hasPrefix("# HELP") else { return nil }
            let sample = line.firstRange(of: " # ").map { line[..<$0.lowerBound] } ?? line
            return String(sample.replacing(#".0"}"#, with: #""}"#))
        }
    }

    @Test("both formats have the same samples, and OpenMetrics the last trace of a bucket")
    func page() throws {
        let admin = try SimulatedAdminTest()
        let client = try RawClient(admin.test.unix)
        let token = try Minted.transaction.get()
        for (id, trace) in [(1, nil), (2, Self.trace(1)), (3, Self.trace(2, sampled: false))]
            as [(UInt64, TraceContext?)]
        {
            let call = VerifyCall(kind: .transaction, returnsTypedPayload: false)
            try client.send(
                RawClient.frame(
                    RequestHead(
                        id: id, call: .verify(call), timeoutMilliseconds: RawClient.patience,
                        trace: trace), token))
            #expect(try client.receive()?.head.status == .ok)
        }
        admin.test.simulated.pass(milliseconds: 200)
        let text = admin.get("/metrics").body
        let open = admin.get("/metrics", accept: "application/openmetrics-text").body
        #expect(!text.contains("trace_id") && !text.contains("EOF") && open.hasSuffix("\n# EOF\n"))
        /// Without what differs from one moment to the next.
        func steady(_ lines: [String]) -> [String] {
            lines.filter { !$0.hasPrefix("process_") && !$0.hasPrefix("assay_state_age") }
        }
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("# HELP") }.map { "\($0)" }
        #expect(steady(Self.asPrometheus(open)) == steady(lines))
        let names = open.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }
            .map { $0.split(separator: " ")[2] }
        #expect(Set(names).count == names.count && names.contains("assay_connections_total"))
        let exemplars = open.split(separator: "\n").filter { $0.contains(" # {") }
        try #require(exemplars.count == 1)
        let id = Self.trace(1).traceId
        #expect(exemplars[0].hasPrefix(#"grpc_server_handling_seconds_bucket{grpc_type="unary","#))
        #expect(exemplars[0].contains(##" # {trace_id="\##(id)",span_id="b7ad6b7169203331"} "##))
        let time = Double(Minted.now.milliseconds) / 1000
        #expect(exemplars[0].hasSuffix(" \(time)"))
        admin.end()
    }
}
