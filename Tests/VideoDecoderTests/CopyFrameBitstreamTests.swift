import Foundation
import MediaCore
import TestSupport
import Testing
import VPXCodec
import VideoBitstream

/// Copy frames of any vectors, in decoders that are not ours.
@Suite struct CopyFrameBitstreamTests {
    static let size = PixelSize(width: 320, height: 192)

    /// How the vectors of a frame are chosen.
    enum Kind: Int, CaseIterable, Sendable {
        /// For each block its own.
        case any
        /// One for most blocks.
        case one
        /// Some that alternate with blocks that rest, and go on to the right.
        case few
        /// Neighbours' vectors and their small changes.
        case near
    }

    @Test(arguments: Kind.allCases)
    func libvpxAndFFmpegShowWhatIsPredicted(kind: Kind) async throws {
        var random = SeededGenerator(seed: UInt64(kind.rawValue) + 17)
        let key = try Self.keyframe(&random)
        let decoder = VP8Decoder()
        let first = try #require(try key.withUnsafeBytes { try decoder.decode($0) })
        let (picture, scratch) = (Picture(Self.size), Picture(Self.size))
        picture.set(first)
        var frame = VP8CopyFrame(Self.size)
        var entropy = VP8EntropyState()
        let isRead = key.withUnsafeBytes { entropy.note($0) }
        #expect(isRead)
        var stream = [key]
        var shown = [picture.bytes]
        var sizes = 0
        var uncodable = 0
        for _ in 0..<250 {
            Self.choose(&frame, kind, &random)
            uncodable += frame.restrict()
            let bytes = frame.encode(version: 2, entropy: entropy)
            frame.apply(to: picture.planes, scratch: scratch.planes)
            let decoded = try #require(try bytes.withUnsafeBytes { try decoder.decode($0) })
            try #require(decoded.planes == picture.bytes)
            stream.append(bytes)
            shown.append(picture.bytes)
            sizes += bytes.count
        }
        // Only vectors that are far from each other cannot be coded.
        #expect((uncodable > 0) == (kind == .any))
        #expect(kind != .one || sizes < 250 * 120)
        try await Self.expectFFmpeg(stream, shown)
    }

