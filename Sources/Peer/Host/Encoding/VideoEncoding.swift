import MediaCore
import MediaEngine

/// One encoding of the screen, with the changes that it has not encoded yet. Confined to the video thread.
final class VideoEncoding {
    let id: EncodingID
    let encoder: any VideoEncoder
    var changed: BlockMap
    /// Whether `changed` is not empty.
    var hasChanges = true
    /// When the first change that no frame shows yet was reported.
    var changedSince: MediaInstant?
    var schedule: FrameSchedule
    var lastKeyframe: MediaInstant?
    var lastRecovery: MediaInstant?
    /// When a frame was last stored as a long-term reference.
    var lastStored = MediaInstant(nanoseconds: 0)
    var activity = MotionDetector()

    init(_ id: EncodingID, _ encoder: any VideoEncoder, _ size: PixelSize, _ schedule: FrameSchedule) {
        self.id = id
        self.encoder = encoder
        self.schedule = schedule
        changed = BlockMap(size, filled: true)
    }

    /// Marks all blocks as changed, for a new size or another canvas.
    func restart(_ size: PixelSize) {
        changed = BlockMap(size, filled: true)
        hasChanges = true
    }

    func note(_ fresh: BlockMap, since damage: MediaInstant) {
        changed.formUnion(fresh)
        note(changeAt: damage)
    }

    /// Notes that `changed` has been updated.
    func note(changeAt damage: MediaInstant) {
        hasChanges = true
        changedSince = min(changedSince ?? damage, damage)
    }
}

/// Distinguishes text from motion: motion changes a large part of the screen many times a second, for seconds.
struct MotionDetector {
    private var level = 0.0
    private var last: MediaInstant?
    private(set) var contentHint = ContentHint.text

    /// - Parameters:
    ///   - blocks: the number of blocks that changed with this frame.
    ///   - total: the number of all blocks.
    mutating func note(blocks: Int, of total: Int, at now: MediaInstant) {
        let share = Double(blocks) / Double(max(total, 1))
        let elapsed = last.map { min((now - $0).inSeconds, 2) } ?? 2
        last = now
        // The level is the rate of changed blocks, in whole frames a second, averaged over about two seconds.
        let keep = max(0, 1 - elapsed / 2)
        level = level * keep + share / 2
        if level > 4 { contentHint = .motion } else if level < 2 { contentHint = .text }
    }
}
