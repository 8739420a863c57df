// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

func tool(_ name: String, _ libraries: [String]) -> Target {
    .executableTarget(
        name: name, dependencies: ["Glass"], cSettings: [.unsafeFlags(["-O2"])],
        linkerSettings: libraries.map { .linkedLibrary($0) })
}

let package = Package(
    name: "share-benchmarks",
    products: [.library(name: "AllocationCounter", type: .dynamic, targets: ["AllocationCounter"])],
    targets: [
        .target(name: "Glass"),
        tool("stamp", ["X11"]),
        tool("probe", ["X11", "Xext"]),
        tool("scene", ["X11", "Xext", "m"]),
        tool("lines", []),
        tool("newpage", ["X11", "Xext", "m"]),
        tool("floor", ["X11", "Xext", "Xdamage", "vpx", "yuv", "m"]),
        // Where GStreamer's development files are missing, it is built without and says so when it is run.
        .systemLibrary(name: "CGStreamer", pkgConfig: "gstreamer-webrtc-1.0 gstreamer-sdp-1.0"),
        .executableTarget(name: "gstreamer", dependencies: ["CGStreamer"], cSettings: [.unsafeFlags(["-O2"])]),
        // Preloaded into the program under measurement.
        .target(name: "AllocationCounter"),
        .executableTarget(
            name: "benchmark", dependencies: ["AllocationCounts", "NetworkBed", "Namespaces"], swiftSettings: settings),
        .target(name: "Namespaces"),
        // Links to the emulated networks of the package's tests.
        .target(name: "LinkEmulation"),
        .executableTarget(name: "netlab", dependencies: ["LinkEmulation"]),
        .target(name: "NetworkBed", swiftSettings: settings),
        .systemLibrary(name: "AllocationCounts"),
        // Links to the package's own sources: depending on the package itself would build all that it depends on.
        .target(name: "MediaCore", swiftSettings: settings),
        .target(name: "RTPWire", dependencies: ["MediaCore"], swiftSettings: settings),
        .target(name: "MediaEngine", dependencies: ["MediaCore", "RTPWire"], swiftSettings: settings),
        .executableTarget(
            name: "control-bench", dependencies: ["MediaCore", "RTPWire", "MediaEngine"], swiftSettings: settings),
        .systemLibrary(name: "CVPX", pkgConfig: "vpx"),
        .target(name: "VPXCodec", dependencies: ["MediaCore", "CVPX"], swiftSettings: settings),
        .executableTarget(name: "codec-bench", dependencies: ["MediaCore", "VPXCodec"], swiftSettings: settings),
    ]
)
