// swift-tools-version: 6.3
import PackageDescription

// In a folder of another name than hummingbird, which is the name of a package that it depends on.
let package = Package(
    name: "backend",
    dependencies: [
        .package(name: "assay", path: "../../.."),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        // For the tests.
        .package(url: "https://github.com/apple/swift-metrics", from: "2.9.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.6.0"),
    ],
    targets: [
        .executableTarget(
            name: "Backend",
            dependencies: [
                .product(name: "Assay", package: "assay"),
                .product(name: "AssayClient", package: "assay"),
                .product(name: "AssayEntitlements", package: "assay"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
        .testTarget(
            name: "BackendTests",
            dependencies: [
                "Backend",
                .product(name: "AssayMint", package: "assay"),
                .product(name: "AssayServer", package: "assay"),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]),
        // What the trait ServerSide adds to the libraries. Here, because this package builds them
        // with it.
        .testTarget(
            name: "LibraryTests",
            dependencies: [
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "AssayClient", package: "assay"),
                .product(name: "AssayMint", package: "assay"),
                .product(name: "AssayServer", package: "assay"),
                .product(name: "AssayStore", package: "assay"),
                .product(name: "InMemoryLogging", package: "swift-log"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ]),
    ],
    swiftLanguageModes: [.v6]
)
