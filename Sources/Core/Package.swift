// swift-tools-version: 6.2
import PackageDescription

// The package share contains these targets, too. This manifest is for the benchmarks, which use the core alone.
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

func layer(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: name, swiftSettings: settings)
}

let package = Package(
    name: "share-core",
    products: [
        "MediaCore", "Identifiers", "RTPWire", "SessionDescription", "VideoBitstream", "MediaEngine", "PeerEngine",
        "SFrame", "Matroska",
    ]
    .map {
        .library(name: $0, targets: [$0])
    },
    targets: [
        layer("MediaCore"),
        layer("Identifiers"),
        layer("RTPWire", ["MediaCore"]),
        layer("SessionDescription", ["MediaCore", "RTPWire"]),
        layer("VideoBitstream", ["MediaCore", "RTPWire"]),
        layer("MediaEngine", ["MediaCore", "RTPWire", "VideoBitstream"]),
        layer("PeerEngine", ["MediaCore", "Identifiers", "SessionDescription"]),
        layer("SFrame", ["MediaCore"]),
        layer("Matroska", ["MediaCore"]),
    ]
)
