import LinuxRuntime
import MediaCore
import OpusCodec
import Signaling
import TestSource
import Testing
import VPXCodec
import WaitSupport

@testable import Admission
@testable import Host
@testable import Identifiers
@testable import Identity
@testable import PeerConnection
@testable import Viewer

/// A session that differs from a viewer's only in its sink.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct EncodedMediaSinkTests {
    private func host() async throws -> (HostSession, Link) {
        let session = try HostSession(
            configuration: .init(
                listenHost: "127.0.0.1", listenPort: 0, linkHost: "127.0.0.1", fixedToken: nil, framesPerSecond: 60,
                maximumBitrate: .kilobits(8_000), contentHint: nil),
            identity: try .ephemeral(), source: TestVideoSource(framesPerSecond: 30), encoder: VP8Encoder(),
            audio: [.testTone], decide: { _ in .accepted }, emit: { _ in })
        return (session, try await session.start())
    }

    @Test func aSinkWithoutADecoderGetsFramesAndPacketsAsTheyWereEncoded() async throws {
        let (host, link) = try await host()
        let sink = RecordingSink()
        let session = ViewerSession(
            link: link, identity: try .ephemeral(), name: "recorder", sink: sink, emit: { _ in })
        let watching = Task { await session.run() }
        // At least one sender report has arrived by then.
        let recorded = try #require(
            await waiting(sink.state) { state in
                state.frames.count >= 40 && state.packets.count >= 60 && state.frames.last?.captured != nil
                    ? (frames: state.frames, packets: state.packets, formats: state.formats) : nil
            })
        #expect(recorded.formats == [EncodedMediaFormat(video: .vp8, audio: [.applicationAudio])])
        let first = try #require(recorded.frames.first)
        #expect(first.isKeyframe && first.size == TestVideoSource.defaultSize)
        for frame in recorded.frames {
            #expect(frame.length > 0 && frame.codec == .vp8 && (frame.size != nil) == frame.isKeyframe)
            // Both clocks are this machine's.
            if let captured = frame.captured { #expect(abs((frame.arrival - captured).inSeconds) < 5) }
        }
        let times = recorded.frames.map(\.rtpTimestamp)
        #expect(zip(times, times.dropFirst()).allSatisfy { Int32(bitPattern: $1 &- $0) > 0 })
        for (packet, next) in zip(recorded.packets, recorded.packets.dropFirst()) {
            #expect(packet.track == 0 && packet.length > 0)
            #expect(Int32(bitPattern: next.rtpTimestamp &- packet.rtpTimestamp) >= Int32(packet.samplesPerChannel))
        }

        let keyframes = sink.state.with { $0.frames.count { $0.isKeyframe } }
        sink.state.with { $0.requestKeyframe }?(.cannotContinue)
        let hasKeyframe = await waiting(sink.state) { state in
            state.frames.count { $0.isKeyframe } > keyframes ? true : nil
        }
        #expect(hasKeyframe == true)

        // A key frame that is only wanted holds nothing back: the frames before it come as ever.
        // The host ignores a request so soon after a key frame.
        let before = try #require(
            await waiting(sink.state) { state in
                let sinceKeyframe = state.frames.reversed().prefix { !$0.isKeyframe }.count
                return sinceKeyframe >= 40 ? state.frames.count : nil
            })
        sink.state.with { $0.requestKeyframe }?(.wanted)
        let later = try #require(
            await waiting(sink.state) { state in
                state.frames[before...].contains { $0.isKeyframe } ? Array(state.frames[(before - 1)...]) : nil
            })
        let gaps = zip(later, later.dropFirst()).map { $1.rtpTimestamp &- $0.rtpTimestamp }
        #expect(gaps.allSatisfy { $0 < 18_000 }, "\(gaps)")
        #expect(try #require(await session.statistics()).packetsReceived > 0)
        session.leave()
        #expect(await watching.value.code == .stopped)
        #expect(sink.state.with { $0.closings } == 1)
        await host.stop(EndReason(.stopped, "done"))
    }

    @Test func aSinkThatRefusesEndsTheSessionWithItsReason() async throws {
        let (host, link) = try await host()
        let reason = await ViewerSession(
            link: link, identity: try .ephemeral(), name: "recorder", sink: RefusingSink(), emit: { _ in }
        ).run()
        #expect(reason.code == .failed)
        #expect(reason.sentence.contains("the disk is full") && reason.remedy == "Make room.")
        await host.stop(EndReason(.stopped, "done"))
    }
}
