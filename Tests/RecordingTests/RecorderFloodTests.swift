import Foundation
import LinuxRuntime
import Matroska
import MediaCore
import MediaEngine
import RTPWire
import TestSupport
import Testing
import VideoBitstream
import WebMContainer

@testable import Recording

/// A recorder goes on while its session is flooded: ASVS 5.0, 17.2.7.
@Suite(.timeLimit(.minutes(2))) struct RecorderFloodTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func close(_ recorder: Recorder) async {
        await withCheckedContinuation { continuation in recorder.close { continuation.resume() } }
    }

    private func file(_ name: String = "a.webm") throws -> MatroskaFile<RecordedFileSource> {
        try MatroskaFile(RecordedFileSource(folder.file(name)))
    }

    // MARK: Packets

    /// The session of a recorder, as its network thread runs it.
    private struct Session {
        let receiver: MediaReceiver
        let recorder: Recorder
        private var buffer = [UInt8](repeating: 0, count: 1_500)

        init(_ recorder: Recorder) {
            self.recorder = recorder
            receiver = MediaReceiver(
                ReceiverParameters(
                    video: VideoStreamParameters(ssrc: 1, payloadType: 96, rtxSSRC: 2, rtxPayloadType: 97, mid: "0"),
                    audio: [AudioStreamParameters(ssrc: 3, payloadType: 111, mid: "1")],
                    extensions: [.transportSequence: 3, .mid: 4, .colorSpace: 8], cname: "r", localSSRC: 9,
                    usesTransportFeedback: true), seed: 1,
                ntpEpoch: NTPTimestamp(unixSeconds: 1_700_000_000, nanoseconds: 0), now: MonotonicClock.now)
        }

        mutating func rtp(_ packet: [UInt8]) {
            packet.withUnsafeBytes { receiver.handleRTP($0, now: MonotonicClock.now) }
            poll()
        }

        mutating func rtcp(_ packet: [UInt8]) {
            packet.withUnsafeBytes { receiver.handleRTCP($0, now: MonotonicClock.now) }
            poll()
        }

        private mutating func poll() {
            buffer.withUnsafeMutableBytes { buffer in
                while true {
                    switch receiver.poll(now: MonotonicClock.now, into: buffer) {
                    case .frame(let bytes, let frame):
                        recorder.receive(
                            EncodedVideoFrame(
                                bytes: bytes, codec: frame.codec, isKeyframe: frame.isKeyframe, size: frame.size,
                                layer: frame.layer, rtpTimestamp: frame.timestamp.rawValue,
                                colorSpace: frame.colorSpace))
                    case .wait: return
                    default: break
                    }
                }
            }
        }
    }

    private func header(_ type: UInt8, _ number: UInt16, _ timestamp: UInt32, _ ssrc: UInt8) -> [UInt8] {
        [
            0x80, 0x80 | type, UInt8(number >> 8), UInt8(number & 0xFF), UInt8(timestamp >> 24),
            UInt8(timestamp >> 16 & 0xFF), UInt8(timestamp >> 8 & 0xFF), UInt8(timestamp & 0xFF), 0, 0, 0, ssrc,
        ]
    }

    /// What a peer that has the keys may send beside its video: other sources, far numbers, old packets, RTX of them,
    /// and reports of everything.
    private func flood(
        _ session: inout Session, _ count: Int, _ number: UInt16, _ random: inout SeededGenerator
    ) {
        for _ in 0..<count {
            let noise = (0..<random.below(60)).map { _ in UInt8(random.below(256)) }
            switch random.below(6) {
            case 0: session.rtp(header(96, UInt16(random.below(65_536)), 7, UInt8(10 + random.below(200))) + noise)
            case 1: session.rtp(header(UInt8(random.below(128)), number &- 1, 9, 1) + noise)
            case 2: session.rtp(header(96, number &+ UInt16(5_000 + random.below(20_000)), 9, 1) + noise)
            case 3:
                let old = number &- UInt16(random.below(100))
                session.rtp(
                    header(97, UInt16(random.below(65_536)), 9, 2) + [UInt8(old >> 8), UInt8(old & 0xFF)] + noise)
            case 4: session.rtp(noise)
            // A sender report of any time, and a BYE of a stranger.
            default:
                session.rtcp(
                    [0x80, 200, 0, 6, 0, 0, 0, UInt8(random.below(4))] + (0..<20).map { _ in UInt8(random.below(256)) })
                session.rtcp([0x81, 203, 0, 1, 0, 0, 0, 99])
                session.rtcp(noise)
            }
        }
    }

    @Test func everyFrameIsInTheFileDespiteAFloodOfPackets() async throws {
        let recorder = try Recorder(to: .file(folder.file("a.webm")))
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [nil])) { _ in }
        var session = Session(recorder)
        var random = SeededGenerator(seed: 17)
        for index in 0..<120 {
            let number = UInt16(truncatingIfNeeded: 65_500 + index)
            let start: [UInt8] =
                index % 30 == 0 ? [0x10, 0x10, 0, 0, 0x9D, 0x01, 0x2A, 64, 0, 48, 0] : [0x10, 0x11, 0, 0]
            session.rtp(header(96, number, UInt32(index * 3_000), 1) + start + [UInt8(index)])
            flood(&session, 200, number, &random)
        }
        await close(recorder)
        let frames = try file().blocks.filter { $0.track == 1 }
        #expect(frames.map { $0.payload.last } == (0..<120).map { UInt8($0) })
        #expect(try file().isComplete)
        #expect(recorder.statistics.dropped == 0)
        #expect(session.receiver.statistics.drops.total > 10_000)
    }

    // MARK: Frames

    /// More than a disk takes: the queue has a fixed size, and the recording goes on with a key frame.
    @Test func framesBeyondTheQueueAreDroppedAndARequestedKeyFrameGoesOn() async throws {
        let (requests, drops) = (Monitor(0), Monitor(0))
        let recorder = try Recorder(
            to: .file(folder.file("a.webm")),
            emit: { event in if case .dropped(let count) = event { drops.change { $0 = count } } })
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { request in
            if request == .cannotContinue { requests.change { $0 += 1 } }
        }
        // 200 MB at once, and then tens of thousands of tiny frames.
        for index in 0..<50_000 {
            [UInt8](repeating: 1, count: index < 400 ? 500_000 : 1).withUnsafeBytes {
                recorder.receive(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes($0), codec: .vp8, isKeyframe: index % 100 == 0,
                        size: index % 100 == 0 ? PixelSize(width: 64, height: 48) : nil,
                        rtpTimestamp: UInt32(index * 90)))
            }
        }
        #expect(requests.with { $0 } > 0)
        // The disk has taken what waits, and says how much was dropped.
        let dropped = recorder.statistics.dropped
        drops.wait { $0 >= dropped ? () : nil }
        var feed = Feed(recorder)
        for index in 0..<10 { feed.frame(isKeyframe: index == 0, bytes: 77) }
        #expect(dropped > 0 && recorder.statistics.dropped == dropped)
        await close(recorder)
        #expect(try file().isComplete)
        #expect(Array(try file().payloads(1).suffix(10)) == feed.frames)
    }

    /// A sender whose every key frame needs another file makes a few, not one for each.
    @Test func parametersThatChangeAllTheTimeMakeFewFiles() async throws {
        let recorder = try Recorder(to: .file(folder.file("a.webm")))
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in }
        for index in 0..<1_000 {
            let codec: VideoCodec = index % 2 == 0 ? .vp8 : .vp9
            // A key frame of VP8 by its size, and one of VP9 of 64 x 64 pixels: VP9 specification section 6.2.
            let bytes: [UInt8] =
                codec == .vp8 ? [0x10, 2, 3] : [0x82, 0x49, 0x83, 0x42, 0x00, 0x03, 0xF0, 0x03, 0xF0, 0]
            bytes.withUnsafeBytes {
                recorder.receive(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes($0), codec: codec, isKeyframe: true,
                        size: PixelSize(width: 64, height: 64), rtpTimestamp: UInt32(index * 3_000)))
            }
        }
        await close(recorder)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect((2...17).contains(files.count), "\(files.count)")
        for name in files { #expect(try file(name).isComplete) }
    }

    /// Frames are left out only until the sender has made the key frame that is wanted for another file.
    @Test func afterTooManyChangesAKeyframeIsWanted() async throws {
        let recorder = try Recorder(to: .file(folder.file("a.webm")))
        let (requests, request) = AsyncStream.makeStream(of: Void.self)
        try recorder.start(EncodedMediaFormat(video: .vp8, audio: [])) { _ in request.yield() }
        func send(_ index: Int, isVP9: Bool, isKeyframe: Bool) {
            let bytes: [UInt8] = isVP9 ? [0x82, 0x49, 0x83, 0x42, 0x00, 0x03, 0xF0, 0x03, 0xF0, 0] : [0x10, 2, 3]
            bytes.withUnsafeBytes {
                recorder.receive(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes($0), codec: isVP9 ? .vp9 : .vp8, isKeyframe: isKeyframe,
                        size: PixelSize(width: 64, height: 64), rtpTimestamp: UInt32(index * 3_000)))
            }
        }
        // The last file begun is of VP9, and of VP8 there is none any more.
        for index in 0..<40 { send(index, isVP9: index % 2 == 0, isKeyframe: true) }
        send(40, isVP9: false, isKeyframe: false)
        for await _ in requests { break }
        await close(recorder)
    }
}
