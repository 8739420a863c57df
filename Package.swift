// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .treatAllWarnings(as: .error),
]

/// Of core, platform, adapters and simulations in Scripts/test, as two cores could not run several tests of media beside
/// each other otherwise. Nothing else sets this variable: SwiftPM refuses flags like these in what other packages use.
let optimized: [SwiftSetting] =
    Context.environment["SHARE_OPTIMIZED_TESTS"] == nil ? [] : [.unsafeFlags(["-O", "-assert-config", "Debug"])]

/// In CI nothing is compiled twice, and whole modules take a fifth less than their files. Not of tests: there the compiler
/// then takes structures of glibc for those of another C module (Swift 6.3.1).
let wholeModules: [SwiftSetting] =
    optimized.isEmpty || Context.environment["CI"] == nil
    ? [] : [.unsafeFlags(["-whole-module-optimization", "-num-threads", "2"])]

/// Of share: it reads options and prints, and what it does is in the targets below it. Optimized it takes twice the time,
/// and is the last of a build, when nothing else is left to compile. Other packages use ShareKit, which does not need it.
let command: [SwiftSetting] = [.unsafeFlags(["-Onone"], .when(configuration: .release))]

/// A C library of Debian's, found through pkg-config.
func library(_ name: String, pkgConfig: String, debian: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/Libraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([debian])])
}

