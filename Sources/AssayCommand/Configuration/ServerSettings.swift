import Assay
import AssayAdmin
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer

/// The settings of `serve`. Flags take precedence over environment variables, then the file,
/// then the defaults.
struct ServerSettings {
    var listen: [Endpoint]
    /// Whether nothing names an address and the process inherited no socket.
    var isDefaultListen = false
    /// The number of workers; nil for one per processor.
    var workers: Int?
    var engine = SignatureEngine.best
    var limits: LimitSettings
    var unix: UnixSettings
    var tls: TLSSettings?
    var inherited: [InheritedSocket]
    var admin: AdminSettings
    var http: HTTPSettings
    var revocation = RevocationTable()
    var audit = AuditTable()
    var trace = TraceTable()
    var apps: [AppSettings]
    var deniedCount = 0
    /// The path of the configuration file; nil without one.
    var configuration: String?

    static let defaultListen = Endpoint.tcp(host: "127.0.0.1", port: 7443)

    /// The command-line flags; empty or nil when absent.
    struct Flags: Sendable {
        var listen: [Endpoint] = []
        var config: String?
        var roots: [String] = []
        var stores = PurchaseKeyArguments()
        var workers: Int?
        var engine = EngineChoice.auto
        var drainDelay: Int?
        var admin: Endpoint?
        var adminAnyAddress = false
        var adminExplain = false
        var audit: String?
        var auditEvidence = false
        var traceOTLP: String?
    }

    /// Combines flags, environment variables and the configuration file.
    ///
    /// - Parameter environment: the process's variables; reads `ASSAY_LISTEN`, `ASSAY_CONFIG`,
    ///   `ASSAY_WORKERS`, `ASSAY_ADMIN`, `ASSAY_AUDIT` and `ASSAY_TRACE_OTLP`.
    /// - Parameter inherited: the sockets that the process inherited.
    init(
        flags: Flags, environment: [String: String], inherited: [InheritedSocket] = []
    ) throws {
        func variable(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        var trust = TrustStore.apple
        for root in flags.roots { trust = try trust.pinning(file: root) }
        let fromEnvironment = try variable("ASSAY_LISTEN").map(Self.endpoints)
        let workers = try flags.workers ?? variable("ASSAY_WORKERS").map(Self.workers)
        configuration = flags.config ?? variable("ASSAY_CONFIG")
        let file = try configuration.map { try ConfigurationFile(path: $0, trust: trust) }

        listen =
            flags.listen.isEmpty
            ? fromEnvironment ?? file?.listen ?? (inherited.isEmpty ? [Self.defaultListen] : [])
            : flags.listen
        isDefaultListen =
            flags.listen.isEmpty && fromEnvironment == nil && file?.listen == nil
            && inherited.isEmpty
        self.inherited = inherited
        unix = file?.unix ?? UnixSettings()
        tls = file?.tls
        if let problem = ServerError.of(listen, hasTLS: tls != nil) {
            throw Failure(problem.description)
        }
        self.workers = workers ?? file?.workers
        engine = try flags.engine.supported
        limits = file?.limits ?? LimitSettings()
        if let seconds = flags.drainDelay {
            limits.server.drainDelayMilliseconds = UInt64(seconds) * 1000
        }
        admin = file?.admin ?? AdminSettings()
        let fromVariable = try variable("ASSAY_ADMIN").map(Self.adminEndpoint)
        admin.endpoint = flags.admin ?? fromVariable ?? admin.endpoint
        admin.allowsAnyAddress = admin.allowsAnyAddress || flags.adminAnyAddress
        admin.explains = admin.explains || flags.adminExplain
        if let endpoint = admin.endpoint {
            do throws(AdminError) {
                try AdminServer.check(endpoint, allowsAnyAddress: admin.allowsAnyAddress)
            } catch {
                throw Failure("\(error)")
            }
        }
        http = file?.http ?? HTTPSettings()
        revocation = file?.revocation ?? RevocationTable()
        audit = try (file?.audit ?? AuditTable()).writing(
            to: flags.audit ?? variable("ASSAY_AUDIT"), evidence: flags.auditEvidence)
        trace = try (file?.trace ?? TraceTable()).sending(
            to: flags.traceOTLP ?? variable("ASSAY_TRACE_OTLP"))
        apps = try file?.apps ?? [.open(trust: trust.pinningHarmony(authorities: flags.roots))]
        let stores = try flags.stores.read()
        let push = try flags.stores.push()
        for index in apps.indices {
            if push.keys != nil {
                (apps[index].googlePush, apps[index].googleJWKS) = (push, flags.stores.jwks)
            }
            apps[index].google.keys += stores.google
            apps[index].huawei.keys += stores.huawei
        }
        deniedCount = file?.denied.count ?? 0
    }

    private static func endpoints(_ text: String) throws -> [Endpoint] {
        try text.split { $0 == " " || $0 == "," }.map { part in
            do throws(EndpointError) {
                return try Endpoint(String(part))
            } catch {
                throw Failure("ASSAY_LISTEN: \(error)")
            }
        }
    }

    private static func adminEndpoint(_ text: String) throws -> Endpoint {
        do throws(EndpointError) {
            return try Endpoint(text)
        } catch {
            throw Failure("ASSAY_ADMIN: \(error)")
        }
    }

    private static func workers(_ text: String) throws -> Int {
        guard let number = Int(text), ConfigurationFile.workers.contains(number) else {
            let range = ConfigurationFile.workers
            throw Failure(
                "ASSAY_WORKERS: \"\(text)\" is not a number from \(range.lowerBound) to "
                    + "\(range.upperBound)")
        }
        return number
    }

    /// The app entry of requests that name no app.
    var defaultApp: AppSettings? {
        apps.first(where: \.isDefault) ?? (apps.count == 1 ? apps[0] : nil)
    }
}

extension ServerSettings {
    /// The configuration for the server. Entries with equal trust share a verifier and its
    /// cache, also with the entries of an earlier configuration.
    ///
    /// - Parameter startsServices: whether to keep revocation statuses: to read their files, and to
    ///   ask hosts.
    func serverConfiguration(
        reusing earlier: ServerConfiguration? = nil, startsServices: Bool = true
    ) throws(Failure) -> ServerConfiguration {
        let service =
            startsServices
            ? try revocation.service(reusing: earlier?.revocation, StandardErrorLog()) : nil
        let statuses = service?.statuses ?? RevocationStatuses()
        var verifiers: [TrustStore.Identity: Verifier] = [:]
        for entry in earlier?.apps.values.map({ $0 }) ?? [] {
            // Those of a time without statuses would not see them.
            guard service == nil || entry.verifier.revocation === statuses else { continue }
            verifiers[entry.verifier.trust.identity] = entry.verifier
        }
        var entries: [String: AppEntry] = [:]
        let engine = earlier?.apps.values.first?.verifier.engine ?? EngineInUse(engine)
        for app in apps {
            let verifier =
                verifiers[app.trust.identity]
                ?? Verifier(
                    trust: app.trust, keyTables: .onRequest, engine: engine, revocation: statuses)
            verifiers[app.trust.identity] = verifier
            entries[app.name] = try app.entry(verifier, limits.server, revocation.policy)
        }
        var configuration = ServerConfiguration(
            listen: listen, apps: entries, defaultApp: defaultApp?.name, limits: limits.server,
            version: AssayVersion.current)
        if let workers { configuration.workers = workers }
        configuration.inherited = inherited
        configuration.socketAccess = unix.access
        configuration.allowedUsers = unix.allowedUsers
        configuration.tls = tls?.context
        configuration.revocation = service
        if startsServices {
            configuration.keyFiles = try keyFiles(reusing: earlier?.keyFiles)
            configuration.audit = try audit.service(reusing: earlier?.audit, StandardErrorLog())
            configuration.spans = try trace.service(reusing: earlier?.spans, StandardErrorLog())
        }
        configuration.http = http
        configuration.admin = admin.endpoint
        return configuration
    }

