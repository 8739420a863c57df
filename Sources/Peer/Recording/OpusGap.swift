/// Makes Opus packets that say that there is nothing: a decoder conceals or fades out for their time (RFC 7845 section
/// 4.1). Players that play audio packets one behind the other, whatever their times are, stay in step with the video.
enum OpusGap {
    /// The longest packet, in samples at 48 kHz (RFC 6716 section 3.2.5).
    private static let longest = 5_760

    /// - Parameters:
    ///   - toc: the first byte of the packet before the gap, which says mode, bandwidth and channels.
    ///   - samples: at 48 kHz, to be filled with whole frames of up to 120 ms a packet.
    /// - Returns: the next packet and its length in samples; nil if no frame fits.
    static func packet(like toc: UInt8, samples: Int) -> (bytes: [UInt8], samples: Int)? {
        let frame = frameSamples(toc)
        // Code 3: so many frames of equal length, here of no bytes (section 3.2.5).
        let count = min(samples, longest) / frame
        return count > 0 ? ([toc | 0x03, UInt8(count)], count * frame) : nil
    }

    /// The length of a packet, in samples at 48 kHz (RFC 6716 section 3.2).
    static func samples(of packet: UnsafeRawBufferPointer) -> Int {
        guard let toc = packet.first else { return 0 }
        let frames =
            switch toc & 3 {
            case 0: 1
            case 1, 2: 2
            default: packet.count > 1 ? Int(packet[1] & 0x3F) : 0
            }
        return min(frames * frameSamples(toc), longest)
    }

    /// The length of a frame by the configuration in a TOC byte (RFC 6716 section 3.1).
    private static func frameSamples(_ toc: UInt8) -> Int {
        switch toc >> 3 {
        case let number where number < 12: [480, 960, 1_920, 2_880][Int(number & 3)]
        case let number where number < 16: [480, 960][Int(number & 1)]
        case let number: [120, 240, 480, 960][Int(number & 3)]
        }
    }
}
