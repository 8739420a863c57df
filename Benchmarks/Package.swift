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
    targets: [
        .target(name: "Glass"),
        tool("stamp", ["X11"]),
        tool("probe", ["X11", "Xext"]),
        tool("scene", ["X11", "Xext", "m"]),
        tool("floor", ["X11", "Xext", "Xdamage", "vpx", "yuv", "m"]),
        .executableTarget(name: "benchmark", swiftSettings: settings),
    ]
)
