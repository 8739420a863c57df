import Admission
import CommandSupport
import Extensions
import Host
import MediaCore
import PeerConnection
import ShareKit
import Signaling
import TestSource

/// The broadcast of a test stream.
final class BenchPublisher {
    private let controller: BroadcastController
    private let destination: BroadcastDestination

    /// - Parameters:
    ///   - link: the relay's, for publishers.
    ///   - bitrate: in kbit/s.
    ///   - title: in the directory; nil: the broadcast is not listed.
    init(_ link: String, bitrate: Int, title: String? = nil) throws {
        let identity = try makeIdentity()
        let (parsed, description) = try ServiceLookup.describe(link)
        let manifest = ExtensionManifest(description, service: parsed)
        let application = ApplicationInfo(id: "io.sharekit.bench", name: "bench")
        do {
            var paired = try blocking(throwing: { () throws(BroadcastRefusal) in
                try await BroadcastActivity.pair(with: manifest, application: application, identity: identity) { _ in
                    [:]
                }
            })
            if case .service(var service) = paired {
                service.title = title
                paired = .service(service)
            }
            destination = paired
        } catch {
            throw CommandError(sentence: "the relay does not take the stream: \(error)", status: .failed)
        }
        var settings = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 30,
            maximumBitrate: .kilobits(bitrate), contentHint: nil)
        settings.name = "bench"
        let screen = NoisyScreen(TestVideoSource(size: PixelSize(width: 640, height: 360), framesPerSecond: 30))
        do throws(EndReason) {
            controller = try BroadcastController(
                destination, CapturedMedia(screen: screen, audio: []), settings, identity: identity, emit: { _ in },
                report: { _ in })
            let controller = controller
            try blocking(throwing: { () throws(EndReason) in try await controller.start() })
        } catch {
            throw CommandError(error)
        }
    }

    func stop() {
        let (controller, destination) = (controller, destination)
        blocking {
            await controller.stop(EndReason(.stopped, "measured"))
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
