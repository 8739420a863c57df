internal import MediaCore

/// Tells when much of the picture changes again and again and no motion search finds where it went: a page that scrolls by many
/// lines, a slide show on fast forward. Sharp frames would then take 40 ms and 150 KB each and come too late; coarse ones keep up,
/// and refinement sharpens what stays.
struct ContinuousChangeDetector {
    /// A frame like the last heavy one that is made before is one of its series.
    private var end: MediaInstant?
    private var lightInARow = 0

    /// Whether the next frame, of so many blocks, is one of such a series.
    func isRushed(blocks: Int, of total: Int, at instant: MediaInstant) -> Bool {
        guard let end, Self.isMuch(blocks, of: total) else { return false }
        return instant < end
    }

    /// - Parameter bitrate: on a slow line the next one cannot come before this one has left.
    mutating func note(blocks: Int, of total: Int, bytes: Int, bitrate: Bitrate, at instant: MediaInstant) {
        guard Self.isMuch(blocks, of: total) else { return }
        // A block whose motion was found takes a byte or two, new text ten and more, even when it is coarse.
        if bytes > blocks * 5 {
            end = instant + .milliseconds(300) + min(bitrate.duration(ofBytes: bytes), .seconds(2))
            lightInARow = 0
        } else {
            lightInARow += 1
            if lightInARow >= 3 { end = nil }
        }
    }

    /// Below two fifths of the picture sharp frames are quick enough, and some of them are dropped instead.
    private static func isMuch(_ blocks: Int, of total: Int) -> Bool { blocks * 5 > total * 2 }
}
