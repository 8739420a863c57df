public import MediaCore

/// Measures the temporal layers of a video stream. Allocates only in `init`.
public struct LayerMeter: Sendable {
    /// Of each layer without those below it, and how many frames ago its last frame was.
    private var layers = Array(repeating: (rate: SentBitrateMeter(), age: Int.max), count: 8)

    /// A layer without a frame among so many has ended.
    private static let memory = 16

    public init() {}

    /// Takes in a frame or a part of one.
    /// - Parameter layer: 0...7.
    public mutating func note(bytes: Int, layer: UInt8, isFrameStart: Bool, now: MediaInstant) {
        let layer = min(Int(layer), layers.count - 1)
        if isFrameStart {
            for index in layers.indices where layers[index].age < Self.memory { layers[index].age &+= 1 }
            layers[layer].age = 0
        }
        layers[layer].rate.note(bytes: bytes, now: now)
    }

    /// The bitrate of the base layer over the last second.
    public mutating func baseBitrate(now: MediaInstant) -> Bitrate { layers[0].rate.rate(now: now) }

    /// The present layers, from the base on; the bitrate of each is that of what a receiver of it gets. Empty before the
    /// first frame.
    public mutating func layers(now: MediaInstant) -> [VideoLayer] {
        guard let highest = layers.lastIndex(where: { $0.age < Self.memory }) else { return [] }
        var sum = 0
        return (0...highest).map { index in
            sum += layers[index].rate.rate(now: now).bitsPerSecond
            return VideoLayer(temporalLayer: UInt8(index), bitrate: Bitrate(bitsPerSecond: sum))
        }
    }
}
