internal import MediaCore

/// Detects a series of large changes that motion search cannot find, such as a page that scrolls by many lines or a
/// fast slide show.
/// A sharp frame of such content takes 40 ms and 150 KB, which is too late; coarse frames keep up, and refinement
/// sharpens blocks that stop changing.
struct ContinuousChangeDetector {
    /// From the first change of a series to the instant before which a large change continues it.
    private var series: (begin: MediaInstant, end: MediaInstant)?
    private var lightInARow = 0

    /// Whether the next frame, which changes `blocks` of `total` blocks, continues a series.
    func isContinuous(blocks: Int, of total: Int, at instant: MediaInstant) -> Bool {
        guard let series, Self.isLargeChange(blocks, of: total) else { return false }
        // A page that is painted in two steps is no series.
        return instant < series.end && instant - series.begin >= .milliseconds(25)
    }

    /// Records an encoded frame.
    /// - Parameter bitrate: extends the series by the frame's transmission time (at most 2 s), as the next frame cannot
    ///   be sent earlier.
    mutating func note(blocks: Int, of total: Int, bytes: Int, bitrate: Bitrate, at instant: MediaInstant) {
        guard Self.isLargeChange(blocks, of: total) else { return }
        // A block whose motion was found takes one or two bytes. New text takes ten or more, however coarse.
        if bytes > blocks * 5 {
            let end = instant + .milliseconds(300) + min(bitrate.duration(ofBytes: bytes), .seconds(2))
            if let series, instant < series.end {
                self.series = (series.begin, end)
            } else {
                series = (instant, end)
            }
            lightInARow = 0
        } else {
            lightInARow += 1
            if lightInARow >= 3 { series = nil }
        }
    }

    /// Whether more than two fifths of the frame change. Smaller changes are sent as sharp frames, and some dropped.
    private static func isLargeChange(_ blocks: Int, of total: Int) -> Bool { blocks * 5 > total * 2 }
}
