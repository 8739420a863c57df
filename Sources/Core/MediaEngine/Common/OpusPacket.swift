/// The duration of an Opus packet from its TOC byte (RFC 6716 section 3.1).
package enum OpusPacket {
    /// Samples of one channel at 48 kHz, 120...5760; 960 if the packet is malformed.
    package static func samplesPerChannel(_ packet: UnsafeRawBufferPointer) -> Int {
        guard let first = packet.first else { return 960 }
        let configuration = Int(first >> 3)
        let size: Int
        switch configuration {
        case 0..<12: size = configuration & 3 == 3 ? 2_880 : 480 << (configuration & 3)
        case 12..<16: size = configuration & 1 == 0 ? 480 : 960
        default: size = 120 << (configuration & 3)
        }
        let count: Int
        switch first & 3 {
        case 0: count = 1
        case 1, 2: count = 2
        default: count = packet.count > 1 ? Int(packet[1] & 0x3F) : 0
        }
        let samplesPerChannel = size &* count
        return (1...5_760).contains(samplesPerChannel) ? samplesPerChannel : 960
    }
}
