import AssayIO
import Foundation
import Testing

@testable import AssayLoad

/// Returns a result as if a run had produced it.
func fakeResult(
    _ pace: Pace = .open(rate: 1000, .constant), sent: Int = 1000, correct: Int? = nil,
    wrong: Int = 0, refused: Int = 0, errors: Int = 0, latency: UInt64 = 1_000_000,
    lateness: UInt64 = 10_000, seconds: Double = 1, isInterrupted: Bool = false,
    complaints: [String: Int] = [:], server: Double? = 0.5
) -> LoadResult {
    var tally = Tally(groups: 1)
    tally.groups[0].counts = Counts(
        sent: sent, correct: correct ?? sent - wrong - refused - errors, wrong: wrong,
        refused: refused, errors: errors)
    for _ in 0..<tally.groups[0].counts.correct { tally.groups[0].latencies.note(latency) }
    for _ in 0..<sent { tally.lateness.note(lateness) }
    tally.complaints = complaints
    let moment = Moment(
        time: 1, seconds: 1, counts: tally.groups[0].counts, p50: 1, p99: 2, max: 3,
        latenessP99: 0.1, inFlight: 4, isWarmUp: false)
    return LoadResult(
        settings: LoadSettings(endpoint: .tcp(host: "127.0.0.1", port: 7443), pace: pace, depth: 8),
        names: ["transaction"], tally: tally, sendingSeconds: seconds, seconds: seconds,
        moments: [moment], processor: .init(own: 0.25, server: server),
        wasInterrupted: isInterrupted)
}

@Suite("Results")
struct ResultTests {
    private static let record = RunRecord(
        command: "assay load <x> & y", date: "2026-11-22T18:00:00Z", version: "1.2.3",
        server: .init(version: "1.2.4", engine: "portable"),
        machine: .init(processor: "<Quick> 9000", processors: 2, system: "Debian, Linux 6.1"))