/// What each target may import, of this package, of its C libraries and of other packages. Targets stand from the
/// bottom to the top, and import only what stands above them. Scripts/layers reads this table, too: an adapter imports
/// no adapter.
let imports = """
    # Core
    MediaCore:
    Identifiers:
    RTPWire: MediaCore
    SessionDescription: MediaCore RTPWire
    VideoBitstream: MediaCore RTPWire
    Matroska: MediaCore
    MediaEngine: MediaCore RTPWire VideoBitstream
    PeerEngine: MediaCore Identifiers SessionDescription
    SFrame: MediaCore
    # Platform
    LinuxRuntime: MediaCore CLinux
    FrameDifference: MediaCore
    EventLoop: MediaCore LinuxRuntime CGLib
    # Adapters
    Cryptography: COpenSSL
    ICETransport: MediaCore SessionDescription LinuxRuntime EventLoop CNice NiceFunctions
    DTLSTransport: MediaCore LinuxRuntime COpenSSL
    TLSTransport: COpenSSL
    SRTPTransport: MediaCore LinuxRuntime CIPSecMB COpenSSL CSRTP
    VPXCodec: MediaCore VideoBitstream CVPX
    FFmpegCodec: MediaCore VideoBitstream LinuxRuntime CAVCodec
    DAV1DCodec: MediaCore VideoBitstream LinuxRuntime CDAV1D
    OpusCodec: MediaCore COpus
    PixelConversion: MediaCore CYUV
    X11Capture: MediaCore LinuxRuntime FrameDifference CXCB
    X11Control: MediaCore LinuxRuntime CFontconfig CFreeType CXCB
    PortalCapture: MediaCore LinuxRuntime FrameDifference CPipeWire
    CameraCapture: MediaCore LinuxRuntime CPipeWire CV4L2
    InAppCapture: MediaCore LinuxRuntime FrameDifference
    PulseAudio: MediaCore LinuxRuntime CPulse
    WindowPlayout: MediaCore LinuxRuntime CFontconfig CSDL
    ImageFile: MediaCore CPNG
    QRCodes: CQREncode
    SQLiteDatabase: CSQLite
    SessionBus: MediaCore LinuxRuntime CGIO
    TestSource: MediaCore LinuxRuntime
    WebMContainer: Matroska LinuxRuntime
    ProcessMemory: CMalloc
    NATSMessaging: MediaCore LinuxRuntime CNATS
    ControlSocket: MediaCore LinuxRuntime
    ExtensionChannel: MediaCore LinuxRuntime
    # Peer
    FrameEncryption: SFrame Cryptography
    Identity: MediaCore Identifiers SessionDescription Cryptography
    HTTP: MediaCore Identifiers SessionDescription LinuxRuntime Cryptography TLSTransport Identity \
        NIOCore NIOPosix NIOTLS NIOHTTP1 NIOWebSocket HTTPTypes
    Admission: MediaCore Identifiers SessionDescription Cryptography Identity HTTP
    Signaling: MediaCore Identifiers SessionDescription SFrame LinuxRuntime Cryptography TLSTransport ViewerPage FrameEncryption Identity \
        HTTP Admission NIOCore NIOPosix NIOHTTP1 HTTPTypes
    WHIP: MediaCore SessionDescription LinuxRuntime TLSTransport HTTP Signaling NIOCore NIOPosix NIOHTTP1
    PeerConnection: MediaCore RTPWire SessionDescription MediaEngine PeerEngine LinuxRuntime EventLoop ICETransport \
        DTLSTransport SRTPTransport Identity HTTP Admission Signaling
    Host: MediaCore Identifiers RTPWire SessionDescription MediaEngine PeerEngine SFrame LinuxRuntime EventLoop \
        ICETransport FrameEncryption Identity HTTP Admission Signaling PeerConnection
    Viewer: MediaCore Identifiers RTPWire SessionDescription MediaEngine PeerEngine SFrame LinuxRuntime EventLoop \
        ICETransport FrameEncryption Identity HTTP Admission Signaling PeerConnection
    Service: MediaCore Identifiers SessionDescription PeerEngine LinuxRuntime EventLoop ICETransport Identity HTTP \
        Admission Signaling PeerConnection Host Viewer
    Relay: MediaCore Identifiers SessionDescription MediaEngine PeerEngine LinuxRuntime EventLoop ICETransport Identity \
        HTTP Admission Signaling PeerConnection Host Viewer Service
    Recording: MediaCore VideoBitstream Matroska LinuxRuntime WebMContainer SQLiteDatabase
    RecordingPage: LinuxRuntime TLSTransport LibraryPage HTTP NIOCore NIOPosix NIOHTTP1
    Extensions: MediaCore Identifiers MediaEngine LinuxRuntime EventLoop ICETransport ExtensionChannel Identity \
        Admission Signaling PeerConnection Host
    Control: MediaCore Identifiers ControlSocket PeerConnection Host
    # Commands
    Wording: MediaCore Signaling PeerConnection
    ShareKit: MediaCore Identifiers LinuxRuntime VPXCodec FFmpegCodec DAV1DCodec OpusCodec PixelConversion \
        X11Capture CameraCapture InAppCapture PulseAudio ImageFile SessionBus ControlSocket ExtensionChannel Identity HTTP \
        Admission Signaling WHIP PeerConnection Host Viewer Service Recording RecordingPage Extensions Control Wording
    CommandSupport: MediaCore Identifiers SessionDescription LinuxRuntime SessionBus Identity HTTP Admission Signaling \
        PeerConnection Host Wording ArgumentParser
    RelayVerb: MediaCore Identifiers LinuxRuntime ProcessMemory NATSMessaging Identity HTTP Admission Signaling \
        PeerConnection Host Service Relay CommandSupport ArgumentParser
    share-relay: ProcessMemory CommandSupport RelayVerb ArgumentParser
    share: MediaCore Identifiers SessionDescription LinuxRuntime VPXCodec OpusCodec PixelConversion X11Capture \
        X11Control PortalCapture CameraCapture PulseAudio WindowPlayout ImageFile QRCodes SessionBus TestSource ProcessMemory ControlSocket \
        Identity HTTP Admission Signaling PeerConnection Host Viewer Service Recording RecordingPage Extensions Control \
        ShareKit CommandSupport RelayVerb ArgumentParser
    share-lab: MediaCore Identifiers LinuxRuntime WindowPlayout TestSource ProcessMemory Identity \
        HTTP Admission Signaling PeerConnection Host Viewer Relay Extensions ShareKit CommandSupport RelayVerb \
        ArgumentParser
    """

/// What tests and benchmarks share; TestSupport is a package of its own too, for those outside of this one.
func support(_ name: String, _ dependencies: [String] = []) -> Target {
    .target(
        name: name, dependencies: named(dependencies), path: "TestSupport/Sources/\(name)",
        swiftSettings: settings + optimized)
}

