import AssayBytes

extension LoadResult {
    /// The text summary for standard output.
    package var summary: String {
        var lines = [
            "\(throughput.rounded0) correct answers per second over \(seconds.short) s"
                + (settings.pace == .closed ? " (closed loop)" : " (open loop)"),
            "sent \(counts.sent) (\(sentRate.rounded0)/s), correct \(counts.correct), "
                + "wrong verdicts \(counts.wrong), refused \(counts.refused), "
                + "errors \(counts.errors), unanswered \(unanswered)",
            counts.correct == 0
                ? "no correct answers, so no latencies"
                : "latency in ms: "
                    + Self.percentiles.map { name, percentile in
                        let name = percentile == 100 ? "max" : "p" + name
                        return "\(name) \(latencies.milliseconds(at: percentile).short)"
                    }.joined(separator: "  "),
            "late by ms: p99 \(lateness.milliseconds(at: 99).short)  "
                + "max \(lateness.milliseconds(at: 100).short)",
            "processors: generator \(processor.own.short)"
                + (processor.server.map { ", server \($0.short)" } ?? ""),
        ]
        if groups.count > 1 {
            for (name, counts, latencies) in groups {
                lines.append(
                    "  \(name): sent \(counts.sent), correct \(counts.correct), "
                        + "p50 \(latencies.milliseconds(at: 50).short) ms, "
                        + "p99 \(latencies.milliseconds(at: 99).short) ms")
            }
        }
        for complaint in complaints { lines.append("\(complaint.count) × \(complaint.what)") }
        if wasInterrupted { lines.append("interrupted: these are the results so far") }
        if let late = lateReason {
            lines.append("FAILED: the generator was late: \(late)")
        }
        return lines.joined(separator: "\n")
    }

    /// The version of the JSON's members. A new member keeps it; one that changes its meaning or
    /// goes raises it.
    static let schemaVersion: Int64 = 1

    /// The units of the JSON's members, by name.
    private static let units = [
        ("rate", "1/s"), ("throughput", "1/s"), ("sentRate", "1/s"), ("seconds", "s"),
        ("time", "s"), ("latency", "ms"), ("p50", "ms"), ("p99", "ms"), ("latenessP99", "ms"),
        ("percent", "%"), ("processorsGenerator", "processors"), ("processorsServer", "processors"),
        ("generatorPerAnswer", "µs"), ("serverPerAnswer", "µs"),
    ]

