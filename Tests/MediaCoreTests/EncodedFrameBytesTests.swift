import MediaCore
import Testing

@Suite struct EncodedFrameBytesTests {
    /// Makes a frame of the bytes 0...9, in segments of these lengths.
    private func withFrame(_ lengths: [Int], _ body: (EncodedFrameBytes) -> Void) {
        let bytes = (0..<UInt8(10)).map { $0 }
        bytes.withUnsafeBytes { bytes in
            var start = 0
            let segments = lengths.map { length in
                defer { start += length }
                return UnsafeRawBufferPointer(rebasing: bytes[start..<(start + length)])
            }
            segments.withUnsafeBufferPointer { body(EncodedFrameBytes(segments: $0)) }
        }
    }

    private func copied(_ frame: EncodedFrameBytes, room: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: max(room, 1)) { buffer, count in
            count = frame.copy(
                to: UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<room]))
        }
    }

    @Test(arguments: [[10], [4, 6], [1, 0, 9], [3, 3, 3, 1]]) func aCopyIsItsSegmentsInOrder(lengths: [Int]) {
        withFrame(lengths) { frame in
            #expect(frame.count == 10)
            #expect(copied(frame, room: 10) == Array(0..<10))
            #expect(copied(frame, room: 20) == Array(0..<10))
        }
    }

    @Test(arguments: 0...9) func aCopyEndsWhereTheRoomEnds(room: Int) {
        withFrame([4, 5, 1]) { #expect(copied($0, room: room) == Array(0..<UInt8(room))) }
    }

    @Test func oneSegmentIsAFrame() {
        [1, 2, 3].withUnsafeBytes { bytes in
            let frame = EncodedFrameBytes(bytes)
            #expect(frame.count == bytes.count)
            frame.forEachSegment { #expect($0.baseAddress == bytes.baseAddress) }
        }
    }
}