    @Test("a generator that sends late, or too little, is reported")
    func lateness() {
        #expect(fakeResult().lateReason == nil)
        #expect(fakeResult(lateness: LoadLimits.latenessNanoseconds - 1000).lateReason == nil)
        #expect(
            fakeResult(lateness: LoadLimits.latenessNanoseconds * 2).lateReason?
                .contains("late") == true)
        // A tenth below the rate, and slightly below it by chance.
        #expect(fakeResult(sent: 90_000, seconds: 100).lateReason?.contains("900") == true)
        #expect(fakeResult(sent: 99_500, seconds: 100).lateReason == nil)
        var tolerant = fakeResult(lateness: 9_000_000)
        #expect(tolerant.lateReason?.contains("--late-limit") == true)
        tolerant.settings.latenessLimit = 10_000_000
        #expect(tolerant.lateReason == nil)
        // A closed loop has no schedule to be late for.
        #expect(fakeResult(.closed, lateness: 10_000_000).lateReason == nil)
    }

    @Test("only expected verdicts count as throughput; others are counted by kind")
    func counts() {
        let clean = fakeResult()
        #expect(clean.isClean && clean.throughput == 1000 && clean.unanswered == 0)
        for result in [
            fakeResult(wrong: 1), fakeResult(refused: 1), fakeResult(errors: 1),
            fakeResult(correct: 999), fakeResult(sent: 0),
        ] { #expect(!result.isClean) }
        let mixed = fakeResult(correct: 900, wrong: 10, refused: 20, errors: 30)
        #expect(mixed.throughput == 900 && mixed.unanswered == 40)
        #expect(mixed.summary.contains("wrong verdicts 10, refused 20, errors 30, unanswered 40"))
    }

    @Test("tallies add up, with a bounded number of complaints")
    func tally() {
        var (one, two) = (Tally(groups: 2), Tally(groups: 2))
        one.note(.correct, of: 0, latency: 1_000_000)
        two.note(.correct, of: 0, latency: 3_000_000)
        two.note(.wrong("bad"), of: 1, latency: 1)
        two.note(.refused("full"), of: 1, latency: 1)
        two.note(.error("lost"), of: 1, latency: 1)
        two.lastAnswer = 9
        one.add(two)
        #expect(one.whole.counts == Counts(correct: 2, wrong: 1, refused: 1, errors: 1))
        #expect(one.groups[0].counts == Counts(correct: 2))
        #expect(one.whole.latencies.totalCount == 2, "only correct answers have a latency")
        #expect(abs(one.whole.latencies.milliseconds(at: 100) - 3) < 0.01)
        #expect(one.complaints == ["bad": 1, "full": 1, "lost": 1] && one.lastAnswer == 9)
        for index in 0..<100 { one.note(.error("error \(index)"), of: 0, latency: 1) }
        #expect(one.complaints.count <= 21)
        #expect(one.complaints.values.reduce(0, +) == 103)
    }

    @Test("the JSON parses")
    func json() throws {
        let result = fakeResult(
            wrong: 2, refused: 3, complaints: ["a \"quoted\"\nreason": 5])
        let steps = [RateSweep.Step(rate: 500, result: result, failure: "too slow")]
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(result.json(Self.record, steps: steps)))
                as? [String: Any])
        #expect(object["loop"] as? String == "open")
        #expect(object["sent"] as? Int == 1000 && object["refused"] as? Int == 3)
        #expect(object["wrong"] as? Int == 2 && object["correct"] as? Int == 995)
        #expect(object["processorsServer"] as? Double == 0.5)
        #expect(object["schemaVersion"] as? Int == 1)
        #expect(object["date"] as? String == "2026-11-22T18:00:00Z")
        #expect((object["versions"] as? [String: String])?["server"] == "1.2.4")
        #expect((object["machine"] as? [String: Any])?["processors"] as? Int == 2)
        // Each unit is that of a member.
        let units = try #require(object["units"] as? [String: String])
        let text = String(decoding: result.json(Self.record, steps: steps), as: UTF8.self)
        for name in units.keys {
            #expect(text.components(separatedBy: "\"\(name)\":").count > 2, "\(name)")
        }
        let latency = try #require(object["latency"] as? [String: Double])
        #expect(abs(try #require(latency["p99"]) - 1) < 0.01)
        let complaints = try #require(object["complaints"] as? [[String: Any]])
        #expect(complaints.first?["what"] as? String == "a \"quoted\"\nreason")
        for name in ["groups", "percentiles", "moments", "steps"] {
            #expect((object[name] as? [Any])?.isEmpty == false, "\(name)")
        }
        let alone = try #require(
            try JSONSerialization.jsonObject(with: Data(result.json(Self.record)))
                as? [String: Any])
        #expect(alone["steps"] == nil)
    }

    @Test("the HTML is well-formed, self-contained, and lists failures")
    func html() throws {
        let result = fakeResult(
            wrong: 7, refused: 11, errors: 13, lateness: 5_000_000, isInterrupted: true,
            complaints: ["<b>&\"": 7])
        let steps = [RateSweep.Step(rate: 500, result: result, failure: "p99 <9> ms")]
        let page = HTMLReport(
            result, steps: steps, record: Self.record
        ).text
        for text in [
            "generator was late", "7 answers had another verdict", "11 requests were rejected",
            "13 requests got no verdict", "interrupted", "assay load &lt;x&gt; &amp; y",
            "&lt;b&gt;&amp;&quot;", "p99 &lt;9&gt; ms", "prefers-color-scheme:dark",
            "2 × &lt;Quick&gt; 9000, Debian, Linux 6.1", "generator 1.2.3, server 1.2.4",
            "asked for", "data-label=\"sent\">1,000<", "2026-11-22T18:00:00Z",
        ] { #expect(page.contains(text), "\(text)") }
        #expect(page.components(separatedBy: "<svg").count == 5, "four plots")
        #expect(!page.contains("<script") && !hasNonsense(page))
        for attribute in ["src=", "href=", "url(", "@import"] {
            #expect(!page.contains(attribute), "needs nothing from elsewhere")
        }
        try expectBalanced(page)
    }

    @Test("the HTML of a run without answers is complete")
    func empty() throws {
        for pace in [Pace.closed, .open(rate: 10, .poisson)] {
            let page = HTMLReport(
                fakeResult(pace, sent: 0, seconds: 0), record: Self.record
            ).text
            try expectBalanced(page)
            #expect(!hasNonsense(page))
        }
    }

    /// Whether the page contains NaN or infinity.
    private func hasNonsense(_ page: String) -> Bool {
        page.range(of: #"\b(nan|inf)\b"#, options: .regularExpression) != nil
    }

    /// Checks that every opened tag is closed, in order.
    private func expectBalanced(_ page: String) throws {
        var open: [Substring] = []
        var rest = page[...]
        while let start = rest.firstIndex(of: "<") {
            let end = try #require(rest[start...].firstIndex(of: ">"))
            let tag = rest[rest.index(after: start)..<end]
            rest = rest[rest.index(after: end)...]
            if tag.hasPrefix("!") || tag.hasSuffix("/") || tag.hasPrefix("meta") { continue }
            if tag.hasPrefix("/") {
                #expect(open.popLast() == tag.dropFirst())
            } else {
                open.append(tag.prefix { $0 != " " })
            }
        }
        #expect(open == [])
    }

    @Test(
        "readable numbers",
        arguments: [
            (0.0, "0.000"), (0.0451, "0.045"), (1.239, "1.24"), (12.35, "12.4"), (250.4, "250"),
            (15, "15"), (.infinity, "-"),
        ])
    func short(value: Double, text: String) { #expect(value.short == text) }
}