/// - Parameter compute: the tests compute for long.
func tests(_ name: String, _ dependencies: [String], compute: Bool = false) -> Target {
    .testTarget(
        name: name, dependencies: named(dependencies), path: "Tests/\(name)",
        swiftSettings: settings + (compute ? optimized : []))
}

let products: [String: Target.Dependency] = [
    "NIOCore": .product(name: "NIOCore", package: "swift-nio"),
    "NIOPosix": .product(name: "NIOPosix", package: "swift-nio"),
    "NIOEmbedded": .product(name: "NIOEmbedded", package: "swift-nio"),
    "NIOTLS": .product(name: "NIOTLS", package: "swift-nio"),
    "NIOHTTP1": .product(name: "NIOHTTP1", package: "swift-nio"),
    "HTTPTypes": .product(name: "HTTPTypes", package: "swift-http-types"),
    "ArgumentParser": .product(name: "ArgumentParser", package: "swift-argument-parser"),
    "NIOWebSocket": .product(name: "NIOWebSocket", package: "swift-nio"),
]

func named(_ names: some Sequence<String>) -> [Target.Dependency] {
    names.map { products[$0] ?? .byName(name: $0) }
}

/// What ShareKit imports only with the trait: apps that leave it out do not compile it. There is one trait, as SwiftPM
/// (6.3.1) passes several to the compiler in an order that changes from build to build, each of which then compiles
/// everything anew.
let optional = ["Recording", "RecordingPage", "WHIP"]
let trait = "RecordingsAndWHIP"

/// The targets of the table.
let layers: [Target] = {
    var targets: [Target] = []
    var layer = ""
    for line in imports.split(separator: "\n") {
        if line.hasPrefix("# ") {
            layer = line == "# Commands" ? "" : "\(line.dropFirst(2))/"
            continue
        }
        let words = line.split(separator: " ").map(String.init)
        let name = String(words[0].dropLast())
        let dependencies = words.dropFirst().filter { $0 != "CIPSecMB" }
        let modules = named(dependencies).map { module -> Target.Dependency in
            guard name == "ShareKit", case .byNameItem(let name, _) = module, optional.contains(name) else {
                return module
            }
            return .target(name: name, condition: .when(traits: [trait]))
        }
        let path = "Sources/\(layer)\(name)"
        targets.append(
            name.hasPrefix("share")
                ? .executableTarget(
                    name: name, dependencies: modules, path: path,
                    swiftSettings: settings + wholeModules + (name == "share" ? command : []))
                : .target(
                    name: name, dependencies: modules, path: path,
                    swiftSettings: settings + wholeModules + (["", "Peer/"].contains(layer) ? [] : optimized)))
    }
    return targets
}()

