import MediaCore

extension VP8Encoder {
    /// The sizes and quantizers that frames may have.
    struct Budget {
        /// The largest size of a frame after a pause, in bytes.
        var burst: Int
        /// The size that is always allowed, in bytes: 1/30 s at the bitrate.
        var share: Int
        /// How far frames may exceed the bitrate before one is dropped, in bytes.
        var debt: Int
        private let contentHint: ContentHint
        /// Frames of layer 1 are made while the base layer owes more than `debt`.
        private let isLayered: Bool

        init(_ bitrate: Bitrate, _ byteBudget: Int?, _ contentHint: ContentHint, isLayered: Bool = false) {
            let rate = min(max(bitrate.bitsPerSecond, 8_000), 1_000_000_000) / 8
            burst = max(byteBudget ?? rate / 4, 500)
            share = min(rate / 30, burst)
            // Text: large sharp frames, then a pause; at most 333 ms ahead of the bitrate. Motion: 125 ms, for a steady
            // rate.
            debt = contentHint == .text ? rate / 3 : rate / 8
            self.contentHint = contentHint
            self.isLayered = isLayered
        }

        /// The size that a frame may have: what is saved, at least `share`, or less to pay back what is owed.
        func bytes(credit: Int) -> Int {
            credit < 0 && !isLayered ? share - min(share / 4, -credit / 8) : min(max(credit, share), burst)
        }

        /// The quantizers that a frame may use. Video gets no low ones: it changes again, or is refined when it stops.
        func range(_ content: ContentClassifier, isKeyframe: Bool, isContinuous: Bool = false) -> ClosedRange<Int> {
            if isContinuous { return 40...63 }
            let best = content.isDrawn || isKeyframe ? sharpQuantizer : (contentHint == .text ? 14 : 20)
            return best...(contentHint == .motion ? 58 : isKeyframe ? 52 : 44)
        }
    }
}
