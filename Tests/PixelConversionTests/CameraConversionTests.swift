import Foundation
import MediaCore
import PixelConversion
import Testing

@Suite struct CameraConversionTests {
    private let converter = YUVConverter()

    /// 32 x 32 pixels of 0xc02020, in the full range as JPEG has it.
    private static let jpeg = """
        /9j/4AAQSkZJRgABAgAAAQABAAD//gAQTGF2YzU5LjM3LjEwMAD/2wBDAAgGBgcGBwgICAgICAkJCQoKCgkJCQkKCgoKCgoMDAwKCgoKCgoKDA\
        wMDA0ODQ0NDA0ODg8PDxISEREVFRUZGR//xABNAAEBAAAAAAAAAAAAAAAAAAAABgEBAQEAAAAAAAAAAAAAAAAAAAUHEAEAAAAAAAAAAAAAAAAA\
        AAAAEQEAAAAAAAAAAAAAAAAAAAAA/8AAEQgAIAAgAwEiAAIRAAMRAP/aAAwDAQACEQMRAD8AjwERqAAAAAAD/9k=
        """

    private func convert(_ layout: CameraImage.Layout, _ bytes: [UInt8]) -> I420Buffer? {
        let canvas = I420Buffer(layout.size.even)
        let isGood = bytes.withUnsafeBytes { converter.convert(CameraImage(layout, $0), to: canvas) }
        return isGood ? canvas : nil
    }

    @Test func jpegHasTheColoursOfTheOtherFormats() throws {
        let bytes = [UInt8](try #require(Data(base64Encoded: Self.jpeg)))
        let size = PixelSize(width: 32, height: 32)
        let layout = try #require(CameraImage.Layout(.jpeg, size, stride: 0, count: bytes.count))
        let canvas = try #require(convert(layout, bytes))
        // BT.601, limited range.
        #expect(abs(Int(canvas.y[5]) - 85) <= 2)
        #expect(abs(Int(canvas.u[5]) - 105) <= 2)
        #expect(abs(Int(canvas.v[5]) - 198) <= 2)
    }

    @Test func damagedJPEGIsRefused() throws {
        var bytes = [UInt8](try #require(Data(base64Encoded: Self.jpeg)))
        for index in 2..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index &* 31) }
        let layout = try #require(
            CameraImage.Layout(.jpeg, PixelSize(width: 32, height: 32), stride: 0, count: bytes.count))
        #expect(convert(layout, bytes) == nil)
        #expect(convert(layout, [UInt8](repeating: 0, count: 300)) == nil)
    }

    @Test func jpegOfAnotherSizeIsRefused() throws {
        let bytes = [UInt8](try #require(Data(base64Encoded: Self.jpeg)))
        let layout = try #require(
            CameraImage.Layout(.jpeg, PixelSize(width: 640, height: 480), stride: 0, count: bytes.count))
        #expect(convert(layout, bytes) == nil)
    }

    @Test func grayIsWithoutColour() throws {
        let layout = try #require(
            CameraImage.Layout(.gray, PixelSize(width: 4, height: 4), stride: 4, count: 16))
        let canvas = try #require(convert(layout, [UInt8](repeating: 77, count: 16)))
        #expect(canvas.y[0] == 77 && canvas.u[0] == 128 && canvas.v[0] == 128)
    }

    @Test func mirrorExchangesColumns() {
        let size = PixelSize(width: 4, height: 2)
        let (source, target) = (I420Buffer(size), I420Buffer(size))
        for x in 0..<4 { source.y[x] = UInt8(20 + x) }
        converter.mirror(source.frame, to: target)
        #expect((0..<4).map { target.y[$0] } == [23, 22, 21, 20])
    }
}