let package = Package(
    name: "share",
    products: [
        .executable(name: "share", targets: ["share"]),
        .executable(name: "share-relay", targets: ["share-relay"]),
        .executable(name: "share-lab", targets: ["share-lab"]),
        .library(name: "ShareKit", targets: ["ShareKit"]),
    ],
    traits: [
        .default(enabledTraits: [trait]),
        .trait(
            name: trait,
            description: """
                ShareKit writes recordings and clips, edits, shows and offers them, and its upload programs publish to \
                WHIP endpoints (RFC 9725).
                """),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    ],
    targets: layers + [
        // Libraries
        // libnice is loaded at run time: declarations alone, and functions of their names that load it.
        library("CNice", pkgConfig: "gio-2.0", debian: "libnice-dev"),
        .target(name: "NiceFunctions", dependencies: ["CGIO"], path: "Sources/Libraries/NiceFunctions"),
        library("COpenSSL", pkgConfig: "openssl", debian: "libssl-dev"),
        library("CSRTP", pkgConfig: "libsrtp2", debian: "libsrtp2-dev"),
        library("CVPX", pkgConfig: "vpx", debian: "libvpx-dev"),
        library("COpus", pkgConfig: "opus", debian: "libopus-dev"),
        .systemLibrary(name: "CYUV", path: "Sources/Libraries/CYUV", providers: [.apt(["libyuv-dev"])]),
        library(
            "CXCB",
            pkgConfig:
                "xcb-shm xcb-damage xcb-xfixes xcb-randr xcb-xinput xcb-composite xcb-shape xcb-xtest xcb-xkb xcb",
            debian: "libxcb-damage0-dev"),
        library("CPulse", pkgConfig: "libpulse", debian: "libpulse-dev"),
        library("CPipeWire", pkgConfig: "libpipewire-0.3", debian: "libpipewire-0.3-dev"),
        library("CSDL", pkgConfig: "sdl2 SDL2_ttf", debian: "libsdl2-ttf-dev"),
        library("CFontconfig", pkgConfig: "fontconfig", debian: "libfontconfig-dev"),
        library("CFreeType", pkgConfig: "freetype2", debian: "libfreetype-dev"),
        library("CPNG", pkgConfig: "libpng", debian: "libpng-dev"),
        library("CSQLite", pkgConfig: "sqlite3", debian: "libsqlite3-dev"),
        library("CQREncode", pkgConfig: "libqrencode", debian: "libqrencode-dev"),
        library("CGLib", pkgConfig: "glib-2.0", debian: "libglib2.0-dev"),
        library("CGIO", pkgConfig: "gio-unix-2.0", debian: "libglib2.0-dev"),
        library("CNATS", pkgConfig: "libnats", debian: "libnats-dev"),
        // Loaded at run time: declarations alone.
        .systemLibrary(name: "CAVCodec", path: "Sources/Libraries/CAVCodec"),
        .systemLibrary(name: "CDAV1D", path: "Sources/Libraries/CDAV1D"),
        .systemLibrary(name: "CMalloc", path: "Sources/Libraries/CMalloc"),
        .systemLibrary(name: "CV4L2", path: "Sources/Libraries/CV4L2"),
        .systemLibrary(name: "CLinux", path: "Sources/Libraries/CLinux"),
        // C, as #embed puts files into the executable.
        .target(name: "ViewerPage", path: "Sources/Peer/ViewerPage", exclude: ["Page"]),
        .target(name: "LibraryPage", path: "Sources/Peer/LibraryPage", exclude: ["Page"]),
        // The code of the tutorial, which its pages show.
        .target(
            name: "ShareKitTutorial", dependencies: ["ShareKit"], path: "Sources/ShareKit/ShareKit.docc/Code",
            swiftSettings: settings),
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
        support("ClusterSupport", ["Relay"]),
        support("NetworkBed"),
        support("WaitSupport", ["LinuxRuntime", "MediaCore"]),
        support("BrowserControl", ["NetworkBed", "TestSupport", "NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket"]),
        .executableTarget(
            name: "probe-extension", dependencies: ["ExtensionChannel"],
            path: "TestSupport/Sources/probe-extension", swiftSettings: settings),
        .executableTarget(
            name: "portal-backend", dependencies: ["CGIO", "CPipeWire"], path: "TestSupport/Sources/portal-backend"),
        .executableTarget(
            name: "test-camera", dependencies: ["CPipeWire"], path: "TestSupport/Sources/test-camera"),
        tests("AdmissionTests", ["MediaCore", "Identifiers", "Identity", "Admission", "Signaling", "Cryptography"]),
        tests(
            "CameraCaptureTests",
            [
                "MediaCore", "LinuxRuntime", "PixelConversion", "CameraCapture", "TestSupport", "test-camera",
            ]),
        tests(
            "CommandTests",
            [
                "MediaCore", "Identifiers", "SessionDescription", "LinuxRuntime", "ImageFile", "SessionBus",
                "Identity", "HTTP", "Admission", "Signaling", "PeerConnection", "Host", "Service", "Relay", "Control",
                "Wording", "ShareKit", "CommandSupport", "RelayVerb", "BusSupport", "BrowserControl", "TestSupport",
                "CXCB",
                "share", "share-lab", "share-relay", "probe-extension", "ConferenceSetup", "ConferenceUpload",
                "SnapshotSetup", "SnapshotUpload", "portal-backend", "test-camera", "ArgumentParser",
            ]),
        tests("ControlSocketTests", ["MediaCore", "LinuxRuntime", "ControlSocket", "TestSupport", "WaitSupport"]),
        tests("ControlTests", ["MediaCore", "Identifiers", "Identity", "Host", "Control"]),
        tests("CryptographyTests", ["Cryptography", "COpenSSL", "TestSupport"]),
        tests("DTLSTransportTests", ["MediaCore", "LinuxRuntime", "DTLSTransport", "TestSupport", "COpenSSL"]),
        tests("EventLoopTests", ["MediaCore", "LinuxRuntime", "EventLoop", "CGLib", "TestSupport"]),
        tests(
            "ExtensionChannelTests",
            [
                "MediaCore", "LinuxRuntime", "ExtensionChannel", "TestSupport", "probe-extension",
            ]),
        tests(
            "ExtensionsTests",
            [
                "MediaCore", "Identifiers", "LinuxRuntime", "VPXCodec", "OpusCodec", "TestSource", "ExtensionChannel",
                "Identity", "Admission", "Signaling", "PeerConnection", "Host", "Extensions", "TestSupport",
            ]),
        tests("FrameEncryptionTests", ["MediaCore", "SFrame", "FrameEncryption"]),
        tests(
            "HTTPTests",
            [
                "MediaCore", "Identifiers", "TLSTransport", "Identity", "HTTP", "Signaling", "NIOCore", "NIOPosix",
                "NIOEmbedded", "NIOTLS", "NIOHTTP1", "HTTPTypes", "COpenSSL",
            ]),
        tests(
            "HostTests",
            [
                "MediaCore", "Identifiers", "SessionDescription", "MediaEngine", "LinuxRuntime", "OpusCodec",
                "Identity", "Admission", "Signaling", "PeerConnection", "PeerEngine", "Host", "TestSupport",
            ]),
        tests(
            "ICETransportTests",
            [
                "MediaCore", "SessionDescription", "LinuxRuntime", "EventLoop", "ICETransport", "TestSupport",
            ]),
        tests("IdentifiersTests", ["Identifiers"]),
        tests("IdentityTests", ["Identifiers", "SessionDescription", "Identity", "Signaling"]),
        tests("ImageFileTests", ["MediaCore", "PixelConversion", "ImageFile"]),
        tests("InAppCaptureTests", ["MediaCore", "LinuxRuntime", "PixelConversion", "InAppCapture"]),
        tests(
            "InteropTests",
            [
                "MediaCore", "Identifiers", "SessionDescription", "LinuxRuntime", "VPXCodec", "OpusCodec",
                "TestSource", "Identity", "Admission", "Signaling", "PeerConnection", "Host", "Viewer",
                "BrowserControl", "NetworkBed", "TestSupport", "WaitSupport", "share",
            ], compute: true),
        tests("LinuxRuntimeTests", ["MediaCore", "LinuxRuntime", "TestSupport"]),
        tests(
            "LoopbackTests",
            [
                "MediaCore", "Identifiers", "SessionDescription", "MediaEngine", "PeerEngine", "SFrame",
                "FrameEncryption", "LinuxRuntime", "EventLoop", "ICETransport", "VPXCodec",
                "OpusCodec", "TestSource", "Identity", "HTTP", "Admission", "Signaling", "PeerConnection", "Host",
                "Viewer", "Service", "Relay", "Control", "Wording", "ClusterSupport", "TestSupport", "WaitSupport",
                "NIOCore", "HTTPTypes",
            ]),
        tests("MatroskaTests", ["MediaCore", "Matroska", "TestSupport"]),
        tests("MediaCoreTests", ["MediaCore"]),
        tests("MediaEngineTests", ["MediaCore", "RTPWire", "MediaEngine"]),
        tests(
            "NetworkTests",
            ["Identifiers", "LinkEmulation", "NetworkBed", "BusSupport", "TestSupport", "share", "Cryptography"]),
        tests("OpusCodecTests", ["MediaCore", "OpusCodec", "TestSupport"]),
        tests("PeerConnectionTests", ["SessionDescription", "ICETransport", "HTTP", "Signaling", "PeerConnection"]),
        tests("PeerEngineTests", ["MediaCore", "Identifiers", "SessionDescription", "PeerEngine", "TestSupport"]),
        tests("PixelConversionTests", ["MediaCore", "PixelConversion"]),
        tests(
            "PortalCaptureTests",
            [
                "MediaCore", "LinuxRuntime", "PixelConversion", "PortalCapture", "SessionBus", "BusSupport",
                "TestSupport", "portal-backend",
            ]),
        tests("PulseAudioTests", ["MediaCore", "LinuxRuntime", "PulseAudio", "TestSupport"]),
        tests("QRCodesTests", ["QRCodes", "ImageFile", "MediaCore", "TestSupport"]),
        tests("RTPWireTests", ["MediaCore", "RTPWire", "TestSupport"]),
        tests(
            "RecordingTests",
            [
                "MediaCore", "RTPWire", "VideoBitstream", "Matroska", "MediaEngine", "LinuxRuntime", "VPXCodec",
                "OpusCodec", "WebMContainer", "SQLiteDatabase", "Recording", "TestSupport",
            ]),
        tests(
            "RelayTests",
            [
                "MediaCore", "Identifiers", "Identity", "Admission", "Signaling", "PeerConnection", "Relay",
                "ClusterSupport", "TestSupport",
            ]),
        tests("SRTPTransportTests", ["MediaCore", "RTPWire", "MediaEngine", "SRTPTransport", "TestSupport"]),
        tests("SessionBusTests", ["MediaCore", "LinuxRuntime", "SessionBus", "CGIO", "BusSupport", "TestSupport"]),
        tests("SessionDescriptionTests", ["MediaCore", "RTPWire", "SessionDescription", "TestSupport"]),
        tests(
            "ShareKitTests",
            [
                "MediaCore", "Identifiers", "LinuxRuntime", "CameraCapture", "InAppCapture", "PulseAudio",
                "SessionBus", "ControlSocket", "Identity", "Admission", "Signaling", "Host", "Service", "Relay",
                "Extensions", "ShareKit", "BrowserControl", "BusSupport", "ShareKitTutorial", "TestSupport",
                "test-camera",
            ]),
        tests(
            "SignalingTests",
            [
                "MediaCore", "Identifiers", "SessionDescription", "SFrame", "LinuxRuntime", "FrameEncryption",
                "Identity", "HTTP", "Admission", "Signaling", "TestSupport", "WaitSupport", "Cryptography",
                "TLSTransport", "NIOCore", "NIOPosix", "NIOHTTP1", "HTTPTypes",
            ]),
        tests(
            "SimulationTests", ["MediaCore", "RTPWire", "VideoBitstream", "MediaEngine", "TestSupport"],
            compute: true),
        tests("TLSTransportTests", ["TLSTransport", "COpenSSL", "TestSupport"]),
        tests("TestSourceTests", ["MediaCore", "TestSource"]),
        tests(
            "VPXCodecTests", ["MediaCore", "RTPWire", "VideoBitstream", "VPXCodec", "TestSupport"], compute: true),
        tests(
            "VideoDecoderTests",
            [
                "MediaCore", "VideoBitstream", "VPXCodec", "FFmpegCodec", "DAV1DCodec", "TestSupport",
            ], compute: true),
        tests(
            "WHIPTests",
            [
                "SessionDescription", "LinuxRuntime", "HTTP", "Signaling", "WHIP", "NIOCore", "NIOPosix", "NIOHTTP1",
                "TLSTransport", "TestSupport",
            ]),
        tests("WebMContainerTests", ["MediaCore", "Matroska", "WebMContainer", "TestSupport"]),
        tests("WindowPlayoutTests", ["MediaCore", "LinuxRuntime", "WindowPlayout", "CSDL", "TestSupport"]),
        tests(
            "X11CaptureTests",
            [
                "MediaCore", "LinuxRuntime", "PixelConversion", "X11Capture", "CXCB", "TestSupport",
            ]),
        tests(
            "X11ControlTests",
            [
                "MediaCore", "LinuxRuntime", "PixelConversion", "X11Capture", "X11Control", "CXCB", "TestSupport",
            ]),
    ]
)

// Intel's library for IPsec is only for x86-64. Elsewhere OpenSSL encrypts what is sent, too.
#if arch(x86_64)
package.targets.append(
    .systemLibrary(name: "CIPSecMB", path: "Sources/Libraries/CIPSecMB", providers: [.apt(["libipsec-mb-dev"])]))
package.targets.first { $0.name == "SRTPTransport" }?.dependencies.append("CIPSecMB")
#endif
