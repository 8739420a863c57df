import MediaCore
import Testing

@testable import RTPWire

/// libwebrtc's `color-space`.
@Suite struct ColorSpaceElementTests {
    private let ids: HeaderExtensionMap = [.colorSpace: 8, .mid: 4]

    private func packet(_ space: ColorSpace) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 64)
        let layout = try bytes.withUnsafeMutableBytes {
            try WrittenPacketLayout.write(
                RTPHeader(
                    marker: true, payloadType: 96, sequenceNumber: SequenceNumber(1), timestamp: RTPTimestamp(2),
                    ssrc: 3),
                extensions: HeaderExtensionValues(mid: "0", colorSpace: space), ids: ids, into: $0)
        }
        #expect(layout.hasColorSpace)
        return Array(bytes[..<layout.headerLength])
    }

    /// What is read of an element of the two-byte form.
    private func read(_ data: [UInt8]) throws -> ColorSpace? {
        let element = [8, UInt8(data.count)] + data
        let padded = element + [UInt8](repeating: 0, count: (4 - element.count % 4) % 4)
        let packet: [UInt8] =
            [0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0x10, 0, 0, UInt8(padded.count / 4)] + padded
        return try withBytes(packet) { try RTPPacketView($0).values(of: ids).colorSpace }
    }

    @Test func theBytesAreThoseOfLibwebrtc() throws {
        // BT.709, sRGB, BT.709, full range, chroma collocated horizontally and between the rows.
        let space = ColorSpace(
            primaries: 1, transfer: 13, matrix: 1, range: .full, horizontalSiting: .collocated, verticalSiting: .half)
        #expect(try packet(space).suffix(12) == [0xBE, 0xDE, 0, 2, 0x40, 0x30, 0x83, 1, 13, 1, 0x26, 0])
    }

    @Test func eachNumberIsReadAsItWasWrittenOrSaysNothing() throws {
        for number in UInt8.min ... .max {
            let codes = try #require(try read([number, number, number, 0]))
            let isReserved = [0, 3].contains(number)
            #expect(codes.primaries == (!isReserved && number <= 12 || number == 22 ? number : 2))
            #expect(codes.transfer == (!isReserved && number <= 18 ? number : 2))
            #expect(codes.matrix == (number != 3 && number <= 14 ? number : 2))
            let rest = try #require(try read([2, 2, 2, number]))
            #expect(rest.range.rawValue == number >> 4 & 3)
            #expect(rest.horizontalSiting.rawValue == (number >> 2 & 3 == 3 ? 0 : number >> 2 & 3))
            #expect(rest.verticalSiting.rawValue == (number & 3 == 3 ? 0 : number & 3))
            for space in [codes, rest] {
                try withBytes(try packet(space)) { bytes throws in
                    #expect(try RTPPacketView(bytes).values(of: ids).colorSpace == space)
                }
            }
        }
    }

    @Test func theHDRPartIsSkippedAndOtherLengthsCountAsNothing() throws {
        let plain: [UInt8] = [9, 16, 9, 0x10]
        for length in 0...40 {
            let data = Array((plain + [UInt8](repeating: 0xFF, count: 40)).prefix(length))
            let space = try read(data)
            let expected = ColorSpace(primaries: 9, transfer: 16, matrix: 9, range: .limited)
            #expect(space == ([4, 28].contains(length) ? expected : nil), "\(length) bytes")
        }
    }

    @Test func itIsSetInPlace() throws {
        let ids: HeaderExtensionMap = [.transportSequence: 1, .colorSpace: 8]
        var bytes = [UInt8](repeating: 0, count: 64)
        let space = ColorSpace(matrix: 6, range: .full)
        let length = try bytes.withUnsafeMutableBytes { buffer in
            let layout = try WrittenPacketLayout.write(
                RTPHeader(
                    marker: true, payloadType: 96, sequenceNumber: SequenceNumber(1), timestamp: RTPTimestamp(2),
                    ssrc: 3),
                extensions: HeaderExtensionValues(transportSequence: SequenceNumber(7), colorSpace: ColorSpace()),
                ids: ids, into: buffer)
            layout.patch(space, in: buffer)
            // A buffer that is too short stays as it is.
            layout.patch(ColorSpace(), in: UnsafeMutableRawBufferPointer(rebasing: buffer[..<16]))
            return layout.headerLength
        }
        #expect(length <= WrittenPacketLayout.maximumHeaderLength(ids, mid: ""))
        try withBytes(Array(bytes[..<length])) { packet throws in
            let values = try RTPPacketView(packet).values(of: ids)
            #expect(values.colorSpace == space && values.transportSequence == SequenceNumber(7))
        }
    }
}
