import Testing

@testable import Matroska

@Suite struct ElementTests {
    @Test(arguments: [0, 1, 126, 127, 128, 16_382, 16_383, 16_384, 2_097_150, 2_097_151])
    func aSizeIsReadAsItWasWritten(_ size: Int) throws {
        var writer = ElementWriter()
        writer.binary(.codecPrivate, [UInt8](repeating: 7, count: size))
        let header = try #require(ElementHeader(writer.bytes))
        #expect(header.id == .codecPrivate)
        #expect(header.size == size)
        #expect(header.length + size == writer.bytes.count)
    }

    @Test(arguments: [0, 1, 255, 256, 65_535, 65_536, UInt64.max]) func anIntegerIsReadAsItWasWritten(_ value: UInt64) {
        var writer = ElementWriter()
        writer.unsigned(.timestamp, value)
        var elements = ElementSequence(writer.bytes[...])
        #expect(elements.next()?.content.unsigned == value)
        #expect(elements.isAtEnd)
    }

    @Test(arguments: 2...140) func aVoidElementTakesItsLength(_ total: Int) throws {
        var writer = ElementWriter()
        writer.void(total: total)
        #expect(writer.bytes.count == total)
        let header = try #require(ElementHeader(writer.bytes))
        #expect(header.id == .void)
        #expect(header.size == total - header.length)
    }

    @Test func anUnknownSizeIsNil() {
        #expect(ElementHeader([0x18, 0x53, 0x80, 0x67] + ElementWriter.unknownSize)?.size == .some(nil))
        #expect(ElementHeader([0xEC, 0xFF])?.size == .some(nil))
    }

    @Test(
        arguments: [[], [0xEC], [0x00, 0x81], [0x0F, 0x81], [0x1F, 0x43, 0xB6], [0xEC, 0x00], [0xEC, 0x40]] as [[UInt8]]
    )
    func anIncompleteHeaderIsRefused(_ bytes: [UInt8]) { #expect(ElementHeader(bytes) == nil) }
}