    /// Reads the files of keys again when they change: an earlier service goes on.
    private func keyFiles(
        reusing earlier: KeyFileService?
    ) throws(Failure) -> KeyFileService? {
        let files = apps.compactMap { app -> KeyFile? in
            guard let path = app.googleJWKS, let keys = app.googlePush.keys else { return nil }
            return KeyFile(path: path, keys: keys)
        }
        guard !files.isEmpty else { return nil }
        do throws(ServerError) {
            let service = if let earlier { earlier } else { try KeyFileService() }
            try service.apply(files)
            return service
        } catch {
            throw Failure("jwks: \(error)")
        }
    }
}

extension AppSettings {
    fileprivate func entry(
        _ verifier: Verifier, _ limits: ServerLimits, _ revocation: RevocationPolicy
    ) throws(Failure) -> AppEntry {
        var policy = Policy(
            bundleId: bundleId, appAppleId: appAppleId,
            environments: Set(environments ?? StoreEnvironment.known),
            allowsLegacyKey: allowsLegacyKey, revocation: revocation)
        policy.google = google
        policy.googlePush = googlePush
        policy.huawei = huawei
        policy.harmonyApplicationIds = harmonyApplicationIds
        return AppEntry(
            verifier: verifier, policy: policy,
            unnamedEnvironments: environments == nil ? [.production] : nil, secrets: secrets,
            fetcher: try store?.fetcher(for: self, verifier, limits),
            signer: keys?.signer(for: self))
    }
}
