import MediaCore
import RTPWire
import Testing

@Suite struct VP8PayloadDescriptorTests {
    private func parse(_ bytes: [UInt8]) throws -> (descriptor: VP8PayloadDescriptor, data: [UInt8]) {
        try withBytes(bytes) {
            let (descriptor, data) = try VP8PayloadDescriptor.parse($0)
            return (descriptor, Array(data))
        }
    }

    @Test func descriptorsWrittenByHandFromRFC7741AreRead() throws {
        // Only the required byte.
        var (descriptor, data) = try parse([0x10, 0xAA])
        #expect(descriptor == VP8PayloadDescriptor(isPartitionStart: true))
        #expect(descriptor.isFrameStart && data == [0xAA])

        // X and I, picture ID of 7 bits.
        (descriptor, data) = try parse([0x90, 0x80, 0x11, 0xAA])
        #expect(descriptor.pictureID == 17 && !descriptor.isPictureIDLong)

        // X and I, picture ID of 15 bits.
        (descriptor, data) = try parse([0x90, 0x80, 0x92, 0x67, 0xAA])
        #expect(descriptor.pictureID == 4_711 && descriptor.isPictureIDLong && descriptor.isFrameStart)
        #expect(data == [0xAA])

        // N, all four fields, TID 1 with Y.
        (descriptor, data) = try parse([0xB0, 0xF0, 0x92, 0x67, 0x2A, 0x63, 0xAA])
        #expect(descriptor.isNonReference && descriptor.baseLayerIndex == 42 && descriptor.temporalLayer == 1)
        #expect(descriptor.isLayerSync && descriptor.keyIndex == 3 && data == [0xAA])
    }

    @Test(arguments: wrapPoints) func everyCombinationOfFieldsComesBack(raw: UInt16) throws {
        for mask in 0..<64 {
            let descriptor = VP8PayloadDescriptor(
                isNonReference: mask & 32 != 0, isPartitionStart: mask & 16 != 0,
                partitionIndex: UInt8(raw & 7),
                pictureID: mask & 1 == 0 ? nil : raw & 0x7FFF, baseLayerIndex: mask & 2 == 0 ? nil : UInt8(raw >> 8),
                temporalLayer: mask & 4 == 0 ? nil : UInt8(raw & 3), isLayerSync: mask & 4 != 0,
                keyIndex: mask & 8 == 0 ? nil : UInt8(raw & 31))
            let bytes = try written { try descriptor.write(into: &$0) }
            #expect(bytes.count == descriptor.length && bytes.count <= VP8PayloadDescriptor.maximumLength)
            let again = try parse(bytes + [1])
            #expect(again.descriptor.length == descriptor.length)
            var expected = descriptor
            expected.isPictureIDLong = again.descriptor.isPictureIDLong
            #expect(again.descriptor == expected)
            #expect(again.descriptor.isPictureIDLong || descriptor.pictureID == nil)
            #expect(again.data == [1])
        }
    }

    @Test func shortPictureIDsStayShort() throws {
        for id in [0, 1, 126, 127] as [UInt16] {
            let descriptor = VP8PayloadDescriptor(isPartitionStart: true, pictureID: id, isPictureIDLong: false)
            let bytes = try written { try descriptor.write(into: &$0) }
            #expect(bytes == [0x90, 0x80, UInt8(id)])
            #expect(try parse(bytes + [0]).descriptor == descriptor)
        }
    }

    @Test func everyTruncationIsMalformed() throws {
        let full = VP8PayloadDescriptor(
            isPartitionStart: true, pictureID: 300, baseLayerIndex: 255, temporalLayer: 3, keyIndex: 31)
        let bytes = try written { try full.write(into: &$0) }
        for length in 0...bytes.count {
            #expect(throws: RTPMalformed(.vp8Descriptor)) { _ = try parse(Array(bytes.prefix(length))) }
        }
        for length in 0..<bytes.count {
            #expect(throws: BufferFull()) { _ = try written(length) { try full.write(into: &$0) } }
        }
    }

    @Test func aLaterPacketOrPartitionIsNoFrameStart() throws {
        #expect(!(try parse([0x00, 1]).descriptor.isFrameStart))
        #expect(!(try parse([0x11, 1]).descriptor.isFrameStart))
    }
}
