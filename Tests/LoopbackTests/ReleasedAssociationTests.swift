import EventLoop
import Host
import ICETransport
import Identity
import LinuxRuntime
import MediaCore
import SessionDescription
import Testing
import WaitSupport

@testable import PeerConnection

/// A relay's viewer that closes its connection without a DELETE, after its association has been freed.
@Suite(.timeLimit(.minutes(1)))
struct ReleasedAssociationTests {
    /// Its close_notify cannot be read any more, so the relay checks whether it still answers.
    @Test func aViewerThatClosesIsMissed() async throws {
        try await connected { pair, relay, viewer in
            let began = MonotonicClock.now
            pair.perform { $0.viewer.transport.close() }
            #expect(await waiting(relay) { $0.isMissed ? true : nil } ?? false)
            let time = MonotonicClock.now - began
            #expect(time > .seconds(2) && time < .seconds(20), "after \(time.inSeconds) s")
            #expect(relay.with { !$0.hasHeardTheEnd && !$0.hasEnded })
        }
    }

    /// The viewer has got no packet yet, so it reads the relay's close_notify.
    @Test func theRelaySaysThatItEnds() async throws {
        try await connected { pair, relay, viewer in
            pair.perform { $0.relay.transport.close() }
            #expect(await waiting(viewer) { $0.hasHeardTheEnd ? true : nil } ?? false)
            #expect(viewer.with { !$0.isMissed })
        }
    }

    /// Every shape that has ended an association somewhere (CVE-2026-75806), at a side that has been heard and at one
    /// that has not. Both are there when the next packet comes.
    @Test func noForgedDatagramEndsASession() async throws {
        try await connected { pair, relay, viewer in
            pair.perform { pair in
                for side in [pair.relay, pair.viewer] { side.receiveForged() }
                pair.viewer.sendControl()
                pair.relay.sendControl()
            }
            #expect(await waiting(relay) { $0.controls == 2 ? true : nil } ?? false)
            #expect(await waiting(viewer) { $0.controls == 1 ? true : nil } ?? false)
            for state in [relay, viewer] {
                #expect(state.with { !$0.hasHeardTheEnd && !$0.hasEnded && !$0.isMissed })
            }
        }
    }

    /// Runs `body` when the relay has got a packet of the viewer.
    private func connected(
        _ body: (LoopBound<Pair>, Monitor<Side.State>, Monitor<Side.State>) async -> Void
    ) async throws {
        let loop = EventLoop(name: "net-0")
        let identities = (try Identity.ephemeral(), try Identity.ephemeral())
        let (relay, viewer) = (Monitor(Side.State()), Monitor(Side.State()))
        let pair = LoopBound(
            loop,
            making: {
                guard let pair = try? Pair(loop, identities.0, identities.1, relay, viewer)
                else { preconditionFailure("no connection") }
                return pair
            })
        #expect(await waiting(viewer) { $0.isSecure ? true : nil } ?? false)
        pair.perform { $0.viewer.sendControl() }
        #expect(await waiting(relay) { $0.controls == 1 && !$0.hasHeardTheEnd ? true : nil } ?? false)
        await body(pair, relay, viewer)
        await pair.performAndWait { pair, done in
            pair.close()
            done()
        }
        await loop.stop()
    }

    /// Confined to the loop.
    private final class Pair {
        let relay: Side
        let viewer: Side
        private let sockets: [ICELiteSocket]

        init(
            _ loop: EventLoop, _ own: Identity, _ other: Identity, _ relayState: Monitor<Side.State>,
            _ viewerState: Monitor<Side.State>
        ) throws {
            sockets = try (0..<2).map { _ in try ICELiteSocket(loop: loop, addresses: ["127.0.0.1"]) }
            relay = try Side(LoopBound(loop, sockets[0]), own, other, relayState, isRelay: true)
            viewer = try Side(LoopBound(loop, sockets[1]), other, own, viewerState, isRelay: false)
            relay.path.start(remote: viewer.path.localCredentials)
            viewer.path.start(remote: relay.path.localCredentials)
            viewer.path.add(CandidateList(sockets[0].candidates(includesLoopback: true)), ended: true)
        }

        func close() {
            relay.transport.close()
            viewer.transport.close()
            for socket in sockets { socket.close() }
        }
    }

    /// Confined to the loop.
    private final class Side: SecureTransportDelegate {
        struct State: Sendable {
            var isSecure = false
            var hasHeardTheEnd = false
            var isMissed = false
            var hasEnded = false
            var controls = 0
        }

        let path: ICELitePath
        let transport: SecureTransport
        private let state: Monitor<State>

        init(
            _ socket: LoopBound<ICELiteSocket>, _ own: Identity, _ other: Identity, _ state: Monitor<State>,
            isRelay: Bool
        ) throws {
            self.state = state
            path = try ICELitePath(socket, isControlling: !isRelay, place: .loopback, allowance: nil)
            transport = try SecureTransport(
                loop: socket.loop, isServer: isRelay, identity: own,
                expectedFingerprint: other.fingerprint, path: path)
            transport.delegate = self
        }

        /// An empty receiver report (RFC 3550 section 6.4.2).
        func sendControl() {
            let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0, 9]
            transport.slot.copyBytes(from: report)
            transport.sendControl(report.count)
            transport.flush()
        }

        /// Datagrams of all content types and epochs 0 to 2, alone and behind another record.
        func receiveForged() {
            var shapes: [[UInt8]] = [[23, 254, 253, 0, 1, 255, 255, 255, 255, 255, 255, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]]
            for type: UInt8 in 20...25 {
                for epoch: UInt8 in 0...2 {
                    for count: UInt8 in 0...40 {
                        shapes.append(
                            [type, 254, 253, 0, epoch, 255, 255, 255, 255, 255, 255, 0, count]
                                + [UInt8](repeating: 2, count: Int(count)))
                    }
                }
            }
            for shape in shapes {
                for var bytes in [shape, [22, 254, 253, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1] + shape] {
                    bytes.withUnsafeMutableBytes { transport.path(received: $0, at: MonotonicClock.now) }
                }
            }
        }

        func transportIsSecure(profile: SRTPProfile) { state.change { $0.isSecure = true } }
        func transportSelectedNewPair() {}
        func transportEnded(_ reason: EndReason) { state.change { $0.hasEnded = true } }
        func transportMissesPeer() { state.change { $0.isMissed = true } }
        func transportReceivedCloseNotify() { state.change { $0.hasHeardTheEnd = true } }
        func transport(received rtp: UnsafeRawBufferPointer, at arrival: MediaInstant) {}
        func transport(receivedControl rtcp: UnsafeRawBufferPointer) { state.change { $0.controls += 1 } }
    }
}
