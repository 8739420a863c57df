/// The probabilities that a decoder keeps from one frame to the next (RFC 6386 section 9.11, refresh_entropy_probs).
public struct VP8EntropyState: Equatable, Sendable {
    /// Of coefficients, in the order of section 13.4.
    private(set) var coefficients: [UInt8] = []
    /// Of vectors (section 17.2): 19 of rows, 19 of columns.
    private(set) var vectors: [UInt8] = []
    /// Of the modes of intra macroblocks in inter frames (section 16.2).
    private(set) var lumaModes: [UInt8] = []
    private(set) var chromaModes: [UInt8] = []

    /// What a key frame begins with.
    public init() { reset() }

    private mutating func reset() {
        coefficients = VP8Probabilities.defaultCoefficients
        vectors = VP8Probabilities.defaultVectors
        lumaModes = [112, 86, 140, 37]
        chromaModes = [162, 101, 204]
    }

    /// Follows a frame, by its header (section 19.2).
    /// - Returns: false, if it is not one. What is known then is of no use.
    public mutating func note(_ frame: UnsafeRawBufferPointer) -> Bool {
        guard frame.count > 3 else { return false }
        let tag = Int(frame[0]) | Int(frame[1]) << 8 | Int(frame[2]) << 16
        let isKeyframe = tag & 1 == 0
        let start = isKeyframe ? 10 : 3
        guard frame.count >= start + tag >> 5 else { return false }
        var decoder = VP8BoolDecoder(UnsafeRawBufferPointer(rebasing: frame[start..<start + tag >> 5]))
        if isKeyframe {
            reset()
            // Colour space and clamping.
            _ = decoder.read(bits: 2)
        }
        decoder.skipSegments()
        decoder.skipFilterAndQuantizers()
        if !isKeyframe { decoder.skipBuffers() }
        let isKept = decoder.readFlag()
        // Whether the frame becomes the last one.
        if !isKeyframe { _ = decoder.readFlag() }
        var changed = self
        changed.readCoefficients(&decoder)
        // That macroblocks are skipped.
        if decoder.readFlag() { _ = decoder.read(bits: 8) }
        if !isKeyframe { changed.readModes(&decoder) }
        if isKept { self = changed }
        return !decoder.isExhausted
    }

    private mutating func readCoefficients(_ decoder: inout VP8BoolDecoder) {
        for index in coefficients.indices where decoder.read(probability: VP8Probabilities.coefficientUpdate(index)) {
            coefficients[index] = UInt8(decoder.read(bits: 8))
        }
    }

    private mutating func readModes(_ decoder: inout VP8BoolDecoder) {
        // Of intra macroblocks, the last frame and golden.
        _ = decoder.read(bits: 24)
        if decoder.readFlag() { for index in 0..<4 { lumaModes[index] = UInt8(decoder.read(bits: 8)) } }
        if decoder.readFlag() { for index in 0..<3 { chromaModes[index] = UInt8(decoder.read(bits: 8)) } }
        for index in vectors.indices where decoder.read(probability: VP8Probabilities.vectorUpdate(index)) {
            let half = decoder.read(bits: 7)
            vectors[index] = half == 0 ? 1 : UInt8(half * 2)
        }
    }
}

extension VP8BoolDecoder {
    /// Section 9.3.
    fileprivate mutating func skipSegments() {
        guard readFlag() else { return }
        let (hasMap, hasData) = (readFlag(), readFlag())
        if hasData {
            _ = readFlag()
            for bits in [7, 6] { for _ in 0..<4 { skipSigned(bits) } }
        }
        if hasMap { for _ in 0..<3 where readFlag() { _ = read(bits: 8) } }
    }

    /// Sections 9.6 (the loop filter), 9.5 (partitions) and 9.6 (quantizers).
    fileprivate mutating func skipFilterAndQuantizers() {
        _ = read(bits: 1 + 6 + 3)
        if readFlag(), readFlag() { for _ in 0..<8 { skipSigned(6) } }
        _ = read(bits: 2 + 7)
        for _ in 0..<5 { skipSigned(4) }
    }

    /// Section 9.7.
    fileprivate mutating func skipBuffers() {
        let isStored = [readFlag(), readFlag()]
        for isStored in isStored where !isStored { _ = read(bits: 2) }
        // Signs.
        _ = read(bits: 2)
    }

    /// A flag, and if it is set a number and its sign.
    private mutating func skipSigned(_ bits: Int) { if readFlag() { _ = read(bits: bits + 1) } }
}
