import MediaCore
import MediaEngine

/// One encoding of the picture, and what it has still to show. Confined to the video thread.
final class VideoEncoding {
    let id: EncodingID
    let encoder: any VideoEncoder
    var changed: BlockMap
    /// `changed` is not empty.
    var hasChanges = true
    /// The first change that no frame shows yet.
    var changedSince: MediaInstant?
    var lastFrame = MediaInstant(nanoseconds: 0)
    var lastKeyframe: MediaInstant?
    var lastRecovery: MediaInstant?
    /// When a frame was kept last.
    var lastStored = MediaInstant(nanoseconds: 0)
    var activity = MotionDetector()

    init(_ id: EncodingID, _ encoder: any VideoEncoder, _ size: PixelSize) {
        self.id = id
        self.encoder = encoder
        changed = BlockMap(size, filled: true)
    }

    /// The picture has another size: all of it is new.
    func restart(_ size: PixelSize) {
        changed = BlockMap(size, filled: true)
        hasChanges = true
    }

    func note(_ fresh: BlockMap, since damage: MediaInstant) {
        changed.formUnion(fresh)
        note(changeAt: damage)
    }

    /// `changed` has been brought up to date.
    func note(changeAt damage: MediaInstant) {
        hasChanges = true
        changedSince = min(changedSince ?? damage, damage)
    }
}

/// Tells text from motion: motion is a large part of the picture that changes many times a second, for seconds.
struct MotionDetector {
    private var level = 0.0
    private var last: MediaInstant?
    private(set) var contentHint = ContentHint.text

    /// - Parameters: how many blocks of how many changed with this frame.
    mutating func note(blocks: Int, of total: Int, at now: MediaInstant) {
        let share = Double(blocks) / Double(max(total, 1))
        let elapsed = last.map { min((now - $0).inSeconds, 2) } ?? 2
        last = now
        // Blocks a second, in pictures a second, with a memory of about two seconds.
        let keep = max(0, 1 - elapsed / 2)
        level = level * keep + share / 2
        if level > 4 { contentHint = .motion } else if level < 2 { contentHint = .text }
    }
}
