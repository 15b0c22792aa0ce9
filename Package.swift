// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .strictMemorySafety(),
    .enableExperimentalFeature("Lifetimes"),
    .enableExperimentalFeature("SafeInteropWrappers"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .treatAllWarnings(as: .error),
]

// The conventions of Swift on servers: logging, metrics, tracing, services. The trait adds them to the
// libraries; the scripts that build the tool leave it out.
let serverSide: [Target.Dependency] = [
    ("Logging", "swift-log"), ("Metrics", "swift-metrics"),
    ("Tracing", "swift-distributed-tracing"), ("ServiceLifecycle", "swift-service-lifecycle"),
].map { .product(name: $0, package: $1, condition: .when(traits: ["ServerSide"])) }

// A target can import the modules that it lists, and no others. The verifier does not import the
// wire, nor the wire the verifier. The modules of the server connect them; AssayAdmin, the commands,
// FuzzTargets and bench import both, too.
let package = Package(
    name: "assay",
    products: [
        .executable(name: "assay", targets: ["AssayMain"]),
        .executable(name: "assay-dev", targets: ["AssayDevMain"]),
        .library(name: "Assay", targets: ["Assay"]),
        // The types in the interfaces of the other products.
        .library(name: "AssayModels", targets: ["AssayModels"]),
        .library(name: "AssayEntitlements", targets: ["AssayEntitlements"]),
        .library(name: "AssayServer", targets: ["AssayServer"]),
        .library(name: "AssayClient", targets: ["AssayClient"]),
        .library(name: "AssayStore", targets: ["AssayStore"]),
        .library(name: "AssayMint", targets: ["AssayMint"]),
    ],
    traits: [
        .trait(
            name: "ServerSide",
            description: """
                AssayClient, AssayStore and AssayServer log, count and trace by the packages that \
                servers in Swift share, and are services of a ServiceGroup.
                """),
        .default(enabledTraits: ["ServerSide"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
        // Of the trait ServerSide.
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.9.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.6.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // C libraries: one system module each.
        .systemLibrary(
            name: "CLibuv", pkgConfig: "libuv", providers: [.apt(["libuv1-dev"])]),
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(
            name: "CProtobufC", pkgConfig: "libprotobuf-c",
            providers: [.apt(["libprotobuf-c-dev"])]),
        .systemLibrary(
            name: "CNghttp2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .target(name: "CAssayProto", dependencies: ["CProtobufC"]),
        // The text of AssayMint's scenarios.
        .target(name: "CAssayScenarios"),
        // Base64 and records of receipts by vector instructions, which Swift cannot choose at run time.
        .target(name: "CAssayBytes"),
        // P-256 by vector instructions, which Swift cannot choose at run time.
        .target(name: "CAssayP256"),
        // Points of P-384 by instructions with two carry flags, which Swift does not use.
        .target(name: "CAssayP384"),
        // libcurl (libcurl4-openssl-dev): its header alone; the library is loaded on demand.
        .target(name: "CCurl"),

        // Shared model types: verdicts, kinds, Apple's payload fields. No logic.
        .target(name: "AssayModels", swiftSettings: settings),
        // Verified evidence, a time and a policy in; what the customer owns out.
        .target(
            name: "AssayEntitlements", dependencies: ["AssayModels"], swiftSettings: settings),
        // The one lock, which ThreadSanitizer understands.
        .target(name: "AssayLocks", swiftSettings: settings),
        // Elliptic-curve arithmetic for public data: fields, points, tables, ECDSA verification.
        .target(
            name: "AssayCurves", dependencies: ["CAssayP256", "CAssayP384"],
            swiftSettings: settings),
        // Base64, JSON, hexadecimal digits, the calendar, for the verifier and for modules that do
        // not verify. No OpenSSL.
        .target(
            name: "AssayBytes", dependencies: ["AssayModels", "CAssayBytes"],
            swiftSettings: settings),
        // The pure core: bytes, a time, trust and policy in; a verdict out.
        .target(
            name: "Assay",
            dependencies: [
                "AssayBytes", "AssayCurves", "AssayLocks", "AssayModels", "COpenSSL",
            ],
            swiftSettings: settings),
        // Private keys. The verifier does not import this module.
        .target(name: "AssayKeys", dependencies: ["COpenSSL"], swiftSettings: settings),
        // Frames and protobuf-c messages.
        .target(
            name: "AssayWire", dependencies: ["AssayModels", "CAssayProto", "CProtobufC"],
            swiftSettings: settings),
        // Requests of HTTP/1.1 and of HTTP/2, and a server for small ones.
        .target(
            name: "AssayHTTP", dependencies: ["AssayBytes", "AssayIO", "CNghttp2", "CZlib"],
            swiftSettings: settings),
        // libuv: loop, streams, listeners, timers, work queue. TLS of its streams by OpenSSL.
        .target(
            name: "AssayIO", dependencies: ["AssayLocks", "CLibuv", "COpenSSL"],
            swiftSettings: settings),
        // What the modules of a server log and count.
        .target(
            name: "AssayTelemetry",
            dependencies: ["Assay", "AssayBytes", "AssayIO", "AssayModels", "AssayWire"],
            swiftSettings: settings),
        // Admits requests, has them verified, decided or fetched, and counts their memory. Knows no
        // connection and no protocol.
        .target(
            name: "AssayService",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayIO", "AssayModels",
                "AssayTelemetry", "AssayWire",
            ],
            swiftSettings: settings),
        // Connections and their protocols: frames, HTTP/1.1, HTTP/2, the calls of RPC.
        .target(
            name: "AssaySessions",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayHTTP", "AssayIO", "AssayModels",
                "AssayService", "AssayTelemetry", "AssayWire",
            ],
            swiftSettings: settings),
        // Keep revocation statuses and files of keys while a server runs.
        .target(
            name: "AssayKeepers",
            dependencies: ["Assay", "AssayBytes", "AssayIO", "AssayModels", "AssayTelemetry"],
            swiftSettings: settings),
        // The server: its threads, listeners, configuration and life.
        .target(
            name: "AssayServer",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayIO", "AssayKeepers",
                "AssayModels", "AssayService", "AssaySessions", "AssayTelemetry", "AssayWire",
            ] + serverSide,
            swiftSettings: settings),
        .target(
            name: "AssayClient",
            dependencies: ["AssayModels", "AssayWire", "AssayIO"] + serverSide,
            swiftSettings: settings),
        // A client of Apple's App Store Server API; libcurl's transfers on a libuv loop.
        .target(
            name: "AssayStore",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayIO", "AssayKeys", "AssayModels",
                "CCurl",
            ] + serverSide,
            swiftSettings: settings),
        // Plots and bars of pages.
        .target(
            name: "AssayHTML", dependencies: ["AssayBytes"], swiftSettings: settings),
        // Health, metrics and the status page, over HTTP.
        .target(
            name: "AssayAdmin",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayHTML", "AssayHTTP",
                "AssayModels", "AssayWire", "AssayIO", "AssayServer",
            ],
            swiftSettings: settings),
        // Development certificates and evidence, for tests, demos and load.
        .target(
            name: "AssayMint",
            dependencies: ["Assay", "AssayBytes", "AssayKeys", "AssayModels", "CAssayScenarios"],
            // CAssayScenarios embeds them.
            exclude: ["Scenarios"], swiftSettings: settings),
        // A local App Store over HTTP, for the tests of a backend. Its customers follow scenarios.
        .target(
            name: "AssayLocalStore",
            dependencies: [
                "Assay", "AssayBytes", "AssayHTML", "AssayHTTP", "AssayIO", "AssayKeys",
                "AssayLocks", "AssayMint", "AssayModels",
            ],
            swiftSettings: settings),
        // The load generator.
        .target(
            name: "AssayLoad",
            dependencies: [
                "AssayBytes", "AssayClient", "AssayHTML", "AssayHTTP", "AssayIO", "AssayMint",
                "AssayModels", "AssayWire",
            ],
            swiftSettings: settings),
        // What the commands of both executables share: arguments, output, exit statuses.
        .target(
            name: "AssayCommandLine",
            dependencies: [
                "Assay", "AssayBytes", "AssayClient", "AssayIO", "AssayModels", "AssayWire",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        .target(
            name: "AssayCommand",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayModels", "AssayServer",
                "AssayClient", "AssayCommandLine", "AssayStore", "AssayWire", "AssayIO",
                "AssayAdmin",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "TOMLKit", package: "TOMLKit"),
            ],
            swiftSettings: settings),
        // The executable. Its commands are in a library, for the tests and the fuzzer.
        .executableTarget(
            name: "AssayMain", dependencies: ["AssayCommand"], swiftSettings: settings),
        // The commands for development, which a server does not need, and their executable.
        .target(
            name: "AssayDevCommand",
            dependencies: [
                "Assay", "AssayBytes", "AssayClient", "AssayCommandLine", "AssayIO", "AssayLoad",
                "AssayLocalStore", "AssayMint", "AssayModels", "AssayWire",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        .executableTarget(
            name: "AssayDevMain", dependencies: ["AssayDevCommand"], swiftSettings: settings),

        // The benchmarks; not part of the product.
        .target(name: "BenchAllocations", path: "bench/allocations"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "Assay", "AssayBytes", "AssayClient", "AssayCurves", "AssayEntitlements",
                "AssayHTML", "AssayLoad", "AssayIO", "AssayMint", "AssayModels", "AssayWire",
                "BenchAllocations", "CNghttp2", "COpenSSL",
            ],
            path: "bench",
            exclude: [
                "allocations", "run", "compare", "counts", "thresholds", "README.md", "results",
                "peers.py", "echo.cc",
            ],
            swiftSettings: settings),

        // The misbehaving server of the conformance suite; not part of the product.
        .executableTarget(
            name: "conformance-server",
            dependencies: ["AssayBytes", "AssayIO", "AssayModels", "AssayWire"],
            path: "conformance/server", swiftSettings: settings),
        // Performs the cases of the suite with AssayClient.
        .executableTarget(
            name: "conformance-client", dependencies: ["AssayClient", "AssayLocks"],
            path: "clients/swift", exclude: ["conformance", "needs", "test", "throughput"],
            swiftSettings: settings),

        .target(
            name: "TestSupport", dependencies: ["AssayModels", "AssayIO", "AssayLocks"],
            path: "Tests/TestSupport",
            swiftSettings: settings),
        // Uses the products as another package does.
        .testTarget(
            name: "ProductTests",
            dependencies: [
                "Assay", "AssayClient", "AssayEntitlements", "AssayMint", "AssayModels",
                "AssayServer",
            ],
            packageAccess: false, swiftSettings: settings),
        .testTarget(
            name: "AssayCurvesTests",
            dependencies: [
                "AssayCurves", "AssayLocks", "CAssayP256", "CAssayP256Checks",
                "CAssayP384Checks", "COpenSSL", "TestSupport",
            ],
            swiftSettings: settings),
        // The formulas of CAssayP256 over intervals, and one at a time in vectors.
        .target(name: "CAssayP256Checks", path: "Tests/CAssayP256Checks"),
        // The field of CAssayP384, one operation at a time.
        .target(name: "CAssayP384Checks", path: "Tests/CAssayP384Checks"),
        .testTarget(
            name: "AssayBytesTests",
            dependencies: [
                "AssayBytes", "AssayMint", "AssayModels", "CAssayBytes", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AssayTests",
            dependencies: [
                "Assay", "AssayBytes", "AssayKeys", "AssayLocks", "AssayMint", "COpenSSL",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AssayEntitlementsTests",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayMint", "AssayModels",
                "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AssayWireTests", dependencies: ["AssayModels", "AssayWire", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "AssayClientTests",
            dependencies: ["AssayClient", "AssayModels", "AssayWire", "AssayIO", "TestSupport"],
            swiftSettings: settings),
        .testTarget(
            name: "AssayStoreTests",
            dependencies: [
                "Assay", "AssayBytes", "AssayEntitlements", "AssayIO", "AssayKeys", "AssayMint",
                "AssayModels", "AssayStore", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AssayServerTests",
            dependencies: [
                "Assay", "AssayAdmin", "AssayBytes", "AssayEntitlements", "AssayHTTP",
                "AssayKeepers", "AssayServer", "AssayService", "AssaySessions", "AssayTelemetry",
                "AssayClient", "AssayKeys", "AssayLocks", "AssayMint", "AssayModels", "AssayWire",
                "AssayIO", "CNghttp2", "COpenSSL", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AssayLocalStoreTests",
            dependencies: [
                "AssayLocalStore", "Assay", "AssayBytes", "AssayEntitlements", "AssayHTTP",
                "AssayIO", "AssayKeys", "AssayMint", "AssayModels", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AssayLoadTests",
            dependencies: [
                "AssayLoad", "Assay", "AssayBytes", "AssayClient", "AssayHTML", "AssayHTTP",
                "AssayIO", "AssayMint", "AssayModels", "AssayServer", "AssayWire", "TestSupport",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "AssayCommandTests",
            dependencies: [
                "AssayCommand", "AssayCommandLine", "Assay", "AssayBytes", "AssayIO",
                "AssayMint", "AssayModels", "AssayServer", "AssayStore", "TestSupport",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings),
        .testTarget(name: "BenchTests", dependencies: ["bench"], swiftSettings: settings),
        // The form of the sources and pages. Imports no module of the product, so that the quick
        // check of one target builds little.
        .testTarget(name: "TidyTests", dependencies: ["TestSupport"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// The fuzz targets, for the package Tests/Fuzz. Declared on demand, because an ordinary build does
// not need them.
if Context.environment["ASSAY_FUZZ"] != nil {
    package.products.append(.library(name: "FuzzTargets", targets: ["FuzzTargets"]))
    package.targets.append(
        .target(
            name: "FuzzTargets",
            dependencies: [
                "Assay", "AssayAdmin", "AssayBytes", "AssayClient", "AssayCommand",
                "AssayEntitlements", "AssayHTTP", "AssayIO", "AssayKeys", "AssayLocalStore",
                "AssayMint", "AssayModels", "AssayServer", "AssayStore", "AssayWire", "TestSupport",
            ],
            path: "Tests/FuzzTargets", swiftSettings: settings))
}

// DocC, for script/docs. Declared on demand: neither a build nor a dependent package needs it.
if Context.environment["ASSAY_DOCS"] != nil {
    package.dependencies.append(
        .package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}

// For script/check: optimises arithmetic and decisions, and keeps them testable. Without optimisation
// a key's table takes seconds, random lives take a minute, and the differential test would need a
// release build.
if Context.environment["ASSAY_OPTIMIZED"] != nil {
    for target in package.targets {
        switch target.name {
        case "Assay", "AssayBytes", "AssayCurves", "AssayEntitlements":
            target.swiftSettings = (target.swiftSettings ?? []) + [.unsafeFlags(["-O"])]
        case "CAssayBytes", "CAssayP256", "CAssayP384":
            target.cSettings = (target.cSettings ?? []) + [.unsafeFlags(["-O2"])]
        default: break
        }
    }
}

// A part of the package, for script/mutants and script/sanitize, which build it often: the targets
// that are named, and what they need. AssayMain and AssayDevMain are the tools, which tests start.
if let names = Context.environment["ASSAY_TARGETS"] {
    let targets = Dictionary(uniqueKeysWithValues: package.targets.map { ($0.name, $0) })
    var kept: Set<String> = []
    var open = names.split(separator: " ").map(String.init)
    while let name = open.popLast() {
        guard let target = targets[name], kept.insert(name).inserted else { continue }
        for case .byNameItem(let dependency, _) in target.dependencies { open.append(dependency) }
    }
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll {
        switch $0 {
        case let product as Product.Executable: !kept.isSuperset(of: product.targets)
        case let product as Product.Library: !kept.isSuperset(of: product.targets)
        default: true
        }
    }
}
