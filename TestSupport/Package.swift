// swift-tools-version: 6.2
import PackageDescription

// Programs, displays and emulated networks for tests. The package share contains these targets, too. This manifest is
// for the benchmarks, which do not need that package and its dependencies.
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
