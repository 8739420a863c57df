// swift-tools-version: 6.2
import PackageDescription

// Only what needs no other package, so that it builds in seconds. Run by Scripts/fuzz.
let sanitizers = ["-sanitize=fuzzer,address"]
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .unsafeFlags(sanitizers),
]

let package = Package(
    name: "share-fuzz",
    targets: [
        // Links to the package's own sources.
        .target(name: "MediaCore", swiftSettings: settings),
        .target(name: "RTPWire", dependencies: ["MediaCore"], swiftSettings: settings),
        .target(name: "SessionDescription", dependencies: ["MediaCore", "RTPWire"], swiftSettings: settings),
        .target(name: "MediaEngine", dependencies: ["MediaCore", "RTPWire"], swiftSettings: settings),
        // The files of Admission that read a link.
        .target(name: "Links", dependencies: ["SessionDescription"], swiftSettings: settings),
        .target(
            name: "FuzzTargets", dependencies: ["MediaCore", "RTPWire", "SessionDescription", "MediaEngine", "Links"],
            swiftSettings: settings),
        // In C, as SwiftPM gives an executable in Swift a main of its own: libFuzzer has one.
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets"], linkerSettings: [.unsafeFlags(sanitizers)]),
    ]
)
