// swift-tools-version: 6.2
import PackageDescription

// The tests of the core. The package share contains them, too. Scripts/test builds this manifest in release mode, as
// simulations take some ten times as long in a debug build.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

let mediaCore = Target.Dependency.product(name: "MediaCore", package: "Core")
let identifiers = Target.Dependency.product(name: "Identifiers", package: "Core")
let wire = Target.Dependency.product(name: "RTPWire", package: "Core")
let descriptions = Target.Dependency.product(name: "SessionDescription", package: "Core")
let bitstream = Target.Dependency.product(name: "VideoBitstream", package: "Core")
let engine = Target.Dependency.product(name: "MediaEngine", package: "Core")
let peers = Target.Dependency.product(name: "PeerEngine", package: "Core")
let matroska = Target.Dependency.product(name: "Matroska", package: "Core")
let support = Target.Dependency.product(name: "TestSupport", package: "TestSupport")

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name, dependencies: dependencies, path: name, swiftSettings: settings)
}

let package = Package(
    name: "share-core-tests",
    dependencies: [.package(path: "../Sources/Core"), .package(path: "../TestSupport")],
    targets: [
        tests("MediaCoreTests", [mediaCore]),
        tests("IdentifiersTests", [identifiers]),
        tests("RTPWireTests", [mediaCore, wire, support]),
        tests("MediaEngineTests", [mediaCore, wire, engine]),
        tests("SimulationTests", [mediaCore, wire, bitstream, engine, support]),
        tests("SessionDescriptionTests", [mediaCore, wire, descriptions, support]),
        tests("PeerEngineTests", [mediaCore, identifiers, descriptions, peers, support]),
        tests("MatroskaTests", [mediaCore, matroska, support]),
    ]
)
