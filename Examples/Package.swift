// swift-tools-version: 6.2
import PackageDescription

// Apps that use ShareKit, as a package outside of this one would. The package of share builds them, too, so that its
// tests run them.
let package = Package(
    name: "examples",
    dependencies: [.package(name: "share", path: "..")],
    targets: [
        .systemLibrary(name: "CSDLWindow", pkgConfig: "sdl2", providers: [.apt(["libsdl2-dev"])]),
        .target(name: "ExampleWindow", dependencies: ["CSDLWindow"]),
        .executableTarget(
            name: "Mirror", dependencies: ["ExampleWindow", .product(name: "ShareKit", package: "share")]),
        .executableTarget(
            name: "Budget", dependencies: ["ExampleWindow", .product(name: "ShareKit", package: "share")]),
        .executableTarget(
            name: "Conference", dependencies: ["ExampleWindow", .product(name: "ShareKit", package: "share")]),
        .executableTarget(name: "ConferenceSetup", dependencies: [.product(name: "ShareKit", package: "share")]),
        .executableTarget(name: "ConferenceUpload", dependencies: [.product(name: "ShareKit", package: "share")]),
        // What `share extension new` writes.
        .executableTarget(name: "SnapshotSetup", dependencies: [.product(name: "ShareKit", package: "share")]),
        .executableTarget(name: "SnapshotUpload", dependencies: [.product(name: "ShareKit", package: "share")]),
    ]
)
