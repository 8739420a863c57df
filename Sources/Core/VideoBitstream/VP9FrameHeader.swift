public import MediaCore

/// The uncompressed header of a VP9 frame: VP9 Bitstream & Decoding Process Specification section 6.2.
public struct VP9FrameHeader: Equatable {
    //  +-+-+-+-+-+-+-+-+
    //  |1 0|L H|S|T|...|   profile = 2 H + L; profile 3 has a zero before S
    //  +-+-+-+-+-+-+-+-+   S: shows an existing frame; T: 0 for a key frame

    public let isKeyframe: Bool
    /// The frame's own size; nil if it shows an existing frame, or has the size of a reference.
    public let size: PixelSize?

    /// - Parameter data: the start of a frame; one byte suffices.
    public static func isKeyframe(_ data: UnsafeRawBufferPointer) -> Bool {
        guard let first = data.first, first >> 6 == 2 else { return false }
        return profile(first) == 3 ? first & 0x06 == 0 : first & 0x0C == 0
    }

    /// 0...3.
    static func profile(_ first: UInt8) -> Int { Int(first >> 5 & 1 | first >> 3 & 2) }

    /// - Returns: nil if the header is malformed, up to the size.
    public init?(_ frame: UnsafeRawBufferPointer) {
        guard let first = frame.first, first >> 6 == 2 else { return nil }
        var reader = BitReader(frame.prefix(32))
        let profile = Self.profile(first)
        reader.skip(4)
        if profile == 3, reader.bit() { return nil }
        guard !reader.bit() else {
            reader.skip(3)
            guard !reader.hasOverrun else { return nil }
            (isKeyframe, size) = (false, nil)
            return
        }
        isKeyframe = !reader.bit()
        let isShown = reader.bit()
        let isErrorResilient = reader.bit()
        if isKeyframe {
            guard Self.readSyncCode(&reader) else { return nil }
            Self.skipColor(&reader, profile)
        } else {
            let isIntraOnly = isShown ? false : reader.bit()
            if !isErrorResilient { reader.skip(2) }
            if isIntraOnly {
                guard Self.readSyncCode(&reader) else { return nil }
                if profile > 0 { Self.skipColor(&reader, profile) }
                reader.skip(8)
            } else {
                // Refreshed frames, three references with their sign bias.
                reader.skip(8 + 3 * 4)
                // The first reference that is named gives the size.
                for _ in 0..<3 where reader.bit() {
                    guard !reader.hasOverrun else { return nil }
                    size = nil
                    return
                }
            }
        }
        let width = reader.bits(16) + 1
        let height = reader.bits(16) + 1
        guard !reader.hasOverrun else { return nil }
        size = PixelSize(width: width, height: height)
    }

    private static func readSyncCode(_ reader: inout BitReader) -> Bool { reader.bits(24) == 0x49_8342 }

    /// Section 6.2.2.
    private static func skipColor(_ reader: inout BitReader, _ profile: Int) {
        if profile >= 2 { reader.skip(1) }
        let isRGB = reader.bits(3) == 7
        if !isRGB { reader.skip(1) }
        if profile & 1 == 1 { reader.skip(isRGB ? 1 : 3) }
    }
}
