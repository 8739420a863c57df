import RTPWire
import Testing

@Suite struct ByteWriterTests {
    @Test func whatIsWrittenIsReadBack() throws {
        let bytes = try written { writer throws in
            try writer.write(uint8: 0x01)
            try writer.write(uint16: 0x0203)
            try writer.write(uint24: 0xFF04_0506)
            try writer.write(uint32: 0x0708_090A)
            try writer.write(uint64: 0x0B0C_0D0E_0F10_1112)
        }
        #expect(bytes == Array(1...18))
    }

    @Test func aFullBufferTakesNothingAndKeepsWhatItHas() throws {
        let bytes = try written(3) { writer throws in
            try writer.write(uint16: 7)
            #expect(throws: BufferFull()) { try writer.write(uint16: 8) }
            #expect(throws: BufferFull()) { try writer.write(uint24: 8) }
            #expect(throws: BufferFull()) { try writer.write("ab") }
            #expect(throws: BufferFull()) { try writer.write(zeros: 2) }
            try withBytes([1, 2]) { two throws in #expect(throws: BufferFull()) { try writer.write(two) } }
            try writer.write(uint8: 9)
        }
        #expect(bytes == [0, 7, 9])
    }
}
