// swift-tools-version: 6.2
import PackageDescription

// Programs, displays and emulated networks for tests. The package share has these targets too; this manifest is for the
// benchmarks and the tests of the core, which do without that package and all that it depends on.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "share-test-support",
    products: [
        .library(name: "TestSupport", targets: ["TestSupport"]),
        .library(name: "NetworkBed", targets: ["NetworkBed"]),
        .executable(name: "netlab", targets: ["netlab"]),
    ],
    targets: [
        .target(name: "TestSupport", swiftSettings: settings),
        .target(name: "LinkEmulation"),
        .executableTarget(name: "netlab", dependencies: ["LinkEmulation"]),
        .target(name: "NetworkBed", swiftSettings: settings),
    ]
)
