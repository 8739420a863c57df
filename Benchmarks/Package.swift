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

func core(_ name: String) -> Target.Dependency { .product(name: name, package: "Core") }

let package = Package(
    name: "share-benchmarks",
    products: [.library(name: "AllocationCounter", type: .dynamic, targets: ["AllocationCounter"])],
    dependencies: [.package(path: "../Sources/Core"), .package(path: "../TestSupport")],
    targets: [
        .target(name: "Glass"),
        tool("stamp", ["X11"]),
        tool("probe", ["X11", "Xext"]),
        tool("scene", ["X11", "Xext", "m"]),
        tool("lines", []),
        tool("newpage", ["X11", "Xext", "m"]),
        tool("keypress", ["xcb", "xcb-xtest"]),
        tool("floor", ["X11", "Xext", "Xdamage", "vpx", "yuv", "m"]),
        // The same holds for Xft.
        .systemLibrary(name: "CXft", pkgConfig: "xft"),
        .executableTarget(
            name: "legibility", dependencies: ["CXft", "Glass"], cSettings: [.unsafeFlags(["-O2"])],
            linkerSettings: ["X11", "Xext", "fontconfig"].map { .linkedLibrary($0) }),
        .executableTarget(name: "sendfloor", cSettings: [.unsafeFlags(["-O2"])]),
        // Where GStreamer's development files are missing, it is built without and says so when it is run.
        .systemLibrary(name: "CGStreamer", pkgConfig: "gstreamer-webrtc-1.0 gstreamer-sdp-1.0"),
        .executableTarget(name: "gstreamer", dependencies: ["CGStreamer"], cSettings: [.unsafeFlags(["-O2"])]),
        // Preloaded into the program under measurement.
        .target(name: "AllocationCounter"),
        .executableTarget(
            name: "benchmark",
            dependencies: [
                "AllocationCounts", "Namespaces", .product(name: "NetworkBed", package: "TestSupport"),
                .product(name: "TestSupport", package: "TestSupport"),
                .product(name: "netlab", package: "TestSupport"),
            ], swiftSettings: settings),
        .target(name: "Namespaces"),
        .systemLibrary(name: "AllocationCounts"),
        .executableTarget(
            name: "control-bench",
            dependencies: ["MediaCore", "RTPWire", "MediaEngine"].map(core),
            swiftSettings: settings),
        .executableTarget(
            name: "packet-bench",
            dependencies: ["MediaCore", "RTPWire", "MediaEngine"].map(core),
            swiftSettings: settings),
        // Links to sources of the package share: depending on it would build all that it depends on.
        .systemLibrary(name: "CVPX", pkgConfig: "vpx"),
        .target(name: "VPXCodec", dependencies: [core("MediaCore"), core("VideoBitstream"), "CVPX"], swiftSettings: settings),
        .systemLibrary(name: "CYUV"),
        .systemLibrary(name: "CLinux"),
        .target(name: "LinuxRuntime", dependencies: [core("MediaCore"), "CLinux"], swiftSettings: settings),
        .target(name: "FrameDifference", dependencies: [core("MediaCore")], swiftSettings: settings),
        .target(name: "PixelConversion", dependencies: [core("MediaCore"), "CYUV"], swiftSettings: settings),
        .target(
            name: "InAppCapture", dependencies: [core("MediaCore"), "LinuxRuntime", "FrameDifference"],
            swiftSettings: settings),
        .executableTarget(
            name: "capture-bench",
            dependencies: [core("MediaCore"), "LinuxRuntime", "PixelConversion", "InAppCapture"],
            swiftSettings: settings),
        .target(
            name: "ExtensionChannel", dependencies: [core("MediaCore"), "LinuxRuntime"], swiftSettings: settings),
        .executableTarget(
            name: "extension-bench", dependencies: [core("MediaCore"), "LinuxRuntime", "ExtensionChannel"],
            swiftSettings: settings),
        .executableTarget(
            name: "codec-bench", dependencies: [core("MediaCore"), "VPXCodec", "CVPX"], swiftSettings: settings),
    ]
)
