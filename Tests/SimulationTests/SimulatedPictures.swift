import Glibc
import MediaCore
import RTPWire

/// Makes frames that look like VP8 from the outside and can be told apart: number, length and content follow from one another.
struct SimulatedPictures {
    /// When and how large.
    enum Plan {
        /// So many a second, each of so many bytes.
        case steady(perSecond: Int, bytes: Int)
        /// As a host does it: as large as the estimate allows, and none while the last one waits.
        case adaptive(perSecond: Int, limit: Bitrate)
        /// The same, and no two frames are of the same size.
        case camera(perSecond: Int, limit: Bitrate)
        case screen(SimulatedScreen)
        /// Something small that changes 30 times a second, 1 to 3 packets each time, and rests for a second and a half after every six.
        case small
        /// Only the first.
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

    /// Shows the picture before it once more.
    static let skipFrame = VP8SkipFrame.make(PixelSize(width: 1_920, height: 1_080), version: 0)

    /// The number of an intact frame; nil if a single byte is wrong.
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
