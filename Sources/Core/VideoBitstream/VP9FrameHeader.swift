/// The first byte of a VP9 frame: VP9 Bitstream & Decoding Process Specification section 6.2.
public enum VP9FrameHeader {
    //  +-+-+-+-+-+-+-+-+
    //  |1 0|L H|S|T|...|   profile = 2 H + L; profile 3 has a zero before S
    //  +-+-+-+-+-+-+-+-+   S: shows an existing frame; T: 0 for a key frame

    /// - Parameter data: the start of a frame; one byte suffices.
    public static func isKeyframe(_ data: UnsafeRawBufferPointer) -> Bool {
        guard let first = data.first, first >> 6 == 2 else { return false }
        return profile(first) == 3 ? first & 0x06 == 0 : first & 0x0C == 0
    }

    /// 0...3.
    static func profile(_ first: UInt8) -> Int { Int(first >> 5 & 1 | first >> 3 & 2) }
}
