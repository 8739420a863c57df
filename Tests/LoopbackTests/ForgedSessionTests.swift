import EventLoop
import LinuxRuntime
import MediaCore
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import Host
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// A whole session whose two peers get datagrams that neither has sent, with each other's address.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ForgedSessionTests {
    /// Whatever the datagrams are, the session goes on, and ends when the host says so.
    @Test func forgedDatagramsDoNotEndASession() async throws {
        try await watched { host, viewer, seen, events, watching in
            for round in 0..<3 {
                await host.core.ifRunning { broadcast in
                    for peer in broadcast.viewers.all { Self.forge(round) { peer.transport.receive($0) } }
                }
                await (try #require(viewer.present)).media.ifRunning { media in
                    Self.forge(round) { media.stream.connection?.transport.receive($0) }
                }
                let count = seen.state.counters.count
                #expect(await seen.wait { $0.counters.count >= count + 20 })
            }
            #expect(events.with { !$0.contains("interrupted") })
            await host.stop(EndReason(.stopped, "done"))
            #expect(await watching.value.code == .hostEnded)
        }
    }

    /// A peer that seems to have gone is asked for over HTTPS: the host still has the session.
    @Test func anInferredEndIsConfirmedOverHTTPSFirst() async throws {
        try await watched { host, viewer, seen, events, watching in
            let media = try #require(viewer.present).media
            await media.ifRunning { $0.stream.connection?.transport.pathPeerHasGone() }
            #expect(await waiting(events) { $0.contains("resumed") ? true : nil } ?? false)
            #expect(events.with { $0.firstIndex(of: "interrupted") != nil })
            // The host does not take the viewer, whose event stream is open, for gone either.
            await host.core.ifRunning { broadcast in
                for peer in broadcast.viewers.all { peer.transport.pathPeerHasGone() }
            }
            let count = seen.state.counters.count
            #expect(await seen.wait { $0.counters.count >= count + 20 })
            await host.stop(EndReason(.stopped, "done"))
            #expect(await watching.value.code == .hostEnded)
        }
    }

    /// Runs `body` while a viewer watches.
    private func watched(
        _ body: (HostSession, ViewerSession, RecordedOutput, Monitor<[String]>, Task<EndReason, Never>) async throws ->
            Void
    ) async throws {
        let configuration = HostSession.Configuration(
            listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
            maximumBitrate: .kilobits(8_000), contentHint: nil, name: "loopback")
        let host = try HostSession(
            configuration: configuration, identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 30),
            encoder: VP8Encoder(), audio: [], decide: { _ in .accepted }, emit: { _ in })
        let link = try await host.start()
        let seen = RecordedOutput()
        let events = Monitor<[String]>([])
        let viewer = ViewerSession(
            link: link, identity: try .ephemeral(), name: "viewer", sink: playback(seen, speaker: seen)
        ) { event in
            switch event {
            case .interrupted: events.change { $0.append("interrupted") }
            case .resumed: events.change { $0.append("resumed") }
            default: break
            }
        }
        let watching = Task { await viewer.run() }
        #expect(await seen.wait { $0.counters.count >= 20 })
        try await body(host, viewer, seen, events, watching)
    }

    /// All content types, epochs 0 to 2 and the last, 0 to 40 bytes, alone and behind another record; hellos and alerts
    /// in plaintext; the 21 bytes of CVE-2026-75806.
    private static func forge(_ round: Int, _ send: ([UInt8]) -> Void) {
        let number: [UInt8] = round == 0 ? [0, 0, 0, 0, 0, 1] : [255, 255, 255, 255, 255, 255]
        var shapes: [[UInt8]] = [[23, 254, 253, 0, 1, 255, 255, 255, 255, 255, 255, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]]
        for type: UInt8 in 20...25 {
            for epoch: [UInt8] in [[0, 0], [0, 1], [0, 2], [255, 255]] {
                for count: UInt8 in 0...40 {
                    shapes.append(
                        [type, 254, 253] + epoch + number + [0, count] + [UInt8](repeating: 2, count: Int(count)))
                }
            }
        }
        for description: UInt8 in [0, 10, 20, 40, 50, 80] {
            shapes.append([21, 254, 253, 0, 0] + number + [0, 2, 2, description])
        }
        let hello: [UInt8] = [1, 0, 0, 34, 0, 0, 0, 0, 0, 0, 0, 34, 254, 253] + [UInt8](repeating: 7, count: 32)
        shapes.append([22, 254, 255, 0, 0] + number + [0, 46] + hello)
        for shape in shapes {
            send(shape)
            send([22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1] + shape)
        }
    }
}

extension SecureTransport {
    /// Takes a datagram as if ICE had just delivered it.
    fileprivate func receive(_ datagram: [UInt8]) {
        var bytes = datagram
        bytes.withUnsafeMutableBytes { path(received: $0, at: MonotonicClock.now) }
    }
}
