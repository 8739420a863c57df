internal import MediaCore

/// Foretells how many bytes a frame will take at a quantizer, and learns from each.
///
/// libvpx's own rate control thinks in whole pictures; with an active map it is far off whenever a small change is followed by a large
/// one. So the quantizer is chosen here, and libvpx is told to use it.
struct FrameSizePredictor {
    /// Bytes of new content at quantizer 20, for each unit of the meter's activity.
    private var newContent = 0.035
    /// The share of that which inter frames took lately: scrolled text takes little, new text all.
    private var share = 1.0
    private var last: MediaInstant?
    /// A frame of none but inactive blocks: 196 bytes at 1920 x 1080.
    private static let bytesPerInactiveBlock = 0.025

    /// The quantizer between `best` and `worst` whose frame is foretold to fit; `worst` if none is.
    func quantizer(
        for content: ContentClassifier, of total: Int, isKeyframe: Bool, budget: Int, in range: ClosedRange<Int>,
        at instant: MediaInstant
    ) -> Int {
        let reference = reference(content, isKeyframe: isKeyframe, at: instant)
        let room = Double(budget) - Double(total) * Self.bytesPerInactiveBlock
        // The curve falls, so the first that fits is the best.
        return range.first { reference * Self.scale($0, isDrawn: content.isDrawn) <= room } ?? range.upperBound
    }

    /// How many bytes an inter frame is foretold to take.
    func bytes(for content: ContentClassifier, of total: Int, quantizer: Int, at instant: MediaInstant) -> Int {
        let payload =
            reference(content, isKeyframe: false, at: instant) * Self.scale(quantizer, isDrawn: content.isDrawn)
        return Int(payload + Double(total) * Self.bytesPerInactiveBlock)
    }

    mutating func learn(
        from content: ContentClassifier, of total: Int, isKeyframe: Bool, quantizer: Int, bytes: Int,
        at instant: MediaInstant
    ) {
        // A few blocks say nothing about many, nor does the key frame of an empty screen.
        guard content.activity > (isKeyframe ? 200_000 : 20_000) else { return }
        let payload = max(Double(bytes) - Double(total) * Self.bytesPerInactiveBlock, 1)
        let reference = payload / Self.scale(quantizer, isDrawn: content.isDrawn)
        if isKeyframe {
            let observed = reference / Double(max(content.activity, 1_000))
            newContent = min(max(0.5 * newContent + 0.5 * observed, 0.005), 0.2)
        } else {
            let observed = reference / (newContent * Double(content.activity))
            let previous = isContinuous(at: instant) ? share : 1
            // Up at once, down within a few frames.
            share = min(max(observed > previous ? observed : 0.5 * previous + 0.5 * observed, 0.02), 2)
            last = instant
        }
    }

    private func reference(_ content: ContentClassifier, isKeyframe: Bool, at instant: MediaInstant) -> Double {
        let new = newContent * Double(content.activity)
        return isKeyframe || !isContinuous(at: instant) ? new : new * share
    }

    /// What moved a moment ago goes on like that; after a pause anything may come.
    private func isContinuous(at instant: MediaInstant) -> Bool {
        guard let last else { return false }
        return instant - last < .milliseconds(250)
    }

    /// Bytes at a quantizer in relation to those at 20, measured at 0, 8, 16 ... 64 with pages of text and with film.
    static func scale(_ quantizer: Int, isDrawn: Bool) -> Double {
        let curve = isDrawn ? drawn : film
        let position = Double(min(max(quantizer, 0), 63)) / 8
        let index = Int(position)
        let fraction = position - Double(index)
        return curve[index] * (1 - fraction) + curve[index + 1] * fraction
    }
    private static let drawn = [1.62, 1.24, 1.055, 0.965, 0.85, 0.75, 0.6, 0.44, 0.29]
    private static let film = [5.0, 2.0, 1.2, 0.82, 0.55, 0.38, 0.24, 0.13, 0.06]
}

/// How many bytes may leave now: filled by the bitrate, emptied by frames.
struct FrameByteBudget {
    /// Negative after a frame that was larger than there was room.
    private(set) var credit = 0
    private var last: MediaInstant?

    /// - Parameter capacity: what may be saved up, in bytes.
    mutating func fill(at instant: MediaInstant, bitrate: Bitrate, capacity: Int) {
        let rate = Double(min(max(bitrate.bitsPerSecond, 0), 1_000_000_000)) / 8
        let elapsed = last.map { min(max((instant - $0).inSeconds, 0), 10) } ?? 10
        // Shorter than a microsecond would add nothing and still forget the time.
        guard elapsed > 1e-6 || last == nil else { return }
        last = instant
        credit = min(credit + Int(rate * elapsed), capacity)
    }

    mutating func spend(_ bytes: Int) { credit -= bytes }
}
