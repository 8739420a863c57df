import RTPWire
import Testing

@Suite struct PacketKindTests {
    private func kind(_ first: UInt8, _ second: UInt8 = 0, length: Int = 40) throws -> PacketKind {
        try withBytes(([first, second] + [UInt8](repeating: 0, count: 38)).prefix(length)) { PacketKind(of: $0) }
    }

    @Test func theFirstByteDecidesAsInRFC7983() throws {
        for first in UInt8.min...UInt8.max {
            let expected: PacketKind =
                switch first {
                case 0...3: .stun
                case 20...63: .dtls
                case 128...191: .rtp
                default: .unknown
                }
            #expect(try kind(first) == expected, "first byte \(first)")
        }
    }

    @Test func theSecondByteTellsRTCPFromRTPAsInRFC5761() throws {
        for second in UInt8.min...UInt8.max {
            #expect(try kind(0x80, second) == ((192...223).contains(second) ? .rtcp : .rtp), "second byte \(second)")
        }
    }

    @Test func whatIsTooShortIsUnknown() throws {
        for length in 0..<2 { #expect(try kind(0x80, 200, length: length) == .unknown) }
        #expect(try kind(0, length: 19) == .unknown)
        #expect(try kind(0, length: 20) == .stun)
        #expect(try kind(22, length: 12) == .unknown)
        #expect(try kind(22, length: 13) == .dtls)
        #expect(try kind(0x80, 96, length: 11) == .unknown)
        #expect(try kind(0x80, 96, length: 12) == .rtp)
        #expect(try kind(0x80, 201, length: 7) == .unknown)
        #expect(try kind(0x80, 201, length: 8) == .rtcp)
    }
}
