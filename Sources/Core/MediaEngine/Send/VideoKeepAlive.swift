import MediaCore
import RTPWire

/// Decides when a viewer that asks for a key frame after some seconds without a frame (Chromium and Firefox after 3) is shown the last
/// frame once more, by a `VP8SkipFrame`, so that a still screen costs it no key frames.
struct VideoKeepAlive {
    /// Of rest. Leaves time to repeat a lost one before a viewer asks.
    static let interval = MediaDuration.seconds(2)

    private var version: UInt8 = 0
    /// Of the last key frame; nil before the first, and if that was no VP8.
    private var size: PixelSize?
    /// Made when the first is due; allocated once for each size.
    private var frame: [UInt8] = []
    /// The last frame is what the next one refers to: a skip frame shows no older picture.
    private var isBase = false
    private(set) var deadline = MediaInstant.distantFuture
    /// Sequence number of the last packet of the newest skip frame.
    private(set) var lastSequence: Int64 = -1

    /// A frame waits to be sent.
    mutating func note(_ bytes: UnsafeRawBufferPointer, isKeyframe: Bool, layer: UInt8) {
        isBase = layer == 0
        deadline = .distantFuture
        guard isKeyframe else { return }
        let header = try? VP8FrameHeader(bytes)
        if header?.size != size || header?.version != version { frame = [] }
        size = header?.size
        version = header?.version ?? 0
    }

    /// The last packet of a frame left, and nothing waits.
    mutating func noteRest(now: MediaInstant) {
        if isBase, size != nil { deadline = now + Self.interval }
    }

    /// The frame that is due; nil if none is.
    mutating func takeDue(now: MediaInstant) -> [UInt8]? {
        guard now >= deadline, let size else { return nil }
        deadline = .distantFuture
        if frame.isEmpty { frame = VP8SkipFrame.make(size, version: version) }
        return frame
    }

    mutating func noteMade(lastSequence: Int64) { self.lastSequence = lastSequence }
}