    /// The results as JSON.
    ///
    /// - Parameter steps: The runs of the rate search; this run is the best of these.
    package func json(_ record: RunRecord, steps: [RateSweep.Step] = []) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            Self.about(record, of: &object)
            members(of: &object, steps)
        }
        return writer.text
    }

    /// The results of several protocols as JSON.
    package static func json(_ runs: [ProtocolRun], _ record: RunRecord) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            about(record, of: &object)
            object.array("runs") { array in
                for run in runs {
                    array.object { run.result.members(of: &$0, run.steps) }
                }
            }
        }
        return writer.text
    }

    /// Writes when, where and with which versions the run was made, and the units.
    private static func about(_ record: RunRecord, of object: inout JSONWriter) {
        object.member("schemaVersion", schemaVersion)
        object.member("date", record.date)
        object.member("command", record.command)
        object.object("versions") { members in
            members.member("generator", record.version)
            if let server = record.server {
                members.member("server", server.version)
                members.member("engine", server.engine)
            }
        }
        object.object("machine") { members in
            members.member("processor", record.machine.processor)
            members.member("processors", Int64(record.machine.processors))
            members.member("system", record.machine.system)
        }
        object.object("units") { members in
            for (name, unit) in units { members.member(name, unit) }
        }
    }

    private func members(of object: inout JSONWriter, _ steps: [RateSweep.Step]) {
        asked(of: &object)
        answered(of: &object)
        details(of: &object)
        guard !steps.isEmpty else { return }
        object.array("steps") { array in
            for step in steps {
                array.object { object in
                    object.member("rate", step.rate)
                    object.member("throughput", step.result.throughput)
                    object.member("p99", step.result.latencies.milliseconds(at: 99))
                    object.member("failure", step.failure)
                }
            }
        }
    }

    /// Writes the settings of the run.
    private func asked(of object: inout JSONWriter) {
        switch settings.pace {
        case .open(let rate, let arrivals):
            object.member("loop", "open")
            object.member("rate", rate)
            object.member("arrivals", arrivals.rawValue)
        case .closed: object.member("loop", "closed")
        }
        object.member("server", "\(settings.endpoint)")
        object.member("protocol", settings.loadProtocol.rawValue)
        object.member("threads", Int64(settings.threads))
        object.member("connections", Int64(settings.connections))
        object.member("depth", Int64(settings.depth))
    }

    /// Writes the overall results, one number each.
    private func answered(of object: inout JSONWriter) {
        object.member("throughput", throughput)
        object.member("sentRate", sentRate)
        object.member("seconds", seconds)
        object.member("sent", Int64(counts.sent))
        object.member("correct", Int64(counts.correct))
        object.member("wrong", Int64(counts.wrong))
        object.member("refused", Int64(counts.refused))
        object.member("errors", Int64(counts.errors))
        object.member("unanswered", Int64(unanswered))
        object.object("latency") { members in
            for (name, percentile) in Self.percentiles {
                members.member("p" + name, latencies.milliseconds(at: percentile))
            }
        }
        object.member("latenessP99", lateness.milliseconds(at: 99))
        object.member("late", lateReason != nil)
        object.member("interrupted", wasInterrupted)
        object.member("processorsGenerator", processor.own)
        if let server = processor.server {
            object.member("processorsServer", server)
        }
        object.member("generatorPerAnswer", generatorPerAnswer)
        object.member("serverPerAnswer", serverPerAnswer)
    }

    /// Writes the results by kind, by complaint, by percentile and by second.
    private func details(of object: inout JSONWriter) {
        object.array("groups") { array in
            for (name, counts, latencies) in groups {
                array.object { $0.members(of: name, counts, latencies) }
            }
        }
        object.array("complaints") { array in
            for complaint in complaints {
                array.object { object in
                    object.member("what", complaint.what)
                    object.member("count", Int64(complaint.count))
                }
            }
        }
        object.array("percentiles") { array in
            for (percent, milliseconds) in percentileCurve {
                array.object { object in
                    object.member("percent", percent)
                    object.member("latency", milliseconds)
                }
            }
        }
        object.array("moments") { array in
            for moment in moments { array.object { $0.members(of: moment) } }
        }
    }
}

extension Moment {
    /// The progress line of a running test.
    package var line: String {
        let rate = Double(counts.correct) / seconds
        return "\(time.rounded0) s\(isWarmUp ? " (warm-up)" : "")  sent \(counts.sent)  "
            + "correct \(rate.rounded0)/s  p50 \(p50.short) ms  p99 \(p99.short) ms  "
            + "max \(max.short) ms  late p99 \(latenessP99.short) ms  in flight \(inFlight)"
            + (counts.wrong > 0 ? "  WRONG \(counts.wrong)" : "")
            + (counts.refused > 0 ? "  REFUSED \(counts.refused)" : "")
            + (counts.errors > 0 ? "  ERRORS \(counts.errors)" : "")
    }
}

extension JSONWriter {
    fileprivate mutating func members(
        of group: String, _ counts: Counts, _ latencies: Latencies
    ) {
        member("name", group)
        member("sent", Int64(counts.sent))
        member("correct", Int64(counts.correct))
        member("wrong", Int64(counts.wrong))
        member("refused", Int64(counts.refused))
        member("errors", Int64(counts.errors))
        member("p50", latencies.milliseconds(at: 50))
        member("p99", latencies.milliseconds(at: 99))
    }

    fileprivate mutating func members(of moment: Moment) {
        member("time", moment.time)
        member("throughput", Double(moment.counts.correct) / moment.seconds)
        member("wrong", Int64(moment.counts.wrong))
        member("refused", Int64(moment.counts.refused))
        member("errors", Int64(moment.counts.errors))
        member("p50", moment.p50)
        member("p99", moment.p99)
        member("inFlight", Int64(moment.inFlight))
        member("warmUp", moment.isWarmUp)
    }
}
