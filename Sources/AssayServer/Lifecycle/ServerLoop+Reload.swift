import Assay
import AssayIO
import AssayModels

/// Reloads the configuration.
extension ServerLoop {
    /// Applies a new configuration.
    ///
    /// - Returns: the settings that need a restart to change.
    func reload(_ new: ServerConfiguration) -> [String] {
        var new = new
        let old = configuration
        var fixed: [String] = []
        if new.listen != old.listen { fixed.append("listen") }
        if new.workers != old.workers { fixed.append("workers") }
        if new.socketAccess != old.socketAccess { fixed.append("unix") }
        if new.admin != old.admin { fixed.append("admin") }
        (new.listen, new.inherited, new.socketAccess) =
            (old.listen, old.inherited, old.socketAccess)
        (new.workers, new.log, new.clock) = (old.workers, old.log, old.clock)
        (new.monitor, new.admin) = (old.monitor, old.admin)
        // TLS listeners stay: the check rejects a configuration without TLS for them.
        take(new)
        endForbiddenConnections()
        if let tls = new.tls { warnOfExpiry(tls) }
        log.write(.info, "reloaded", ["apps": .number(new.apps.count)])
        logTrust()
        for name in fixed { log.write(.warning, "restart_needed", ["setting": .text(name)]) }
        return fixed
    }

    /// Logs the trusted roots, at the start and after each reload.
    func logTrust() {
        var told: Set<String> = []
        let now = configuration.clock().seconds
        for name in configuration.apps.keys.sorted() {
            for anchor in configuration.apps[name]?.verifier.trust.anchors ?? [] {
                let use = anchor.development ? "development" : "all"
                guard told.insert(anchor.fingerprint + use).inserted else { continue }
                let days = (anchor.notAfter.seconds - now) / 86_400
                log.write(
                    anchor.notAfter.seconds < now ? .warning : .info, "trusted_root",
                    [
                        "name": .text(anchor.name), "fingerprint": .text(anchor.fingerprint),
                        "use": .text(use), "days_left": .number(Int(days)),
                    ])
            }
        }
        for name in configuration.apps.keys.sorted() {
            for root in configuration.apps[name]?.foreignProductionRoots ?? [] {
                log.write(
                    .warning, "foreign_production_root",
                    [
                        "app": .text(name), "name": .text(root.name),
                        "fingerprint": .text(root.fingerprint),
                        "reason": .text("not Apple's, and it validates Production evidence"),
                    ])
            }
        }
    }

    func noteFailedReload(_ reasons: [String]) {
        for reason in reasons { log.write(.error, "reload_failed", ["reason": .text(reason)]) }
    }
}
