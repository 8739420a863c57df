import Matroska
import MediaCore
import TestSupport
import Testing
import VPXCodec
import WebMContainer

@testable import Recording

/// The ring of the last seconds, and the clips of it, with simulated time.
@Suite struct ClipTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func instant(_ milliseconds: Int) -> MediaInstant {
        MediaInstant(nanoseconds: 1_000_000_000_000) + .milliseconds(milliseconds)
    }

    private func frame(
        _ ring: inout ClipRing, _ bytes: [UInt8], isKeyframe: Bool, at time: Int
    ) -> Bool {
        bytes.withUnsafeBytes {
            ring.push(
                EncodedVideoFrame(
                    bytes: EncodedFrameBytes($0), codec: .vp8, isKeyframe: isKeyframe,
                    size: isKeyframe ? PixelSize(width: 64, height: 64) : nil,
                    rtpTimestamp: UInt32(truncatingIfNeeded: 4_294_900_000 + time * 90)), at: instant(time))
        }
    }

    private func packet(_ ring: inout ClipRing, at time: Int) {
        [0xFC, UInt8(truncatingIfNeeded: time / 20)].withUnsafeBytes {
            ring.push(
                $0,
                EncodedAudioPacket(
                    track: 0, payload: .packet($0), samplesPerChannel: 960, rtpTimestamp: UInt32(time * 48)),
                at: instant(time))
        }
    }

    /// Frames each 100 ms with a key frame every so often, and packets each 20 ms.
    private func fill(
        _ ring: inout ClipRing, from start: Int = 0, until end: Int, keyframes interval: Int, bytes: Int = 50
    ) {
        for time in stride(from: start, to: end, by: 20) {
            if time % 100 == 0 {
                let bytes = [UInt8](repeating: 0x10 | UInt8(truncatingIfNeeded: time / 100) & 1, count: bytes)
                _ = frame(&ring, bytes, isKeyframe: time % interval == 0, at: time)
            }
            packet(&ring, at: time)
        }
    }

    private func makeRing(seconds: Int = 10, bytes: Int = 1 << 20) -> ClipRing {
        var ring = ClipRing(length: .seconds(seconds), byteLimit: bytes)
        ring.start(EncodedMediaFormat(video: .vp8, audio: [.applicationAudio]), at: instant(0))
        return ring
    }

    private func write(
        _ ring: ClipRing, last seconds: Int?, at time: Int, _ name: String = "a.webm"
    ) throws -> (file: RecordedFile, content: MatroskaFile<RecordedFileSource>) {
        let file = try Clip(ring, last: seconds.map { .seconds($0) }, at: instant(time)).write(
            to: .file(folder.file(name)), title: "Ann")
        return (file, try MatroskaFile(RecordedFileSource(folder.file(name))))
    }

    @Test func aClipBeginsWithTheWantedInstantAndIsAsLong() throws {
        var ring = makeRing()
        fill(&ring, until: 20_000, keyframes: 4_000)
        let (file, content) = try write(ring, last: 5, at: 20_000)
        #expect(file.duration == .seconds(5) && content.isComplete && content.header.title == "Ann")
        // From the key frame at 12.0 s up to 15.0 s: all but the last are hidden.
        let frames = content.blocks.filter { $0.track == 1 }
        #expect(frames.first?.isKeyframe == true)
        #expect(frames.count == 80)
        #expect(frames.prefix(30).allSatisfy { $0.time == 0 && ($0.payload.first ?? 0xFF) & 0x10 == 0 })
        #expect(frames.dropFirst(30).map(\.time) == Array(stride(from: Int64(0), to: 5_000, by: 100)))
        #expect(frames.dropFirst(30).allSatisfy { ($0.payload.first ?? 0) & 0x10 != 0 })
        let packets = content.blocks.filter { $0.track == 2 }.map(\.time)
        #expect(packets == Array(stride(from: Int64(0), to: 5_000, by: 20)))
    }

    /// What is hidden is decoded all the same, and what is shown first is the picture of that instant.
    @Test func theFirstPictureIsThatOfTheInstant() throws {
        var ring = makeRing()
        let encoder = VP8Encoder()
        let size = PixelSize(width: 64, height: 64)
        for index in 0..<40 {
            let canvas = I420Buffer(size)
            canvas.y.update(repeating: UInt8(16 + index * 5), count: canvas.strideY * 64)
            let encoded = try encoder.encode(
                canvas, changed: BlockMap(size, filled: true), at: instant(index * 100),
                VideoEncodeRequest(bitrate: .kilobits(20_000), isKeyframeRequested: index == 0))
            let made = try #require(encoded)
            _ = frame(&ring, Array(made.bytes), isKeyframe: index == 0, at: index * 100)
        }
        // 2 s before 3.95 s is the picture of 1.9 s.
        let content = try write(ring, last: 2, at: 3_950).content
        let decoder = VP8Decoder()
        var shown: [(time: Int64, luma: Int)] = []
        for block in content.blocks {
            let picture = try Array(block.payload).withUnsafeBytes { try decoder.decode($0) }
            if let picture { shown.append((block.time, Int(picture.y[0]))) }
        }
        #expect(shown.count == 21)
        #expect(shown.first?.time == 0)
        #expect(abs((shown.first?.luma ?? 0) - (16 + 19 * 5)) < 5, "\(shown.first?.luma ?? 0)")
        #expect(shown.dropFirst().first?.time == 50)
        #expect(abs((shown.last?.luma ?? 0) - (16 + 39 * 5)) < 5)
    }

    @Test func whatIsOlderIsDropped() throws {
        var ring = makeRing(seconds: 10)
        fill(&ring, until: 60_000, keyframes: 2_000)
        #expect(ring.groups.count == 6)
        #expect(ring.available(at: instant(60_000)) == .seconds(10))
        #expect(try write(ring, last: 60, at: 60_000).file.duration == .seconds(10))
    }

    @Test func aLongGroupIsKeptAndAKeyFrameIsRequestedAtMostEachTenSeconds() {
        var ring = makeRing(seconds: 5)
        var requests: [Int] = []
        for time in stride(from: 0, to: 120_000, by: 33)
        where frame(&ring, [0x11, 2, 3], isKeyframe: time == 0, at: time) {
            requests.append(time)
        }
        #expect(ring.groups.count == 1)
        // 1,800 frames of 33 ms.
        #expect(requests.first.map { (59_300...59_600).contains($0) } == true, "\(requests)")
        #expect(zip(requests, requests.dropFirst()).allSatisfy { $1 - $0 >= 10_000 } && requests.count == 7)
    }

    @Test func theMemoryIsBounded() {
        var ring = makeRing(seconds: 10, bytes: 100_000)
        for time in stride(from: 0, to: 20_000, by: 100) {
            _ = frame(&ring, [UInt8](repeating: 0x11, count: 3_000), isKeyframe: time % 1_000 == 0, at: time)
            #expect(ring.byteCount <= 100_000)
        }
        #expect(ring.groups.count == 3 && ring.available(at: instant(20_000)) == .seconds(3))
        // A group that does not fit alone is given up, and the next key frame begins anew.
        for time in stride(from: 20_000, to: 30_000, by: 100) {
            _ = frame(&ring, [UInt8](repeating: 0x11, count: 3_000), isKeyframe: time == 20_000, at: time)
            #expect(ring.byteCount <= 100_000)
        }
        #expect(ring.groups.isEmpty && ring.available(at: instant(30_000)) == .zero)
        _ = frame(&ring, [0x10], isKeyframe: true, at: 31_000)
        #expect(ring.groups.count == 1)
    }

    /// Less than a clip's length has been received.
    @Test func aShortSessionGivesAShortClip() throws {
        var ring = makeRing()
        fill(&ring, until: 3_000, keyframes: 10_000)
        let (file, content) = try write(ring, last: nil, at: 3_000)
        #expect(file.duration == .seconds(3))
        #expect(content.blocks.first { $0.track == 1 }?.time == 0)
    }

    /// The picture of a still screen is as old as it may be.
    @Test func aStillScreenIsInTheClip() throws {
        var ring = makeRing(seconds: 5)
        _ = frame(&ring, [0x10, 1], isKeyframe: true, at: 0)
        _ = frame(&ring, [0x11, 2], isKeyframe: false, at: 1_000)
        let (file, content) = try write(ring, last: nil, at: 100_000)
        #expect(file.duration == .seconds(5))
        #expect(content.blocks.map(\.time) == [0, 0])
        #expect(content.blocks.map { ($0.payload.first ?? 0) & 0x10 } == [0, 0x10])
    }

    @Test func aClipOfNothingIsAnError() throws {
        #expect(throws: RecordingFailure.self) { try write(makeRing(), last: nil, at: 0) }
        #expect(throws: RecordingFileFailure.self) { try RecordedFileSource(folder.file("a.webm")) }
    }

    @Test func anExistingFileIsKept() throws {
        var ring = makeRing()
        fill(&ring, until: 1_000, keyframes: 1_000)
        _ = try write(ring, last: nil, at: 1_000)
        let failure = #expect(throws: RecordingFailure.self) { try write(ring, last: nil, at: 1_000) }
        #expect(failure?.remedy.contains("never overwritten") == true)
        #expect(try MatroskaFile(RecordedFileSource(folder.file("a.webm"))).isComplete)
    }

    /// A session that was lost and joined again goes on in the same clip.
    @Test func anotherSessionGoesOnInTheClip() throws {
        var ring = makeRing()
        fill(&ring, until: 2_000, keyframes: 10_000)
        ring.start(EncodedMediaFormat(video: .vp8, audio: [.applicationAudio]), at: instant(2_500))
        // Nothing can be shown until the next key frame.
        #expect(!frame(&ring, [0x11], isKeyframe: false, at: 2_500))
        fill(&ring, from: 3_000, until: 5_000, keyframes: 1_000)
        let (file, content) = try write(ring, last: nil, at: 5_000)
        #expect(file.duration == .seconds(5))
        let times = content.blocks.filter { $0.track == 1 }.map(\.time)
        #expect(times.count == 40 && times == times.sorted())
        #expect(times.last.map { (4_800...4_950).contains($0) } == true)
    }

    /// What is received meanwhile does not change a clip that is being written, and the ring stays as it is.
    @Test func aClipDoesNotDisturbTheBuffer() throws {
        let buffer = ClipBuffer(length: .seconds(10))
        try buffer.start(.sample) { _ in }
        for index in 0..<20 {
            [UInt8](repeating: 0x11, count: 1_000).withUnsafeBytes {
                buffer.receive(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes($0), codec: .vp8, isKeyframe: index == 0,
                        size: PixelSize(width: 64, height: 64), rtpTimestamp: UInt32(index * 3_000)))
            }
        }
        let before = buffer.status.bytes
        let one = try buffer.export(to: .file(folder.file("a.webm")))
        let other = try buffer.export(to: .file(folder.file("b.webm")))
        #expect(one.bytes == other.bytes && buffer.status.bytes == before && before == 20_000)
        #expect(one.bytes > 20_000)
        buffer.close {}
        #expect(buffer.status.bytes == 0)
        #expect(throws: RecordingFailure.self) { try buffer.export(to: .file(folder.file("c.webm"))) }
    }
}
