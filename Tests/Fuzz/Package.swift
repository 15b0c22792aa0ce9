// swift-tools-version: 6.3
import PackageDescription

// One executable a parser. A package of its own, since libFuzzer brings `main`: `swift build` of
// the product could not link them. Built and run by script/fuzz.
let doors: [Target.Dependency] = [
    "FuzzSupport", .product(name: "AssayFuzzDoors", package: "assay"),
]

let package = Package(
    name: "assay-fuzz",
    dependencies: [.package(name: "assay", path: "../..")],
    targets: [
        .target(name: "FuzzSupport"),
        .executableTarget(name: "FuzzJSON", dependencies: doors),
        .executableTarget(name: "FuzzBase64", dependencies: doors),
        .executableTarget(name: "FuzzCertificate", dependencies: doors),
        .executableTarget(name: "FuzzJWS", dependencies: doors),
        .executableTarget(name: "FuzzFrame", dependencies: doors),
        .executableTarget(name: "FuzzHead", dependencies: doors),
        .executableTarget(name: "FuzzReceipt", dependencies: doors),
    ],
    swiftLanguageModes: [.v6]
)
