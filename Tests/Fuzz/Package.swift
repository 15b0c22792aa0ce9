// swift-tools-version: 6.3
import PackageDescription

// One executable for all targets, which `ASSAY_FUZZ_TARGET` chooses from. A package of its own,
// since libFuzzer brings `main`: `swift build` of the product could not link it. Built and run by
// script/fuzz.
let package = Package(
    name: "assay-fuzz",
    dependencies: [.package(name: "assay", path: "../..", traits: [])],
    targets: [
        .systemLibrary(name: "CLibFuzzer", path: "CLibFuzzer"),
        .executableTarget(
            name: "Fuzz",
            dependencies: ["CLibFuzzer", .product(name: "FuzzTargets", package: "assay")]),
    ],
    swiftLanguageModes: [.v6]
)
