import MediaCore
import Testing

@testable import Matroska

/// The Colour element: RFC 9559 section 5.1.4.1.28.16.
@Suite struct ColourTests {
    @Test func whatIsWrittenIsRead() {
        for range in [ColorSpace.Range.unspecified, .limited, .full, .derived] {
            for code in UInt8.min ... .max {
                let space = ColorSpace(
                    primaries: code, transfer: code, matrix: code, range: range, horizontalSiting: .collocated,
                    verticalSiting: .half)
                #expect(ColorSpace(appearance: space.colourElement) == space)
            }
        }
        #expect(ColorSpace().colourElement.isEmpty)
        #expect(ColorSpace(appearance: []) == nil)
    }

    @Test func theElementIsAsInRFC9559() {
        let space = ColorSpace(primaries: 1, transfer: 13, matrix: 6, range: .full)
        #expect(
            space.colourElement == [
                0x55, 0xB0, 0x10, 0, 0, 24, 0x55, 0xB1, 0x81, 6, 0x55, 0xB7, 0x81, 0, 0x55, 0xB8, 0x81, 0, 0x55, 0xB9,
                0x81, 2, 0x55, 0xBA, 0x81, 13, 0x55, 0xBB, 0x81, 1,
            ])
    }

    /// Files of others may say anything.
    @Test func damagedOnesSayNothing() {
        var element = ColorSpace(primaries: 9, transfer: 16, matrix: 9, range: .full).colourElement
        for length in 0..<element.count { #expect(ColorSpace(appearance: Array(element[..<length])) == nil) }
        element[21] = 77
        #expect(ColorSpace(appearance: element)?.range == .unspecified)
        let long: [UInt8] = [0x55, 0xB0, 0x8B, 0x55, 0xB9, 0x88, 255, 255, 255, 255, 255, 255, 255, 255]
        #expect(ColorSpace(appearance: long) == ColorSpace())
        let behind: [UInt8] = [0x54, 0xB2, 0x81, 3] + ColorSpace(matrix: 1).colourElement
        #expect(ColorSpace(appearance: behind)?.matrix == 1)
    }
}
