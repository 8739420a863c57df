import Foundation
import MediaCore
import VPXCodec

@testable import TestSource

/// A frame as received by a player, in 4:2:0 and BT.601, limited range.
struct ReceivedVideo: Sendable {
    let size: PixelSize
    /// Y, U and V without padding.
    let planes: [[UInt8]]

    /// - Returns: nil if the sizes are inconsistent.
    init?(_ bytes: [UInt8], size: [Int]) {
        guard size.count == 2, size.allSatisfy({ $0 > 0 && $0 % 2 == 0 }) else { return nil }
        let luma = size[0] * size[1]
        guard bytes.count == luma * 3 / 2 else { return nil }
        self.size = PixelSize(width: size[0], height: size[1])
        planes = [
            Array(bytes[..<luma]), Array(bytes[luma..<(luma * 5 / 4)]), Array(bytes[(luma * 5 / 4)...]),
        ]
    }

    init?(file: String, size: [Int]) throws {
        guard !size.isEmpty else { return nil }
        self.init([UInt8](try Data(contentsOf: URL(fileURLWithPath: file))), size: size)
    }

    /// Decodes the last frame of a file of whole VP8 frames.
    /// - Throws: if a frame cannot be decoded.
    init?(ivf: String) throws {
        guard let bytes = try? [UInt8](Data(contentsOf: URL(fileURLWithPath: ivf))) else { return nil }
        let decoder = VP8Decoder()
        var last: ReceivedVideo?
        var place = 32
        while place + 12 <= bytes.count {
            let length = bytes[place..<(place + 4)].reversed().reduce(0) { $0 << 8 | Int($1) }
            place += 12
            guard place + length <= bytes.count else { break }
            last =
                try bytes[place..<(place + length)].withUnsafeBytes { try decoder.decode($0) }
                .map { ReceivedVideo($0) } ?? last
            place += length
        }
        guard let last else { return nil }
        self = last
    }

    init(_ picture: I420Frame) {
        size = picture.size
        func plane(_ start: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) -> [UInt8] {
            (0..<height).flatMap { UnsafeBufferPointer(start: start + $0 * stride, count: width) }
        }
        let (width, height) = (picture.size.width, picture.size.height)
        planes = [
            plane(picture.y, picture.strideY, width, height), plane(picture.u, picture.strideC, width / 2, height / 2),
            plane(picture.v, picture.strideC, width / 2, height / 2),
        ]
    }

    /// The test pattern with the number that the frame shows; nil if it shows none.
    var expectedPattern: ReceivedVideo? {
        guard size == TestVideoSource.defaultSize else { return nil }
        let pattern = TestPattern(size)
        let number = withPicture { pattern.frameNumber(in: $0) }
        guard let number else { return nil }
        let canvas = I420Buffer(size)
        pattern.drawAll(number, on: canvas)
        return ReceivedVideo(canvas.frame)
    }

    /// The PSNR of the worst plane, in dB; 0 for another size.
    func peakSignalToNoise(_ other: ReceivedVideo) -> Double {
        guard size == other.size else { return 0 }
        return zip(planes, other.planes).map { Self.peakSignalToNoise($0, $1) }.min() ?? 0
    }

    private static func peakSignalToNoise(_ one: [UInt8], _ other: [UInt8]) -> Double {
        var squares = 0
        one.withUnsafeBufferPointer { one in
            other.withUnsafeBufferPointer { other in
                for index in 0..<min(one.count, other.count) {
                    let difference = Int(one[index]) &- Int(other[index])
                    squares &+= difference &* difference
                }
            }
        }
        return squares == 0 ? 99 : 10 * log10(255 * 255 * Double(one.count) / Double(squares))
    }

    private func withPicture<Result>(_ body: (I420Frame) -> Result) -> Result {
        planes[0].withUnsafeBufferPointer { y in
            planes[1].withUnsafeBufferPointer { u in
                planes[2].withUnsafeBufferPointer { v in
                    guard let y = y.baseAddress, let u = u.baseAddress, let v = v.baseAddress else {
                        preconditionFailure("a picture without pixels")
                    }
                    return body(
                        I420Frame(size: size, y: y, u: u, v: v, strideY: size.width, strideC: size.width / 2))
                }
            }
        }
    }
}
