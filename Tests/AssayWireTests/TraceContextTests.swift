import Testing

@testable import AssayWire

/// The value of `traceparent`, by W3C Trace Context.
@Suite("traceparent") struct TraceContextTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"
    private static let none = String(repeating: "0", count: 32)

    @Test("a value of version 00 is read and written")
    func version0() throws {
        for flags in ["00", "01", "02", "03", "ff", "fe"] {
            let text = "00-\(Self.trace)-\(Self.span)-\(flags)"
            let context = try #require(TraceContext(text))
            #expect(context.traceId == Self.trace && context.parentId == Self.span)
            #expect(context.isSampled == ["01", "03", "ff"].contains(flags))
            #expect(context.text == text && TraceContext(context.text) == context)
        }
        // Half of the trace is 0, and digits at the ends of their ranges.
        for trace in ["\(Self.none.dropLast())9", "1\(Self.none.dropLast())", "af09" + Self.none] {
            let id = String(trace.prefix(32))
            let text = "00-\(id)-000000000000000f-00"
            #expect(TraceContext(text)?.traceId == id && TraceContext(text)?.text == text)
        }
    }

    @Test("of a later version the members of version 00 are read")
    func laterVersions() {
        let value = "\(Self.trace)-\(Self.span)-01"
        for text in ["01-\(value)", "cc-\(value)", "fe-\(value)-", "01-\(value)-what-follows"] {
            #expect(TraceContext(text)?.text == "00-\(value)")
        }
        let longest = "01-\(value)-" + String(repeating: "x", count: 200)
        #expect(longest.utf8.count == 256 && TraceContext(longest) != nil)
        #expect(TraceContext(longest + "x") == nil)
        #expect(TraceContext("01-\(value)x") == nil && TraceContext("01-\(value)0-a") == nil)
    }

    @Test("what the standard ignores is no trace")
    func ignored() {
        let value = "00-\(Self.trace)-\(Self.span)-01"
        var texts = [
            "", "-", "00", value + "-", value + "0", value + "-00", " " + value, value + " ",
            String(value.dropLast()), value.uppercased(), "ff" + value.dropFirst(2),
            "00-\(Self.none)-\(Self.span)-01", "00-\(Self.trace)-0000000000000000-01",
            "00-\(Self.trace)-\(Self.span)-0g", "0x-\(Self.trace)-\(Self.span)-01",
            "00-\(Self.trace.dropLast())/-\(Self.span)-01",
            "00-\(Self.trace.dropLast()):-\(Self.span)-01",
            "00-\(Self.trace.dropLast())`-\(Self.span)-01",
            "00-\(Self.trace.dropLast())G-\(Self.span)-01",
            "00-\(Self.trace)-\(Self.span.dropLast())é-1",
        ]
        for index in value.indices where value[index] == "-" {
            texts.append(value.replacing("-", with: "_", maxReplacements: 1))
            var other = value
            other.replaceSubrange(index...index, with: "0")
            texts.append(other)
        }
        for text in texts { #expect(TraceContext(text) == nil, "\(text)") }
    }

    @Test("contexts that differ in a member differ")
    func equality() {
        let texts = [
            "00-\(Self.trace)-\(Self.span)-01", "00-\(Self.trace)-\(Self.span)-00",
            "00-\(Self.trace)-b7ad6b7169203332-01", "00-1\(Self.trace.dropFirst())-\(Self.span)-01",
            "00-\(Self.trace.dropLast())d-\(Self.span)-01",
        ]
        #expect(Set(texts.compactMap { TraceContext($0) }).count == texts.count)
    }
}
