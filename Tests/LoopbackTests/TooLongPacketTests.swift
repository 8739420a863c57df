import EventLoop
import LinuxRuntime
import MediaCore
import SessionDescription
import Testing
import WaitSupport

@testable import Host
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// A publisher whose packets are longer than what a relay passes on.
@Suite(.timeLimit(.minutes(1)))
struct TooLongPacketTests {
    /// A key frame of VP8 in one packet.
    private static func packet(_ number: UInt16, payload: Int) -> [UInt8] {
        let (high, low) = (UInt8(number >> 8), UInt8(number & 0xFF))
        let header: [UInt8] = [0x80, 0x80 | 96, high, low, 0, 0, high, low, 0, 0, 0, 7]
        let start: [UInt8] = [0x10, 0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 48, 0]
        return header + start + [UInt8](repeating: 1, count: payload - start.count)
    }

    @Test func itIsToldOnceAndTheOthersArePassedOn() async throws {
        let receiver = try PublicationTests.Receiver()
        let socket = try await receiver.openSocket()
        let (identity, loop, gathered) = (try Identity.ephemeral(), EventLoop(name: "publisher"), Monitor(false))
        let expected = receiver.identity.fingerprint
        let peer = LoopBound(loop, making: { try? RawPeer(loop, identity, expected, Monitor(0), gathered) })
        #expect(await waiting(gathered) { $0 ? true : nil } ?? false)
        let found = await peer.ifRunning { peer in peer.map { ($0.path.localCredentials, $0.path.localCandidates) } }
        let (credentials, candidates) = try #require(found ?? nil)
        let offer = LocalDescription(
            credentials: credentials, fingerprint: try #require(Fingerprint(sha256: identity.fingerprint)),
            candidates: candidates, endsCandidates: true, video: [LocalVideoSSRCs(ssrc: 7)]
        ).offer(.sending)
        let answer = try Answer(try await receiver.answer(offer, through: socket), to: .sending)
        let (length, sent) = (Monitor(1_472), Monitor(0))
        peer.perform { peer in
            peer?.next = {
                let number = sent.with { $0 }
                sent.change { $0 += 1 }
                return Self.packet(UInt16(truncatingIfNeeded: number), payload: length.with { $0 })
            }
        }
        peer.perform { $0?.begin(answer) }
        #expect(await waiting(sent) { $0 >= 30 ? true : nil } == true)
        let statistics = await receiver.core.ifRunning { $0.statistics } ?? nil
        #expect(statistics?.packetsReceived ?? 0 > 10 && statistics?.badPackets == 0)
        #expect(receiver.warnings.with { $0.isEmpty })
        length.with { $0 = 1_600 }
        let warning = await waiting(receiver.warnings) { $0.first }
        #expect(warning?.contains("too long") == true && warning?.contains("1472 bytes") == true)
        #expect((await receiver.core.ifRunning { $0.statistics?.badPackets } ?? nil) ?? 0 > 0)
        let count = sent.with { $0 }
        #expect(await waiting(sent) { $0 >= count + 50 ? true : nil } == true)
        #expect(receiver.warnings.with { $0.count } == 1)
        await peer.performAndWait { peer, done in peer.map { $0.close(done) } ?? done() }
        await loop.stop()
        await receiver.close()
    }
}
