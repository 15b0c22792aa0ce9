import Assay
import AssayModels
import AssayServer

/// The metrics of revocation: each certificate of a chain that validated, and the requests.
struct RevocationMetrics {
    typealias Samples = [(labels: MetricsText.Labels, value: Double)]

    private(set) var all: [(name: String, type: MetricsText.Kind, help: String, samples: Samples)] =
        []

    init(_ report: RevocationReport, now: Timestamp) {
        func samples(_ value: (RevocationReport.Certificate) -> Double?) -> Samples {
            report.certificates.compactMap { certificate in
                value(certificate).map { (Self.labels(certificate), $0) }
            }
        }
        func seconds(_ date: Timestamp?) -> Double? {
            date.map { Double($0.milliseconds - now.milliseconds) / 1000 }
        }
        all = [
            (
                "assay_revocation_status", .gauge,
                "Always 1; the status of a chain's certificate is a label.",
                report.certificates.map { certificate in
                    (
                        Self.labels(certificate)
                            + [("status", certificate.status?.name ?? "none")], 1
                    )
                }
            ),
            (
                "assay_revocation_status_age_seconds", .gauge,
                "Age of a certificate's status, since its thisUpdate.",
                samples { seconds($0.status?.thisUpdate).map { -$0 } }
            ),
            (
                "assay_revocation_status_seconds_left", .gauge,
                "Seconds until a certificate's status is stale, at its nextUpdate.",
                samples { seconds($0.status?.nextUpdate) }
            ),
            (
                "assay_revocation_next_refresh_seconds", .gauge,
                "Seconds until a certificate's status is asked for again.",
                samples { seconds($0.nextRefresh) }
            ),
            (
                "assay_revocation_failures", .gauge,
                "Requests for a certificate's status that failed since the last success.",
                samples { Double($0.failures) }
            ),
            (
                "assay_revocation_requests_total", .counter,
                "Requests for statuses, by outcome.",
                RevocationReport.Outcome.allCases.map {
                    ([("outcome", $0.rawValue)], Double(report.requests[$0] ?? 0))
                }
            ),
            (
                "assay_revocation_documents", .gauge, "OCSP responses and CRLs that are loaded.",
                [([], Double(report.documents))]
            ),
            (
                "assay_revocation_unusable_files", .gauge,
                "Configured files of statuses that can't be used.",
                [([], Double(report.files.count))]
            ),
        ]
    }

    private static func labels(
        _ certificate: RevocationReport.Certificate
    ) -> MetricsText.Labels {
        [("certificate", certificate.id), ("position", certificate.position)]
    }
}
