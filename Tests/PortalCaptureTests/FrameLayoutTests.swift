import MediaCore
import Testing

@testable import PortalCapture

@Suite struct FrameLayoutTests {
    private func layout(
        _ width: Int = 64, _ height: Int = 32, crop: PixelRect? = nil, offset: UInt32 = 0, size: UInt32 = .max,
        stride: Int32 = 256, capacity: Int = 256 * 32
    ) -> FrameLayout? {
        FrameLayout(
            StreamFormat(size: PixelSize(width: width, height: height), order: .bgrx), crop: crop, offset: offset,
            size: size, stride: stride, capacity: capacity)
    }

    @Test func wholeBufferIsThePicture() {
        #expect(layout()?.area == PixelRect(x: 0, y: 0, width: 64, height: 32))
        #expect(layout()?.offset == 0)
    }

    @Test func cropMovesTheFirstPixel() {
        let cropped = layout(crop: PixelRect(x: 3, y: 5, width: 11, height: 9))
        #expect(cropped?.area == PixelRect(x: 3, y: 5, width: 10, height: 8))
        #expect(cropped?.offset == 5 * 256 + 3 * 4)
    }

    @Test func lastRowMayEndWithItsLastPixel() {
        #expect(layout(stride: 260, capacity: 260 * 31 + 256) != nil)
        #expect(layout(stride: 260, capacity: 260 * 31 + 255) == nil)
    }

    @Test func whatIsNotInsideOfTheBufferIsRefused() {
        #expect(layout(offset: 4) == nil)
        #expect(layout(offset: .max - 3) == nil)
        #expect(layout(stride: .max - 3) == nil)
        #expect(layout(stride: .min) == nil)
        #expect(layout(stride: 252) == nil)
        #expect(layout(stride: 0) == nil)
        #expect(layout(size: 100) == nil)
        #expect(layout(crop: PixelRect(x: 64, y: 0, width: 10, height: 10)) == nil)
        #expect(layout(1, 1) == nil)
        #expect(layout(0, 0) == nil)
        #expect(layout(16_384, 16_384, stride: .max - 3, capacity: .max) == nil)
    }
}
