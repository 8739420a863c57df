import MediaCore
import TestSupport

/// What a host's encoder makes of a screen, in bytes: `VP8Encoder`'s budget and bucket without pixels. The first frame of a change takes
/// a quarter of a second of the bitrate at most, and what is then missing follows in refinements once the change rests.
final class SimulatedScreen {
    enum Content {
        case still
        /// Something new in each frame; all of it sharp would take `most`, and it cannot be made smaller than `least`.
        case moving(least: Int, most: Int)
    }

    var content = Content.still
    /// Bytes until the picture is sharp.
    private(set) var missing = 0
    private var change: (least: Int, most: Int)?
    private var lastChange: MediaInstant?
    private var credit = 0.0
    private var lastFill: MediaInstant?
    private let first: (least: Int, most: Int)
    /// An encoder does not hit what it aims at.
    private var random: SeededGenerator

    /// - Parameters: what the first picture takes, coarse and sharp.
    init(least: Int, most: Int, seed: UInt64) {
        random = SeededGenerator(seed: seed)
        first = (least, most)
        change = first
    }

    /// Shows another page.
    func turn(least: Int, most: Int) { change = (least, most) }

    /// What a frame takes; nil: there is nothing to send, or no room for it.
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
