import Admission
import CommandSupport
import Extensions
import Host
import Identifiers
import Identity
import MediaCore
import PeerConnection
import ShareKit
import Signaling
import TestSource

/// The broadcast of a test stream.
final class BenchPublisher {
    private enum Broadcast {
        /// In clear, under the relay's link.
        case published(BroadcastController)
        /// Encrypted for its viewers, under its own link.
        case encrypted(PeerBroadcast, Link)
    }

    private let broadcast: Broadcast
    private let destination: BroadcastDestination

    /// Of the host; nil: viewers have the relay's.
    var link: Link? { if case .encrypted(_, let link) = broadcast { link } else { nil } }

    /// - Parameters:
    ///   - link: the relay's, for publishers.
    ///   - bitrate: in kbit/s.
    ///   - title: in the directory; nil: the broadcast is not listed.
    ///   - isEncrypted: as with `share host --route relay`; else with `--relay-may-watch`, too.
    init(_ link: String, bitrate: Int, title: String? = nil, isEncrypted: Bool = false) throws {
        let identity = try makeIdentity()
        let (parsed, description) = try ServiceLookup.describe(link)
        let manifest = ExtensionManifest(description, service: parsed)
        let application = ApplicationInfo(id: "io.sharekit.bench", name: "bench")
        var paired: BroadcastDestination
        do {
            paired = try blocking(throwing: { () throws(BroadcastRefusal) in
                try await BroadcastActivity.pair(with: manifest, application: application, identity: identity) { _ in
                    [:]
                }
            })
        } catch {
            throw CommandError(sentence: "the relay does not take the stream: \(error)", status: .failed)
        }
        var settings = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 30,
            maximumBitrate: .kilobits(bitrate), contentHint: nil)
        settings.name = "bench"
        if case .service(var service) = paired {
            service.title = title
            paired = .service(service)
            if isEncrypted { settings.tunnel = service }
            settings.handover.isRelayOnly = isEncrypted
        }
        destination = paired
        let screen = NoisyScreen(TestVideoSource(size: PixelSize(width: 640, height: 360), framesPerSecond: 30))
        let media = CapturedMedia(screen: screen, audio: [])
        do throws(EndReason) {
            broadcast = try Self.start(media, settings, isEncrypted ? nil : paired, identity)
        } catch {
            throw CommandError(error)
        }
    }

    /// - Parameter destination: nil: that of the tunnel.
    private static func start(
        _ media: consuming CapturedMedia, _ settings: HostSession.Configuration, _ destination: BroadcastDestination?,
        _ identity: Identity
    ) throws(EndReason) -> Broadcast {
        guard let destination else {
            let broadcast = try PeerBroadcast(
                media, settings, identity: identity, decide: { _ in .acceptedByRule }, emit: { _ in })
            let link = try blocking(throwing: { () throws(EndReason) in try await broadcast.open() })
            return .encrypted(broadcast, link)
        }
        let controller = try BroadcastController(
            destination, media, settings, identity: identity, emit: { _ in }, report: { _ in })
        try blocking(throwing: { () throws(EndReason) in try await controller.start() })
        return .published(controller)
    }

    func stop() {
        let (broadcast, destination) = (broadcast, destination)
        let reason = EndReason(.stopped, "measured")
        blocking {
            switch broadcast {
            case .published(let controller): await controller.stop(reason)
            case .encrypted(let peer, _): await peer.control.stop(reason)
            }
            await destination.close()
        }
    }
}

/// A screen with noise in the middle, which takes whatever bitrate there is.
// SAFETY: the generator is used by the thread that reads.
private final class NoisyScreen: ScreenSource, @unchecked Sendable {
    private let screen: TestVideoSource
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15

    init(_ screen: TestVideoSource) { self.screen = screen }

    var size: PixelSize { screen.size }
    var summary: String { screen.summary }
    var limitations: [String] { screen.limitations }

    func wait(until deadline: MediaInstant?) -> ScreenEvent { screen.wait(until: deadline) }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        let time = screen.read(into: canvas, changed: &changed)
        let place = PixelRect(x: 160, y: 96, width: 320, height: 176)
        for row in place.y..<place.maxY {
            let pixels = UnsafeMutableRawPointer(canvas.y + row * canvas.strideY + place.x)
            for column in stride(from: 0, to: place.width, by: 8) {
                // xorshift64 (Marsaglia, "Xorshift RNGs", 2003).
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                pixels.storeBytes(of: state, toByteOffset: column, as: UInt64.self)
            }
        }
        changed.insert(place)
        return time
    }

    func damageEverything() { screen.damageEverything() }
    func wake() { screen.wake() }
    func suspend() { screen.suspend() }
    func resume() { screen.resume() }
    func close() { screen.close() }
}
