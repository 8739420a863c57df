// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// A C library of Debian's, found through pkg-config.
func library(_ name: String, pkgConfig: String, debian: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/Libraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([debian])])
}

func layer(_ folder: String, _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = [])
    -> Target
{
    .target(
        name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)", resources: resources,
        swiftSettings: settings)
}

/// What tests and benchmarks share; TestSupport is a package of its own too, for those outside of this one.
func support(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "TestSupport/Sources/\(name)", swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(
        name: name, dependencies: dependencies, path: "Tests/\(name)", resources: resources, swiftSettings: settings)
}

let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let asn1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioTLS = Target.Dependency.product(name: "NIOTLS", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioWebSocket = Target.Dependency.product(name: "NIOWebSocket", package: "swift-nio")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let grdb = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

let package = Package(
    name: "share",
    products: [
        .executable(name: "share", targets: ["share"]),
        .executable(name: "share-relay", targets: ["share-relay"]),
        .library(name: "ShareKit", targets: ["ShareKit"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        // L0
        library("CNice", pkgConfig: "nice", debian: "libnice-dev"),
        library("COpenSSL", pkgConfig: "openssl", debian: "libssl-dev"),
        library("CSRTP", pkgConfig: "libsrtp2", debian: "libsrtp2-dev"),
        library("CVPX", pkgConfig: "vpx", debian: "libvpx-dev"),
        library("COpus", pkgConfig: "opus", debian: "libopus-dev"),
        .systemLibrary(name: "CYUV", path: "Sources/Libraries/CYUV", providers: [.apt(["libyuv-dev"])]),
        library(
            "CXCB", pkgConfig: "xcb-shm xcb-damage xcb-xfixes xcb-randr xcb-xinput xcb-composite xcb-shape xcb",
            debian: "libxcb-damage0-dev"),
        library("CPulse", pkgConfig: "libpulse", debian: "libpulse-dev"),
        library("CPipeWire", pkgConfig: "libpipewire-0.3", debian: "libpipewire-0.3-dev"),
        library("CSDL", pkgConfig: "sdl2 SDL2_ttf", debian: "libsdl2-ttf-dev"),
        library("CFontconfig", pkgConfig: "fontconfig", debian: "libfontconfig-dev"),
        library("CPNG", pkgConfig: "libpng", debian: "libpng-dev"),
        library("CGLib", pkgConfig: "glib-2.0", debian: "libglib2.0-dev"),
        library("CGIO", pkgConfig: "gio-unix-2.0", debian: "libglib2.0-dev"),
        library("CNATS", pkgConfig: "libnats", debian: "libnats-dev"),
        // Loaded at run time: declarations alone.
        .systemLibrary(name: "CAVCodec", path: "Sources/Libraries/CAVCodec"),
        .systemLibrary(name: "CDAV1D", path: "Sources/Libraries/CDAV1D"),
        .systemLibrary(name: "CMalloc", path: "Sources/Libraries/CMalloc"),
        .systemLibrary(name: "CV4L2", path: "Sources/Libraries/CV4L2"),
        .systemLibrary(name: "CLinux", path: "Sources/Libraries/CLinux"),
        // L1
        layer("Core", "MediaCore"),
        layer("Core", "RTPWire", ["MediaCore"]),
        layer("Core", "SessionDescription", ["MediaCore", "RTPWire"]),
        layer("Core", "VideoBitstream", ["MediaCore", "RTPWire"]),
        layer("Core", "Matroska", ["MediaCore"]),
        layer("Core", "MediaEngine", ["MediaCore", "RTPWire", "VideoBitstream"]),
        layer("Core", "PeerEngine", ["MediaCore", "SessionDescription"]),
        // L2
        layer("Platform", "LinuxRuntime", ["MediaCore", "CLinux"]),
        layer("Platform", "FrameDifference", ["MediaCore"]),
        layer("Platform", "EventLoop", ["MediaCore", "LinuxRuntime", "CGLib"]),
        layer("Adapters", "ICETransport", ["MediaCore", "SessionDescription", "LinuxRuntime", "EventLoop", "CNice"]),
        layer("Adapters", "DTLSTransport", ["MediaCore", "LinuxRuntime", "COpenSSL"]),
        layer("Adapters", "SRTPTransport", ["MediaCore", "CSRTP", "COpenSSL"]),
        layer("Adapters", "VPXCodec", ["MediaCore", "VideoBitstream", "CVPX"]),
        layer("Adapters", "FFmpegCodec", ["MediaCore", "VideoBitstream", "LinuxRuntime", "CAVCodec"]),
        layer("Adapters", "DAV1DCodec", ["MediaCore", "VideoBitstream", "LinuxRuntime", "CDAV1D"]),
        layer("Adapters", "OpusCodec", ["MediaCore", "COpus"]),
        layer("Adapters", "PixelConversion", ["MediaCore", "CYUV"]),
        layer("Adapters", "X11Capture", ["MediaCore", "LinuxRuntime", "FrameDifference", "CXCB"]),
        layer("Adapters", "PortalCapture", ["MediaCore", "LinuxRuntime", "FrameDifference", "CPipeWire"]),
        layer("Adapters", "CameraCapture", ["MediaCore", "LinuxRuntime", "CPipeWire", "CV4L2"]),
        layer("Adapters", "InAppCapture", ["MediaCore", "LinuxRuntime", "FrameDifference"]),
        layer("Adapters", "PulseAudio", ["MediaCore", "LinuxRuntime", "CPulse"]),
        layer("Adapters", "WindowPlayout", ["MediaCore", "LinuxRuntime", "CSDL", "CFontconfig"]),
        layer("Adapters", "SessionBus", ["MediaCore", "LinuxRuntime", "CGIO"]),
        layer("Adapters", "ImageFile", ["MediaCore", "CPNG"]),
        layer("Adapters", "WebMContainer", ["LinuxRuntime", "Matroska"]),
        layer("Adapters", "TestSource", ["MediaCore", "LinuxRuntime"]),
        layer("Adapters", "ProcessMemory", ["CMalloc"]),
        layer("Adapters", "ControlSocket", ["MediaCore", "LinuxRuntime"]),
        layer("Adapters", "NATSMessaging", ["MediaCore", "LinuxRuntime", "CNATS"]),
        layer("Adapters", "ExtensionChannel", ["MediaCore", "LinuxRuntime"]),
        // L3
        // C, as #embed puts files into the executable.
        .target(name: "ViewerPage", path: "Sources/Peer/ViewerPage", exclude: ["Page"]),
        layer("Peer", "Admission", ["MediaCore", "SessionDescription", crypto, x509, asn1]),
        layer("Peer", "Broadcasting", ["MediaCore", "LinuxRuntime", "Admission"]),
        layer("Peer", "ICEServers", ["MediaCore", "LinuxRuntime", crypto, nioSSL, nioCore, nioPosix]),
        layer(
            "Peer", "Signaling",
            [
                "MediaCore", "LinuxRuntime", "SessionDescription", "Admission", "ICEServers", "ViewerPage", crypto,
                logging,
                hummingbirdCore, nioSSL, nioTLS, nioCore, nioPosix, nioHTTP1, httpTypes,
            ]),
        layer(
            "Peer", "Transport",
            [
                "MediaCore", "LinuxRuntime", "EventLoop", "RTPWire", "SessionDescription", "PeerEngine", "ICETransport",
                "DTLSTransport", "SRTPTransport", "ICEServers",
            ]),
        layer(
            "Peer", "Publishing",
            [
                "MediaCore", "LinuxRuntime", "EventLoop", "RTPWire", "SessionDescription", "MediaEngine", "PeerEngine",
                "ICETransport", "Admission", "Transport",
            ]),
        layer(
            "Peer", "Receiving",
            [
                "MediaCore", "LinuxRuntime", "EventLoop", "RTPWire", "SessionDescription", "MediaEngine", "PeerEngine",
                "ICETransport", "Transport",
            ]),
        layer("Peer", "Cluster", ["MediaCore", "Admission", "Signaling"]),
        .target(name: "LibraryPage", path: "Sources/Peer/LibraryPage", exclude: ["Page"]),
        layer("Peer", "RecordingPage", ["LibraryPage", "LinuxRuntime", nioCore, nioPosix, nioHTTP1, nioSSL]),
        layer("Peer", "RecordingLibrary", ["LinuxRuntime", grdb]),
        layer("Peer", "Recording", ["MediaCore", "LinuxRuntime", "VideoBitstream", "Matroska", "WebMContainer"]),
        layer(
            "Peer", "Sessions",
            [
                "MediaCore", "LinuxRuntime", "EventLoop", "SessionDescription", "MediaEngine", "PeerEngine",
                "ICETransport", "Admission", "ICEServers", "Signaling", "Cluster", "Transport", "Publishing",
                "Receiving",
                logging,
            ]),
        layer(
            "Peer", "WHIP",
            [
                "MediaCore", "LinuxRuntime", "SessionDescription", "ICEServers", "Signaling", "Sessions",
                asyncHTTPClient, nioSSL, nioCore, nioPosix, nioHTTP1,
            ]),
        layer(
            "Peer", "Uploading",
            [
                "MediaCore", "LinuxRuntime", "EventLoop", "MediaEngine", "ICETransport", "ExtensionChannel",
                "Admission",
                "Broadcasting", "Signaling", "Transport", "Publishing", "Sessions",
            ]),
        layer(
            "Peer", "Control",
            ["MediaCore", "Admission", "Transport", "Publishing", "Sessions", "ControlSocket"]),
        // L4
        .target(
            name: "ShareKit",
            dependencies: [
                "MediaCore", "LinuxRuntime", "Admission", "Broadcasting", "ICEServers", "Signaling", "Transport",
                "Publishing", "Receiving", "Sessions", "Uploading", "WHIP", "ExtensionChannel", "VPXCodec", "OpusCodec",
                "FFmpegCodec", "DAV1DCodec", "PixelConversion", "Recording", "RecordingPage", "RecordingLibrary",
                "CameraCapture", "InAppCapture", "X11Capture", "PulseAudio", "SessionBus", "Control", "ControlSocket",
            ], path: "Sources/ShareKit", swiftSettings: settings),
        // The code of the tutorial, which its pages show.
        .target(
            name: "ShareKitTutorial", dependencies: ["ShareKit"], path: "Sources/ShareKit/ShareKit.docc/Code",
            swiftSettings: settings),
        // What the commands share: options, terminal, output, exit codes.
        .target(
            name: "CommandSupport",
            dependencies: [
                "MediaCore", "LinuxRuntime", "Admission", "ICEServers", "Signaling", "Transport", "Publishing",
                "Sessions", "SessionBus", arguments,
            ], path: "Sources/CommandSupport", swiftSettings: settings),
        // The command of `share relay` and of the program share-relay, without capture, codecs and windows.
        .target(
            name: "RelayVerb",
            dependencies: [
                "CommandSupport", "MediaCore", "LinuxRuntime", "Admission", "ICEServers", "Signaling", "Transport",
                "Publishing", "Sessions", "Cluster", "NATSMessaging", "ProcessMemory", arguments,
            ], path: "Sources/RelayVerb", swiftSettings: settings),
        .executableTarget(
            name: "share-relay", dependencies: ["RelayVerb", "ProcessMemory", arguments],
            path: "Sources/share-relay", swiftSettings: settings),
        .executableTarget(
            name: "share",
            dependencies: [
                "CommandSupport", "RelayVerb", "Cluster",
                "MediaCore", "LinuxRuntime", "ShareKit", "Admission", "ICEServers", "Signaling", "Transport",
                "Publishing", "Receiving", "Recording", "RecordingPage", "RecordingLibrary", "Sessions", "Broadcasting",
                "Control", "ControlSocket", "VPXCodec",
                "OpusCodec",
                "PixelConversion", "X11Capture", "PortalCapture", "CameraCapture", "PulseAudio", "WindowPlayout",
                "ImageFile", "TestSource",
                "ProcessMemory", "SessionBus", arguments, logging,
            ], path: "Sources/share", swiftSettings: settings),
        // Examples: a package of their own, too.
        .systemLibrary(
            name: "CSDLWindow", path: "Examples/Sources/CSDLWindow", pkgConfig: "sdl2",
            providers: [.apt(["libsdl2-dev"])]),
        .target(name: "ExampleWindow", dependencies: ["CSDLWindow"], path: "Examples/Sources/ExampleWindow"),
        .executableTarget(
            name: "Mirror", dependencies: ["ShareKit", "ExampleWindow"], path: "Examples/Sources/Mirror"),
        .executableTarget(
            name: "Budget", dependencies: ["ShareKit", "ExampleWindow"], path: "Examples/Sources/Budget"),
        .executableTarget(
            name: "Conference", dependencies: ["ShareKit", "ExampleWindow"], path: "Examples/Sources/Conference"),
        .executableTarget(
            name: "ConferenceSetup", dependencies: ["ShareKit"], path: "Examples/Sources/ConferenceSetup"),
        .executableTarget(
            name: "ConferenceUpload", dependencies: ["ShareKit"], path: "Examples/Sources/ConferenceUpload"),
        // What `share extension new` writes.
        .executableTarget(
            name: "SnapshotSetup", dependencies: ["ShareKit"], path: "Examples/Sources/SnapshotSetup"),
        .executableTarget(
            name: "SnapshotUpload", dependencies: ["ShareKit"], path: "Examples/Sources/SnapshotUpload"),
        // Tests
        support("TestSupport"),
        .target(name: "LinkEmulation", path: "TestSupport/Sources/LinkEmulation"),
        .executableTarget(name: "netlab", dependencies: ["LinkEmulation"], path: "TestSupport/Sources/netlab"),
        support("BusSupport", ["LinuxRuntime", "MediaCore", "SessionBus", "TestSupport"]),
        support("ClusterSupport", ["Cluster"]),
        support("NetworkBed"),
        support("BrowserControl", ["NetworkBed", "TestSupport", nioCore, nioPosix, nioHTTP1, nioWebSocket]),
        .executableTarget(
            name: "probe-extension", dependencies: ["ExtensionChannel"],
            path: "TestSupport/Sources/probe-extension", swiftSettings: settings),
        tests("MediaCoreTests", ["MediaCore"]),
        tests("LinuxRuntimeTests", ["LinuxRuntime", "MediaCore", "TestSupport"]),
        tests("EventLoopTests", ["EventLoop", "LinuxRuntime", "MediaCore", "CGLib", "TestSupport"]),
        tests("RTPWireTests", ["MediaCore", "RTPWire", "TestSupport"]),
        tests("MatroskaTests", ["MediaCore", "Matroska", "TestSupport"]),
        tests("WebMContainerTests", ["MediaCore", "Matroska", "WebMContainer", "TestSupport"]),
        tests(
            "RecordingTests",
            [
                "LinuxRuntime", "Matroska", "MediaCore", "MediaEngine", "RTPWire", "Recording", "VideoBitstream",
                "WebMContainer", "VPXCodec", "OpusCodec", "TestSupport",
            ]),
        tests("MediaEngineTests", ["MediaCore", "RTPWire", "MediaEngine"]),
        tests("PeerEngineTests", ["MediaCore", "SessionDescription", "PeerEngine"]),
        tests("SimulationTests", ["MediaCore", "RTPWire", "MediaEngine", "TestSupport"]),
        tests("SessionDescriptionTests", ["MediaCore", "RTPWire", "SessionDescription", "TestSupport"]),
        tests(
            "X11CaptureTests", ["MediaCore", "LinuxRuntime", "X11Capture", "PixelConversion", "CXCB", "TestSupport"]),
        .executableTarget(
            name: "portal-backend", dependencies: ["CGIO", "CPipeWire"], path: "TestSupport/Sources/portal-backend"),
        .executableTarget(
            name: "test-camera", dependencies: ["CPipeWire"], path: "TestSupport/Sources/test-camera"),
        tests(
            "CameraCaptureTests",
            [
                "MediaCore", "LinuxRuntime", "CameraCapture", "PixelConversion", "TestSource", "TestSupport",
                "test-camera",
            ]),
        tests(
            "PortalCaptureTests",
            [
                "MediaCore", "LinuxRuntime", "FrameDifference", "PortalCapture", "PixelConversion", "SessionBus",
                "CPipeWire",
                "BusSupport", "TestSupport", "portal-backend",
            ]),
        tests("PixelConversionTests", ["MediaCore", "PixelConversion"]),
        tests(
            "InAppCaptureTests", ["MediaCore", "LinuxRuntime", "InAppCapture", "PixelConversion"]),
        tests("ImageFileTests", ["MediaCore", "ImageFile", "PixelConversion"]),
        tests("TestSourceTests", ["MediaCore", "TestSource"]),
        tests("VPXCodecTests", ["MediaCore", "RTPWire", "VPXCodec", "TestSupport"]),
        tests(
            "VideoDecoderTests",
            [
                "MediaCore", "MediaEngine", "RTPWire", "VideoBitstream", "VPXCodec", "FFmpegCodec", "DAV1DCodec",
                "TestSupport",
            ]),
        tests("OpusCodecTests", ["MediaCore", "OpusCodec", "TestSupport"]),
        tests(
            "ICETransportTests",
            ["ICETransport", "EventLoop", "LinuxRuntime", "MediaCore", "SessionDescription", "TestSupport"]),
        tests("DTLSTransportTests", ["DTLSTransport", "LinuxRuntime", "MediaCore", "TestSupport", crypto]),
        tests("SRTPTransportTests", ["SRTPTransport", "MediaCore", "RTPWire", "MediaEngine", "TestSupport"]),
        tests("WindowPlayoutTests", ["MediaCore", "LinuxRuntime", "WindowPlayout", "CSDL", "TestSupport"]),
        tests(
            "ExtensionChannelTests",
            ["ExtensionChannel", "LinuxRuntime", "MediaCore", "TestSupport", "probe-extension"]),
        tests(
            "UploadingTests",
            [
                "Admission", "ExtensionChannel", "LinuxRuntime", "MediaCore", "OpusCodec", "Publishing", "Sessions",
                "Signaling", "TestSource", "TestSupport", "Transport", "Uploading", "VPXCodec", "probe-extension",
            ]),
        tests("ControlSocketTests", ["ControlSocket", "LinuxRuntime", "MediaCore", "TestSupport"]),
        tests("SessionBusTests", ["SessionBus", "CGIO", "LinuxRuntime", "BusSupport", "TestSupport"]),
        tests("PulseAudioTests", ["PulseAudio", "LinuxRuntime", "MediaCore", "TestSupport"]),
        tests("ICEServersTests", ["ICEServers", nioCore, nioPosix]),
        tests(
            "WHIPTests",
            [
                "LinuxRuntime", "SessionDescription", "ICEServers", "Sessions", "Signaling", "WHIP", nioCore, nioPosix,
                nioHTTP1,
            ]),
        tests("RecordingLibraryTests", ["RecordingLibrary", "TestSupport"]),
        tests("BroadcastingTests", ["MediaCore", "Admission", "Broadcasting"]),
        tests("AdmissionTests", ["MediaCore", "SessionDescription", "Admission", crypto]),
        tests(
            "SignalingTests",
            [
                "MediaCore", "LinuxRuntime", "SessionDescription", "Admission", "ICEServers", "Signaling",
                "TestSupport", crypto,
                logging,
                nioCore, nioPosix, nioHTTP1, nioSSL,
            ]),
        tests("ClusterTests", ["MediaCore", "Admission", "Signaling", "Cluster", "ClusterSupport"]),
        tests(
            "LoopbackTests",
            [
                "MediaCore", "LinuxRuntime", "EventLoop", "MediaEngine", "SessionDescription", "ICETransport",
                "Admission", "ICEServers", "Signaling", "Cluster", "Transport", "Publishing", "Receiving", "Sessions",
                "Control", "TestSource", "VPXCodec", "OpusCodec",
                "TestSupport", "ClusterSupport", hummingbirdCore, nioCore, httpTypes,
            ]),
        tests(
            "InteropTests",
            [
                "MediaCore", "LinuxRuntime", "SessionDescription", "Admission", "Signaling", "Transport", "Publishing",
                "Receiving", "Sessions",
                "TestSource", "VPXCodec",
                "OpusCodec", "share", "BrowserControl", "NetworkBed", "TestSupport", logging,
            ]),
        tests(
            "CommandTests",
            [
                "share", "share-relay", "CommandSupport", "RelayVerb", "ShareKit", "probe-extension", "ConferenceSetup",
                "ConferenceUpload", "SnapshotSetup",
                "SnapshotUpload", "portal-backend", "test-camera", "MediaCore", "LinuxRuntime", "Control", "ImageFile",
                "SessionDescription", "SessionBus", "Admission", "ICEServers", "Publishing", "Signaling", "Transport",
                "BusSupport", "TestSupport", arguments,
            ]),
        tests(
            "ShareKitTests",
            [
                "ShareKit", "ShareKitTutorial", "Admission", "Broadcasting", "CameraCapture", "ControlSocket",
                "InAppCapture", "LinuxRuntime", "test-camera",
                "MediaCore",
                "PulseAudio", "Publishing", "SessionBus", "Sessions", "Signaling", "Transport", "BrowserControl",
                "BusSupport", "TestSupport",
            ]),
        tests("NetworkTests", ["share", "LinkEmulation", "NetworkBed", "TestSupport", crypto]),
    ]
)

// Intel's library for IPsec is only for x86-64. Elsewhere OpenSSL encrypts what is sent, too.
#if arch(x86_64)
    package.targets.append(
        .systemLibrary(name: "CIPSecMB", path: "Sources/Libraries/CIPSecMB", providers: [.apt(["libipsec-mb-dev"])]))
    package.targets.first { $0.name == "SRTPTransport" }?.dependencies.append("CIPSecMB")
#endif
