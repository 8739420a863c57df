public import MediaCore

/// Measures the temporal layers of a video stream. Allocates only in `init`.
public struct LayerMeter: Sendable {
    private struct Layer {
        /// Without the layers below.
        var rate = SentBitrateMeter()
        /// How many frames ago its last frame was.
        var age = Int.max
        var last: MediaInstant?
    }
    private var layers = Array(repeating: Layer(), count: 8)

    /// A layer without a frame among so many, and for so long, has ended.
    private static let memory = (frames: 16, time: MediaDuration.seconds(5))

    public init() {}

    /// Takes in a frame or a part of one.
    /// - Parameter layer: 0...7.
    public mutating func note(bytes: Int, layer: UInt8, isFrameStart: Bool, now: MediaInstant) {
        let layer = min(Int(layer), layers.count - 1)
        if isFrameStart {
            for index in layers.indices where layers[index].age < Self.memory.frames { layers[index].age &+= 1 }
            layers[layer].age = 0
            layers[layer].last = now
        }
        layers[layer].rate.note(bytes: bytes, now: now)
    }

    /// The bitrate of the base layer over the last second.
    public mutating func baseBitrate(now: MediaInstant) -> Bitrate { layers[0].rate.rate(now: now) }

    /// How many layers there are; 0 before the first frame.
    public func count(now: MediaInstant) -> Int {
        let highest = layers.lastIndex { layer in
            layer.last.map { layer.age < Self.memory.frames || now - $0 < Self.memory.time } ?? false
        }
        return highest.map { $0 + 1 } ?? 0
    }

    /// The bitrates of so many layers, from the base on. That of each is what a receiver of it got in the last second.
    public mutating func layers(count: Int, now: MediaInstant) -> [VideoLayer] {
        var sum = 0
        return (0..<min(count, layers.count)).map { index in
            sum += layers[index].rate.rate(now: now).bitsPerSecond
            return VideoLayer(temporalLayer: UInt8(index), bitrate: Bitrate(bitsPerSecond: sum))
        }
    }
}
