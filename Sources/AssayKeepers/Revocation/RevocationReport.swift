package import Assay
import AssayBytes
package import AssayModels
import AssayTelemetry

/// What a server knows of revocation, for operators.
package struct RevocationReport: Sendable, Equatable {
    /// One certificate of a chain that validated.
    package struct Certificate: Sendable, Equatable {
        package var id: String
        /// `leaf` or `intermediate`.
        package var position: String
        package var name: String
        package var serial: String
        /// Nil if there is none.
        package var status: RevocationStatus?
        /// The name of the document that states it.
        package var source: String?
        /// Why other documents are not used, and why the last request failed.
        package var problems: [String]
        /// When it is asked for again; nil for never.
        package var nextRefresh: Timestamp?
        /// Requests that failed since the last success.
        package var failures: Int
        /// Why it is never asked for; nil if it is.
        package var notAsked: String?
    }

    /// How a request ended.
    package enum Outcome: String, Sendable, CaseIterable {
        case answered
        case timedOut = "timed_out"
        case tooLarge = "too_large"
        case httpStatus = "http_status"
        case unreachable
        /// The answer was no response that can be used.
        case notUsed = "not_used"
    }

    /// A file that can't be used, and why.
    package struct FileProblem: Sendable, Equatable {
        package var path: String
        package var problem: String
    }

    package var certificates: [Certificate] = []
    /// Responses and CRLs that are loaded.
    package var documents = 0
    package var files: [FileProblem] = []
    /// Requests by their outcome.
    package var requests: [Outcome: UInt64] = [:]

    /// The name of the report in the state folder.
    package static let fileName = "status.json"

    package init() {}
}

extension RevocationReport {
    /// The report as JSON, for `assay revocation status`.
    func json(at now: Timestamp) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { report in
            report.member("writtenAt", now.rfc3339)
            report.array("certificates") { list in
                for certificate in certificates {
                    list.object { $0.members(of: certificate) }
                }
            }
            report.member("documents", Int64(documents))
            report.array("files") { list in
                for file in files {
                    list.object {
                        $0.member("path", file.path)
                        $0.member("problem", file.problem)
                    }
                }
            }
            report.object("requests") { list in
                for outcome in Outcome.allCases {
                    list.member(outcome.rawValue, Int64(requests[outcome] ?? 0))
                }
            }
        }
        return writer.text
    }
}

extension JSONWriter {
    fileprivate mutating func members(of certificate: RevocationReport.Certificate) {
        member("id", certificate.id)
        member("position", certificate.position)
        member("name", certificate.name)
        member("serial", certificate.serial)
        member("status", certificate.status?.name ?? "none")
        if case .revoked(let date, let reason) = certificate.status?.state {
            member("revokedAt", date.rfc3339)
            member("reason", reason.text)
        }
        member("thisUpdate", certificate.status?.thisUpdate.rfc3339)
        member("nextUpdate", certificate.status?.nextUpdate?.rfc3339)
        member("source", certificate.source)
        member("nextRefresh", certificate.nextRefresh?.rfc3339)
        member("failures", Int64(certificate.failures))
        member("notAsked", certificate.notAsked)
        array("problems") { list in
            for problem in certificate.problems { list.value(problem) }
        }
    }
}
