/// How the samples of a video frame stand for colours: ITU-T H.273 sections 8.3 and 8.4.
public struct VideoColor: Hashable, Sendable {
    public enum Matrix: Hashable, Sendable {
        case bt601, bt709, bt2020

        /// The weights of red and blue in luma.
        fileprivate var weights: (red: Double, blue: Double) {
            switch self {
            case .bt601: (0.299, 0.114)
            case .bt709: (0.2126, 0.0722)
            case .bt2020: (0.2627, 0.0593)
            }
        }
    }

    public var matrix: Matrix
    /// Samples use all of 0...255, not 16...235 and 16...240.
    public var isFullRange: Bool

    /// What an ``I420Frame`` has.
    public static let limitedBT601 = VideoColor(matrix: .bt601, isFullRange: false)

    public init(matrix: Matrix, isFullRange: Bool) {
        self.matrix = matrix
        self.isFullRange = isFullRange
    }

    /// - Parameter code: `matrix_coefficients` of ITU-T H.273 table 4; unknown ones count as BT.601.
    public init(matrixCoefficients code: Int, isFullRange: Bool) {
        let matrix: Matrix =
            switch code {
            case 1: .bt709
            case 9, 10: .bt2020
            default: .bt601
            }
        self.init(matrix: matrix, isFullRange: isFullRange)
    }
}

extension I420Buffer {
    /// Converts all samples from another colour representation to BT.601 in limited range. The hues of BT.2020 are
    /// taken for those of BT.709.
    public func convert(from color: VideoColor) {
        guard color != .limitedBT601 else { return }
        let conversion = ColorConversion(color)
        for row in 0..<size.height / 2 {
            conversion.convert(
                upper: y + 2 * row * strideY, lower: y + (2 * row + 1) * strideY, u: u + row * strideC,
                v: v + row * strideC, columns: size.width / 2)
        }
    }
}

/// The coefficients of a conversion to BT.601 in limited range, in 1/65,536.
private struct ColorConversion {
    private static let one = 65_536.0
    private let blackLevel: Int32
    private let lumaScale: Int32
    private let lumaOfU: Int32
    private let lumaOfV: Int32
    private let uOfU: Int32
    private let uOfV: Int32
    private let vOfU: Int32
    private let vOfV: Int32

    init(_ color: VideoColor) {
        let from = color.matrix.weights
        let to = VideoColor.Matrix.bt601.weights
        let green = (from: 1 - from.red - from.blue, to: 1 - to.red - to.blue)
        // Red and blue exceed luma by these multiples of V and U.
        let (red, blue) = (2 * (1 - from.red), 2 * (1 - from.blue))
        let greenOfU = -from.blue * blue / green.from
        let greenOfV = -from.red * red / green.from
        // What U and V add to the luma of BT.601, whose scale is 0...1, as is theirs -0.5...0.5.
        let u = to.blue * blue + green.to * greenOfU
        let v = to.red * red + green.to * greenOfV
        let luma = color.isFullRange ? 219.0 / 255 : 1
        let chroma = color.isFullRange ? 224.0 / 255 : 1
        // A sample of chroma is 1/224 or 1/255 of its scale, one of luma 1/219.
        let chromaToLuma = 219 / (color.isFullRange ? 255.0 : 224)
        func fixed(_ value: Double) -> Int32 { Int32((value * Self.one).rounded()) }
        blackLevel = color.isFullRange ? 0 : 16
        lumaScale = fixed(luma)
        lumaOfU = fixed(u * chromaToLuma)
        lumaOfV = fixed(v * chromaToLuma)
        uOfU = fixed((blue - u) / (2 * (1 - to.blue)) * chroma)
        uOfV = fixed(-v / (2 * (1 - to.blue)) * chroma)
        vOfU = fixed(-u / (2 * (1 - to.red)) * chroma)
        vOfV = fixed((red - v) / (2 * (1 - to.red)) * chroma)
    }

    /// Converts two rows of luma with their row of chroma.
    func convert(
        upper: UnsafeMutablePointer<UInt8>, lower: UnsafeMutablePointer<UInt8>, u: UnsafeMutablePointer<UInt8>,
        v: UnsafeMutablePointer<UInt8>, columns: Int
    ) {
        for column in 0..<columns {
            let (blue, red) = (Int32(u[column]) &- 128, Int32(v[column]) &- 128)
            u[column] = Self.sample(uOfU &* blue &+ uOfV &* red, 128)
            v[column] = Self.sample(vOfU &* blue &+ vOfV &* red, 128)
            let added = lumaOfU &* blue &+ lumaOfV &* red
            for place in 2 * column..<2 * column + 2 {
                upper[place] = Self.sample(lumaScale &* (Int32(upper[place]) &- blackLevel) &+ added, 16)
                lower[place] = Self.sample(lumaScale &* (Int32(lower[place]) &- blackLevel) &+ added, 16)
            }
        }
    }

    private static func sample(_ value: Int32, _ zero: Int32) -> UInt8 {
        UInt8(truncatingIfNeeded: min(max((value &+ 32_768) >> 16 &+ zero, 0), 255))
    }
}