    /// RFC 6386 section 9.1 and 9.7: what the frame's first bytes and bits say, and which picture each buffer has then.
    @Test(
        arguments: [[], [.golden], [.alternate], [.golden, .alternate]] as [Set<ReferenceSlot>],
        ReferenceSlot.allCases)
    func theFrameIsStoredWhereItSays(stored: Set<ReferenceSlot>, slot: ReferenceSlot) throws {
        var random = SeededGenerator(seed: 3)
        let (encoder, decoder) = (VP8Encoder(), VP8Decoder())
        let canvas = Self.texture(&random)
        var request = VideoEncodeRequest(bitrate: .kilobits(50_000))
        request.allowsRecoveryFrames = true
        var instant = MediaInstant(nanoseconds: 5_000_000_000)
        let (picture, scratch) = (Picture(Self.size), Picture(Self.size))
        var entropy = VP8EntropyState()
        var changed = BlockMap(Self.size)
        changed.insert(PixelRect(x: 0, y: 0, width: 16, height: 16))
        func encode() throws -> FrameReferences {
            instant = instant + .milliseconds(33)
            let frame = try #require(try encoder.encode(canvas, changed: changed, at: instant, request))
            let isRead = entropy.note(frame.bytes)
            #expect(isRead)
            picture.set(try #require(try decoder.decode(frame.bytes)))
            return frame.references
        }
        // The key frame is in both buffers, the next frame in golden.
        request.recoveryReference = try encode().number
        if slot == .alternate {
            request.storesLongTermReference = true
            let held = request.recoveryReference
            request.recoveryReference = nil
            #expect(try encode().stored == .golden)
            request.recoveryReference = held
        }
        var frame = VP8CopyFrame(Self.size)
        for index in frame.vectors.indices where index >= 2 * frame.columns {
            frame.vectors[index] = VP8MotionVector(x: 0, y: -32)
        }
        #expect(frame.restrict() == 0)
        let before = picture.bytes
        frame.apply(to: picture.planes, scratch: scratch.planes)
        let after = picture.bytes
        let bytes = frame.encode(version: 2, stored: stored, entropy: entropy)
        #expect(bytes[0] & 1 == 1 && bytes[0] >> 1 & 7 == 2 && bytes[0] >> 4 & 1 == 1)
        _ = try bytes.withUnsafeBytes { try decoder.decode($0) }
        // A recovery frame that changes one block shows which picture the buffer holds.
        #expect(try encode().source?.slot == slot)
        let expected = stored.contains(slot) ? after : before
        // All rows of blocks below the first.
        let below = 16 * Self.size.width..<Self.size.width * Self.size.height
        #expect(Array(picture.bytes[below]) == Array(expected[below]))
    }

    /// A vector of any length is told by parts, and only the blocks that lead to it have other content.
    @Test(arguments: [256, 300, 509, 510, 511, 764, 765, 1_018, 1_019, 1_020])
    func longVectorsAreToldByParts(length: Int) {
        let size = PixelSize(width: 2_560, height: 2_560)
        for vector in [
            VP8MotionVector(x: 0, y: length), VP8MotionVector(x: 0, y: -length), VP8MotionVector(x: length, y: 0),
            VP8MotionVector(x: -length, y: -length),
        ] {
            var frame = VP8CopyFrame(size)
            for row in 70..<90 { for column in 70..<90 { frame.vectors[row * frame.columns + column] = vector } }
            let seeds = frame.seed(vector)
            #expect(!seeds.isEmpty && seeds.count < 20)
            #expect(frame.restrict() == 0)
        }
    }

    static func choose(_ frame: inout VP8CopyFrame, _ kind: Kind, _ random: inout SeededGenerator) {
        let few = (0..<4).map { _ in
            let isVertical = random.chance(40)
            return VP8MotionVector(x: isVertical ? 0 : random.below(201) - 100, y: random.below(201) - 100)
        }
        for index in frame.vectors.indices {
            var vector = VP8MotionVector.zero
            switch kind {
            case .any: vector = VP8MotionVector(x: random.below(601) - 300, y: random.below(361) - 180)
            case .one: vector = random.chance(2) ? .zero : few[0]
            case .few:
                if index > 0, random.chance(85) {
                    vector = frame.vectors[index - 1]
                } else {
                    vector = random.chance(30) ? .zero : few[random.below(4)]
                }
            case .near:
                if index > 0 { vector = frame.vectors[index - 1] }
                vector = VP8MotionVector(
                    x: Int(vector.x) + random.below(5) - 2, y: Int(vector.y) + random.below(21) - 10)
            }
            let (x, y) = (index % frame.columns * 16 + Int(vector.x), index / frame.columns * 16 + Int(vector.y))
            // Up to 15 lines may lie above or below the picture.
            let isInside = x >= 0 && y > -16 && x + 16 <= size.width && y < size.height
            frame.vectors[index] = isInside ? vector : .zero
        }
    }

    static func texture(_ random: inout SeededGenerator) -> I420Buffer {
        let canvas = I420Buffer(size)
        for row in 0..<size.height {
            for column in 0..<size.width {
                canvas.y[row * canvas.strideY + column] = UInt8(
                    truncatingIfNeeded: (random.next() & 63) + UInt64(column * 7 + row * 3) & 127)
            }
        }
        for row in 0..<size.height / 2 {
            for column in 0..<size.width / 2 {
                canvas.u[row * canvas.strideC + column] = UInt8(truncatingIfNeeded: random.next() & 127 + 64)
                canvas.v[row * canvas.strideC + column] = UInt8(truncatingIfNeeded: random.next() & 127 + 64)
            }
        }
        return canvas
    }

    static func keyframe(_ random: inout SeededGenerator) throws -> [UInt8] {
        let request = VideoEncodeRequest(bitrate: .kilobits(50_000))
        let encoder = VP8Encoder()
        let frame = try encoder.encode(
            texture(&random), changed: BlockMap(size, filled: true), at: MediaInstant(nanoseconds: 5_000_000_000),
            request)
        // The bytes are the encoder's.
        return try withExtendedLifetime(encoder) { Array(try #require(frame).bytes) }
    }

    /// Has ffmpeg's own decoder show the stream.
    static func expectFFmpeg(_ stream: [[UInt8]], _ shown: [[UInt8]]) async throws {
        func littleEndian(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> ($0 * 8) & 255) } }
        var file = Array("DKIF".utf8) + littleEndian(0, 2) + littleEndian(32, 2) + Array("VP80".utf8)
        file += littleEndian(size.width, 2) + littleEndian(size.height, 2) + littleEndian(30, 4) + littleEndian(1, 4)
        file += littleEndian(stream.count, 4) + littleEndian(0, 4)
        for (index, frame) in stream.enumerated() {
            file += littleEndian(frame.count, 4) + littleEndian(index, 8) + frame
        }
        let folder = try TemporaryFolder()
        let (input, output) = (folder.file("copies.ivf"), folder.file("copies.yuv"))
        try Data(file).write(to: URL(fileURLWithPath: input))
        try await EncodedStream.ffmpeg(
            ["-c:v", "vp8", "-i", input, "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "yuv420p", output])
        let decoded = try Data(contentsOf: URL(fileURLWithPath: output))
        #expect(decoded == Data(shown.joined()))
    }

    /// Planes without padding, one behind another.
    final class Picture {
        private let memory: UnsafeMutablePointer<UInt8>
        private let size: PixelSize
        private var count: Int { size.width * size.height * 3 / 2 }

        init(_ size: PixelSize) {
            self.size = size
            memory = .allocate(capacity: size.width * size.height * 3 / 2)
        }

        deinit { memory.deallocate() }

        func set(_ frame: I420Frame) { memory.update(from: frame.planes, count: count) }

        /// With the first pixel of each plane.
        func fill(_ canvas: I420Buffer) {
            memory.update(repeating: canvas.y[0], count: size.width * size.height)
            planes.u.update(repeating: canvas.u[0], count: size.width * size.height / 4)
            planes.v.update(repeating: canvas.v[0], count: size.width * size.height / 4)
        }

        var bytes: [UInt8] { Array(UnsafeBufferPointer(start: memory, count: count)) }
        var planes: VP8Picture {
            let pixels = size.width * size.height
            return VP8Picture(
                y: memory, u: memory + pixels, v: memory + pixels * 5 / 4, strideY: size.width,
                strideC: size.width / 2)
        }
    }
}
