import AssayBytes
import AssayModels

extension Explanation {
    /// The explanation as JSON.
    ///
    /// - Parameter next: what to do next.
    package func json(next: [String]) -> [UInt8] {
        var writer = JSONWriter()
        write(to: &writer, next: next)
        return writer.text
    }

    private func write(to writer: inout JSONWriter, next: [String]) {
        writer.object { object in
            object.member("verdict", verification.verdict.name)
            object.member("detail", verification.detail)
            object.member("meaning", verification.verdict.meaning)
            object.array("next") { list in
                for text in next { list.value(text) }
            }
            object.member("kind", verification.kind?.name)
            object.member("notificationType", event?.type)
            object.member("subtype", event?.subtype)
            for (name, value) in keys { object.member(name, value) }
            object.member("verified", isVerified)
            object.member("failedCheck", failed?.step.check.rawValue)
            object.member("failedMember", failed?.member)
            object.array("sections") { list in
                for section in sections { list.object { section.write(to: &$0) } }
            }
            object.member("sectionsOmitted", Int64(omittedSections))
            object.member("trust", trust)
            object.array("certificates") { list in
                for certificate in certificates { list.object { certificate.write(to: &$0) } }
            }
            object.array("contents") { list in
                for content in contents { list.object { content.write(to: &$0) } }
            }
            object.array("problems") { list in
                for problem in inspection.problems.prefix(ExplanationLimits.problems) {
                    list.value(problem)
                }
            }
        }
    }
}

extension Explanation.Section {
    fileprivate func write(to object: inout JSONWriter) {
        object.member("member", member)
        object.member("kind", kind.name)
        object.array("checks") { list in
            for step in checks {
                list.object { object in
                    object.member("check", step.check.rawValue)
                    object.member("statement", step.check.statement)
                    object.member("outcome", step.outcome.rawValue)
                    object.member("found", step.found)
                    object.member("expected", step.expected)
                }
            }
        }
    }
}

extension Explanation.Content {
    fileprivate func write(to object: inout JSONWriter) {
        object.member("title", title)
        object.member("verified", isVerified)
        if let fields {
            object.array("fields") { list in
                for field in fields.shown {
                    list.object { object in
                        object.member("name", field.name)
                        object.member("value", field.value)
                        object.member("meaning", field.meaning)
                    }
                }
            }
            object.member("fieldsOmitted", Int64(fields.omitted))
        }
        object.member("text", text)
        guard recordCount > 0 else { return }
        object.array("records") { list in
            for record in records { list.object { $0.recordMembers(of: record) } }
        }
        object.member("recordsOmitted", Int64(recordCount - records.count))
        object.array("timeline") { list in
            for event in TimelineEvent.all(of: records) {
                list.object { object in
                    object.member("date", event.date.rfc3339)
                    object.member("event", event.text)
                }
            }
        }
    }
}
