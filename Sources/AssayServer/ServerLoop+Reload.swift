import AssayLoop

/// What changes while the server runs.
extension ServerLoop {
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
        // Its listeners go on: without TLS for them the configuration would not have passed.
        take(new)
        if let tls = new.tls { warnOfExpiry(tls) }
        log.write(.info, "reloaded", ["apps": .number(new.apps.count)])
        for name in fixed { log.write(.warning, "restart_needed", ["setting": .text(name)]) }
        return fixed
    }

    func noteFailedReload(_ reasons: [String]) {
        for reason in reasons { log.write(.error, "reload_failed", ["reason": .text(reason)]) }
    }
}
