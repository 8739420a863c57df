import MediaCore
import RTPWire
import VideoBitstream

/// Decides when a viewer is sent the last frame again (a `VP8SkipFrame`) on a still screen. Chromium and Firefox
/// request a key frame after 3 s without a frame; this saves those key frames.
struct VideoKeepAlive {
    /// Time without a frame. Leaves time to retransmit a lost one before the viewer asks.
    static let interval = MediaDuration.seconds(2)

    private var version: UInt8 = 0
    /// Of the last key frame; nil before the first one, and if its header was malformed.
    private var size: PixelSize?
    /// Made when first due; allocated once for each size.
    private var frame: [UInt8] = []
    /// The last frame is of the base layer. A skip frame repeats the last base layer frame, so after a frame of layer 1
    /// it would show older content.
    private var isBase = false
    private(set) var deadline = MediaInstant.distantFuture
    /// Sequence number of the last packet of the newest skip frame.
    private(set) var lastSequence: Int64 = -1

    /// A new frame waits to be sent.
    mutating func note(_ info: FrameInfo) {
        isBase = info.layer == 0
        deadline = .distantFuture
        guard info.isKeyframe else { return }
        if info.size != size || info.version != version { frame = [] }
        size = info.size
        version = info.version
    }

    /// The last packet of a frame was sent, and none waits.
    mutating func noteIdle(now: MediaInstant) {
        if isBase, size != nil { deadline = now + Self.interval }
    }

    /// The skip frame, if it is due; else nil.
    mutating func takeDue(now: MediaInstant) -> [UInt8]? {
        guard now >= deadline, let size else { return nil }
        deadline = .distantFuture
        if frame.isEmpty { frame = VP8SkipFrame.make(size, version: version) }
        return frame
    }

    mutating func noteMade(lastSequence: Int64) { self.lastSequence = lastSequence }
}
