import Assay
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry

extension Log {
    /// Logs the trusted roots, at the start and after each reload.
    func writeTrust(of apps: [String: AppEntry]) {
        var written: Set<String> = []
        let now = clock().seconds
        for name in apps.keys.sorted() {
            for anchor in apps[name]?.verifier.trust.anchors ?? [] {
                let use = anchor.development ? "development" : "all"
                guard written.insert(anchor.fingerprint + use).inserted else { continue }
                let days = (anchor.notAfter.seconds - now) / 86_400
                write(
                    anchor.notAfter.seconds < now ? .warning : .info, "trusted_root",
                    [
                        "name": .text(anchor.name), "fingerprint": .text(anchor.fingerprint),
                        "use": .text(use), "days_left": .number(Int(days)),
                    ])
            }
        }
        for name in apps.keys.sorted() {
            for root in apps[name]?.foreignProductionRoots ?? [] {
                write(
                    .warning, "foreign_production_root",
                    [
                        "app": .text(name), "name": .text(root.name),
                        "fingerprint": .text(root.fingerprint),
                        "reason": .text("not Apple's, and it validates Production evidence"),
                    ])
            }
        }
    }

    /// Logs the signature engine, at the start.
    func writeEngine(of apps: [String: AppEntry]) {
        guard let engine = apps.values.first?.verifier.engine else { return }
        write(.info, "signature_engine", ["name": .text(engine.current.rawValue)])
    }

    /// Logs a warning if the server's certificate has expired.
    func writeExpiry(of tls: TLSContext) {
        guard let end = tls.notAfter, end < clock().seconds else { return }
        write(.warning, "tls_certificate_expired", ["seconds": .number(Int(end))])
    }
}
