import MediaCore
import TestSupport

/// The frame sizes of a host's encoder for screen content: `VP8Encoder`'s rate control without pixels. The first frame
/// of a change takes at most a quarter of a second of the bitrate; refinements follow once the change is over.
final class SimulatedScreen {
    enum Content {
        case still
        /// A change in each frame. All of it at full quality would take `most` bytes, and it takes at least `least`.
        case moving(least: Int, most: Int)
    }

    var content = Content.still
    /// Bytes of refinement until the frame is sharp.
    private(set) var missing = 0
    private var change: (least: Int, most: Int)?
    private var lastChange: MediaInstant?
    private var credit = 0.0
    private var lastFill: MediaInstant?
    private let first: (least: Int, most: Int)
    /// The encoder misses its target size at random, by up to 20 %.
    private var random: SeededGenerator

    /// - Parameters:
    ///   - least: the smallest size of the first frame, in bytes.
    ///   - most: its size at full quality.
    init(least: Int, most: Int, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        first = (least, most)
        change = first
    }

    /// Changes to another page.
    func turn(least: Int, most: Int) { change = (least, most) }

    /// The size of the next frame in bytes; nil: there is nothing to send, or no budget for it.
    func frame(at now: MediaInstant, bitrate: Bitrate, isKeyframe: Bool) -> Int? {
        let rate = Double(bitrate.bitsPerSecond) / 8
        let burst = max(rate / 4, 6_000)
        let share = min(rate / 30, burst)
        credit = min(credit + rate * min(lastFill.map { (now - $0).inSeconds } ?? 10, 10), burst)
        lastFill = now
        if case .moving(let least, let most) = content { change = (least, most) }
        guard credit > -rate / 3 || isKeyframe else { return nil }
        if isKeyframe { change = change ?? first }
        if let new = change {
            change = nil
            lastChange = now
            let room = isKeyframe ? burst : min(max(credit, share), burst)
            let aimed = min(max(Int(room), new.least), new.most)
            let bytes = min(aimed * Int.random(in: 80...120, using: &random) / 100, new.most)
            missing = new.most - bytes
            credit -= Double(bytes)
            return bytes
        }
        guard missing > 0, let lastChange, now - lastChange >= .milliseconds(120), credit >= min(burst, 3 * share)
        else {
            return nil
        }
        let bytes = min(missing, max(Int(credit), 1_600))
        missing -= bytes
        credit -= Double(bytes)
        return bytes
    }
}
