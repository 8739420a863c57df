internal import MediaCore

/// Predicts the size in bytes of a frame at a quantizer, and adapts to each encoded frame.
///
/// It replaces the rate control of libvpx, which models whole frames. With an active map that is far off when a large
/// change follows a small one. The predicted quantizer is passed to libvpx as both limits.
struct FrameSizePredictor {
    /// Bytes per unit of `ContentClassifier.activity` for new content at quantizer 20.
    private var newContent = 0.035
    /// Recent size of inter frames in relation to new content: small for scrolled text, 1 for new text.
    private var share = 1.0
    private var last: MediaInstant?
    /// Frames of layer 1 are made when the base layer is ahead of its bitrate: sizes of its frames may swing.
    var isLayered = false
    /// The last inter frame's content and quantizer.
    private var lastActivity = 0
    private var lastQuantizer = 0
    /// The last prediction of a recovery frame, and for how many blocks.
    var recovery: (bytes: Int, blocks: Int, instant: MediaInstant)?
    /// Measured with a frame of inactive blocks only: 196 bytes at 1920 x 1080.
    private static let bytesPerInactiveBlock = 0.025

    /// Returns the lowest quantizer in `range` whose predicted frame fits into `budget` bytes, else the upper bound.
    func quantizer(
        for content: ContentClassifier, of total: Int, isKeyframe: Bool, budget: Int, in range: ClosedRange<Int>,
        at instant: MediaInstant
    ) -> Int {
        let reference = reference(content, isKeyframe: isKeyframe, at: instant)
        let room = Double(budget) - Double(total) * Self.bytesPerInactiveBlock
        // The size falls with the quantizer, so the first one that fits is the sharpest.
        let first = range.first { reference * Self.scale($0, isDrawn: content.isDrawn) <= room } ?? range.upperBound
        guard !isKeyframe, !isLayered, isContinuous(at: instant), isSimilar(content) else { return first }
        // The curve may be another one for this content: large steps would swing to and fro.
        return min(max(first, lastQuantizer - Self.mostStep), range.upperBound)
    }

    /// By how much the quantizer falls from frame to frame of similar content.
    private static let mostStep = 3

    /// Whether the content is of the last inter frame's size.
    private func isSimilar(_ content: ContentClassifier) -> Bool {
        content.activity * 2 > lastActivity && content.activity < lastActivity * 2
    }

    /// Predicts the size of an inter frame in bytes.
    func bytes(for content: ContentClassifier, of total: Int, quantizer: Int, at instant: MediaInstant) -> Int {
        let payload =
            reference(content, isKeyframe: false, at: instant) * Self.scale(quantizer, isDrawn: content.isDrawn)
        return Int(payload + Double(total) * Self.bytesPerInactiveBlock)
    }

    /// - Parameter mayGrow: false for a frame that libvpx could have made smaller, as it finds what has moved: it is
    ///   not taken for more expensive than new content.
    mutating func learn(
        from content: ContentClassifier, of total: Int, isKeyframe: Bool, quantizer: Int, bytes: Int,
        mayGrow: Bool = true, at instant: MediaInstant
    ) {
        // Few blocks do not predict the size of many, and the key frame of an empty screen does not predict others.
        guard content.activity > (isKeyframe ? 200_000 : 20_000) else { return }
        let reference = Self.reference(content, of: total, quantizer: quantizer, bytes: bytes)
        if isKeyframe {
            let observed = reference / Double(max(content.activity, 1_000))
            newContent = min(max(0.5 * newContent + 0.5 * observed, 0.005), 0.2)
        } else {
            let previous = isContinuous(at: instant) ? share : 1
            let measured = reference / (newContent * Double(content.activity))
            let observed = mayGrow ? measured : min(measured, max(previous, 1))
            // The share rises at once and falls over a few frames.
            share = min(max(observed > previous ? observed : 0.5 * previous + 0.5 * observed, 0.02), isLayered ? 2 : 4)
            last = instant
            (lastActivity, lastQuantizer) = (content.activity, quantizer)
        }
    }

    /// Learns from a band of drawn content, which is new for the most part. It counts half if it was
    /// larger than predicted, and a tenth if it was smaller, as a part of it may have moved.
    mutating func learn(
        fromNew content: ContentClassifier, of total: Int, quantizer: Int, bytes: Int
    ) {
        guard content.isDrawn, content.activity > 20_000 else { return }
        let reference = Self.reference(content, of: total, quantizer: quantizer, bytes: bytes)
        let observed = min(reference / Double(content.activity), 2 * newContent)
        let weight = observed > newContent ? 0.5 : 0.1
        newContent = min(max(newContent + (observed - newContent) * weight, 0.015), 0.2)
    }

    /// What the frame's active blocks would have taken at quantizer 20, in bytes.
    private static func reference(
        _ content: ContentClassifier, of total: Int, quantizer: Int, bytes: Int
    ) -> Double {
        max(Double(bytes) - Double(total) * bytesPerInactiveBlock, 1) / scale(quantizer, isDrawn: content.isDrawn)
    }

    private func reference(_ content: ContentClassifier, isKeyframe: Bool, at instant: MediaInstant) -> Double {
        let new = newContent * Double(content.activity)
        return isKeyframe || !isContinuous(at: instant) ? new : new * share
    }

    /// The share of the last inter frame holds for 250 ms; after a longer pause the content is assumed to be new.
    private func isContinuous(at instant: MediaInstant) -> Bool {
        guard let last else { return false }
        return instant - last < .milliseconds(250)
    }

    /// Size at a quantizer in relation to quantizer 20, measured at 0, 8, 16 ... 64 with pages of text and with video.
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

/// Token bucket for frame bytes: the bitrate fills it and encoded frames drain it.
struct FrameByteBudget {
    /// The credit in bytes; negative after a frame that was larger than the credit.
    private(set) var credit = 0
    private var last: MediaInstant?
    private var rate = 0.0

    /// At a lower bitrate what is overdrawn shrinks with it: it says for how long the encoder pauses, and how much
    /// waits to be sent is known to the sender.
    /// - Parameter capacity: the largest credit, in bytes.
    mutating func fill(at instant: MediaInstant, bitrate: Bitrate, capacity: Int) {
        let rate = Double(min(max(bitrate.bitsPerSecond, 0), 1_000_000_000)) / 8
        let elapsed = last.map { min(max((instant - $0).inSeconds, 0), 10) } ?? 10
        // An interval below one microsecond adds no credit, so its time must not be consumed.
        guard elapsed > 1e-6 || last == nil else { return }
        last = instant
        if credit < 0, rate < self.rate { credit = Int(Double(credit) * rate / self.rate) }
        self.rate = rate
        credit = min(credit + Int(rate * elapsed), capacity)
    }

    mutating func spend(_ bytes: Int) { credit -= bytes }
}
