import MediaCore
import Publishing

/// The frames of a stream from its last key frame on, for viewers that join, as long as they are few bytes.
struct FrameHistory {
    private struct Entry {
        var info: FrameInfo
        var range: Range<Int>
    }

    /// As much as a viewer gets in 0.4 s at the bitrate that it begins with.
    static let limit = 128 * 1_024
    private static let frameLimit = 240
    /// Between the capture times of frames that are sent again: a viewer shows all of them at once, and a player that
    /// schedules by time stamps must not be behind from then on.
    private static let interval = MediaDuration.milliseconds(1)

    private var entries: [Entry] = []
    private var bytes: [UInt8] = []

    /// Takes the next frame.
    mutating func append(_ frame: EncodedFrameBytes, _ info: FrameInfo) {
        if info.isKeyframe { clear() }
        guard info.isKeyframe || !entries.isEmpty else { return }
        guard bytes.count + frame.count <= Self.limit, entries.count < Self.frameLimit else { return clear() }
        let start = bytes.count
        frame.forEachSegment { bytes.append(contentsOf: $0) }
        entries.append(Entry(info: info, range: start..<bytes.count))
    }

    /// A frame is missing: those after it are of no use.
    mutating func clear() {
        entries.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    /// Calls `body` with the frames, the last one at its capture time, and the others just before it.
    /// - Returns: false if there are none.
    func forEach(_ body: (UnsafeRawBufferPointer, FrameInfo) -> Void) -> Bool {
        guard let last = entries.last?.info.captured else { return false }
        bytes.withUnsafeBytes { bytes in
            for (index, entry) in entries.enumerated() {
                var info = entry.info
                let before = Int64(entries.count - 1 - index)
                info.captured = last - MediaDuration(nanoseconds: Self.interval.nanoseconds * before)
                body(UnsafeRawBufferPointer(rebasing: bytes[entry.range]), info)
            }
        }
        return true
    }
}
