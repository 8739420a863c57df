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
// Their parsers are not visible from outside.
let tested = settings + [.unsafeFlags(["-enable-testing"])]

let package = Package(
    name: "share-fuzz",
    targets: [
        // Links to the package's own sources.
        .target(name: "MediaCore", swiftSettings: settings),
        .target(name: "RTPWire", dependencies: ["MediaCore"], swiftSettings: settings),
        .target(name: "SessionDescription", dependencies: ["MediaCore", "RTPWire"], swiftSettings: settings),
        .target(name: "VideoBitstream", dependencies: ["MediaCore", "RTPWire"], swiftSettings: settings),
        .target(
            name: "MediaEngine", dependencies: ["MediaCore", "RTPWire", "VideoBitstream"], swiftSettings: settings),
        .target(name: "SFrame", dependencies: ["MediaCore"], swiftSettings: settings),
        .target(name: "Matroska", dependencies: ["MediaCore"], swiftSettings: settings),
        // The files that decide what OpenSSL reads.
        .target(name: "DTLSTransport", swiftSettings: tested),
        // The files of these that read a link, a document of a pairing, a manifest or an event.
        .target(name: "Identifiers", swiftSettings: settings),
        .target(name: "Identity", dependencies: ["MediaCore", "Identifiers"], swiftSettings: settings),
        .target(name: "HTTP", dependencies: ["MediaCore"], swiftSettings: tested),
        .target(
            name: "Admission", dependencies: ["MediaCore", "SessionDescription", "Identifiers", "Identity"],
            swiftSettings: settings),
        .target(
            name: "Signaling", dependencies: ["MediaCore", "Identifiers", "Identity", "HTTP", "Admission"],
            swiftSettings: tested),
        .target(name: "Extensions", dependencies: ["Identifiers", "Admission"], swiftSettings: settings),
        .target(
            name: "FuzzTargets",
            dependencies: [
                "MediaCore", "RTPWire", "SessionDescription", "VideoBitstream", "MediaEngine", "SFrame", "Matroska",
                "DTLSTransport", "Identifiers", "Identity", "HTTP", "Admission", "Signaling", "Extensions",
            ], swiftSettings: settings),
        // In C, as SwiftPM gives an executable in Swift a main of its own: libFuzzer has one.
        .executableTarget(
            name: "fuzz", dependencies: ["FuzzTargets"], linkerSettings: [.unsafeFlags(sanitizers)]),
    ]
)
