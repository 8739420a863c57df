import Foundation
import MediaCore
import OpusCodec

/// The audio of one track as received by a player: 48 kHz, stereo.
struct ReceivedAudio: Sendable {
    /// Left and right samples, interleaved.
    let samples: [Int16]

    init(_ bytes: Data) {
        samples = (0..<bytes.count / 2).map { index in
            let place = bytes.startIndex + 2 * index
            return Int16(bitPattern: UInt16(bytes[place]) | UInt16(bytes[place + 1]) << 8)
        }
    }

    init(pcm: String) throws { self.init(try Data(contentsOf: URL(fileURLWithPath: pcm))) }

    /// Decodes the last 150 packets of a file of Opus packets, each after its length in two bytes.
    init(opus: String) throws {
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: opus)))
        var packets: [ArraySlice<UInt8>] = []
        var place = 0
        while place + 2 <= bytes.count {
            let end = place + 2 + Int(bytes[place]) + Int(bytes[place + 1]) << 8
            guard end <= bytes.count else { break }
            packets.append(bytes[(place + 2)..<end])
            place = end
        }
        let decoder = try OpusFrameDecoder()
        var samples: [Int16] = []
        var room = [Int16](repeating: 0, count: OpusFrameDecoder.maximumFrames * 2)
        for packet in packets.suffix(150) {
            let frames = try packet.withUnsafeBytes { packet in
                try room.withUnsafeMutableBufferPointer {
                    try decoder.decode(packet, useFEC: false, samplesPerChannel: 0, into: $0)
                }
            }
            samples += room.prefix(frames * 2)
        }
        self.samples = samples
    }

    /// Returns the amplitude of a frequency on one side (0 left, 1 right) in the last second, of 32,767: the mean over
    /// blocks of 50 ms (Goertzel's algorithm). A lost packet shifts the phase, which would cancel most of a longer
    /// block.
    func amplitude(_ hertz: Double, side: Int) -> Double {
        let channel = Array(stride(from: side, to: samples.count, by: 2).map { Double(samples[$0]) }.suffix(48_000))
        let blocks = stride(from: 0, through: channel.count - Self.block, by: Self.block)
            .map { Self.amplitude(hertz, in: channel[$0..<($0 + Self.block)]) }
        guard blocks.count >= 10 else { return 0 }
        return blocks.reduce(0, +) / Double(blocks.count)
    }

    private static let block = 2_400

    private static func amplitude(_ hertz: Double, in samples: ArraySlice<Double>) -> Double {
        let coefficient = 2 * cos(2 * Double.pi * hertz / 48_000)
        var (one, two) = (0.0, 0.0)
        for sample in samples { (one, two) = (sample + coefficient * one - two, one) }
        return 2 * (one * one + two * two - coefficient * one * two).squareRoot() / Double(samples.count)
    }

    /// Whether the sides contain these frequencies, not an unused one, and, in stereo, not the other side's.
    func holds(left: Double, right: Double, isStereo: Bool) -> Bool {
        let silent = 1_500.0
        return [(left, right, 0), (right, left, 1)].allSatisfy { wanted, other, side in
            let level = amplitude(wanted, side: side)
            return level > 500 && level > 8 * amplitude(silent, side: side)
                && (!isStereo || wanted == other || level > 4 * amplitude(other, side: side))
        }
    }

    var summary: String {
        let levels = [440, 660, 880, 1_500].map { hertz in
            "\(hertz): " + [0, 1].map { "\(Int(amplitude(Double(hertz), side: $0)))" }.joined(separator: "/")
        }
        return "\(samples.count / 2) frames, " + levels.joined(separator: ", ")
    }
}
