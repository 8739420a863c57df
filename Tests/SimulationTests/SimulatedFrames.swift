import Glibc
import MediaCore
import RTPWire
import VideoBitstream

/// Makes frames with a valid VP8 header, whose content follows from number and length, so that damage is detected.
struct SimulatedFrames {
    /// When frames are made, and of what size.
    enum Plan {
        /// Frames per second, and bytes of each.
        case steady(perSecond: Int, bytes: Int)
        /// As a host does: as large as the estimate allows, and none while the last one waits for the pacer.
        case adaptive(perSecond: Int, limit: Bitrate)
        /// As `adaptive`, with frame sizes that vary by 20 %.
        case camera(perSecond: Int, limit: Bitrate)
        case screen(SimulatedScreen)
        /// A small change 30 times a second, 1 to 3 packets each, with a pause of 1.5 s after each 6 s.
        case small
        /// Only the first frame.
        case still
    }

    static func make(_ number: Int, isKeyframe: Bool, length: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number &* 31 &+ 7), count: max(length, 24))
        bytes[0] = isKeyframe ? 0x10 : 0x11
        bytes[1] = 0
        bytes[2] = 0
        if isKeyframe { bytes.replaceSubrange(3..<10, with: [0x9D, 0x01, 0x2A, 0x80, 0x07, 0x38, 0x04]) }
        for shift in 0..<4 { bytes[10 + shift] = UInt8(truncatingIfNeeded: number >> (shift * 8)) }
        for shift in 0..<4 { bytes[14 + shift] = UInt8(truncatingIfNeeded: bytes.count >> (shift * 8)) }
        for index in stride(from: 24, to: bytes.count, by: 397) {
            bytes[index] = UInt8(truncatingIfNeeded: index &* number)
        }
        return bytes
    }

    /// A frame that repeats the last one.
    static let skipFrame = VP8SkipFrame.make(PixelSize(width: 1_920, height: 1_080), version: 0)

    /// The number of an intact frame; nil if a single byte differs.
    static func number(_ bytes: UnsafeRawBufferPointer) -> Int? {
        guard bytes.count >= 24 else { return nil }
        let number = (0..<4).reduce(0) { $0 | Int(bytes[10 + $1]) << ($1 * 8) }
        let expected = make(number, isKeyframe: bytes[0] & 1 == 0, length: bytes.count)
        guard expected.count == bytes.count else { return nil }
        return expected.withUnsafeBytes { known in
            guard let left = known.baseAddress, let right = bytes.baseAddress else { return false }
            return memcmp(left, right, bytes.count) == 0
        } ? number : nil
    }
}
