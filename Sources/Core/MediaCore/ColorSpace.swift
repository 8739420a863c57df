/// How the samples of a video stand for colours, told beside the stream: codes of ITU-T H.273, and the siting of
/// chroma. Compare libwebrtc's `api/video/color_space.h`, without its HDR metadata.
public struct ColorSpace: Hashable, Sendable {
    /// libwebrtc's `RangeID`; Matroska's Range has the same numbers.
    public enum Range: UInt8, Hashable, Sendable {
        case unspecified, limited, full
        /// By matrix and transfer.
        case derived
    }

    /// libwebrtc's `ChromaSiting`; Matroska's ChromaSitingHorz and ChromaSitingVert have the same numbers.
    public enum ChromaSiting: UInt8, Hashable, Sendable { case unspecified, collocated, half }

    /// `ColourPrimaries`: H.273 table 2.
    public let primaries: UInt8
    /// `TransferCharacteristics`: H.273 table 3.
    public let transfer: UInt8
    /// `MatrixCoefficients`: H.273 table 4.
    public let matrix: UInt8
    public let range: Range
    public let horizontalSiting: ChromaSiting
    public let verticalSiting: ChromaSiting

    /// The code of primaries, transfer and matrix that says nothing.
    public static let unspecified: UInt8 = 2
    private static let primaryCodes: Set<UInt8> = Set(1...12).subtracting([3]).union([22])
    private static let transferCodes: Set<UInt8> = Set(1...18).subtracting([3])
    private static let matrixCodes: Set<UInt8> = Set(0...14).subtracting([3])

    /// Codes that H.273 reserves count as unspecified.
    public init(
        primaries: UInt8 = unspecified, transfer: UInt8 = unspecified, matrix: UInt8 = unspecified,
        range: Range = .unspecified, horizontalSiting: ChromaSiting = .unspecified,
        verticalSiting: ChromaSiting = .unspecified
    ) {
        self.primaries = Self.primaryCodes.contains(primaries) ? primaries : Self.unspecified
        self.transfer = Self.transferCodes.contains(transfer) ? transfer : Self.unspecified
        self.matrix = Self.matrixCodes.contains(matrix) ? matrix : Self.unspecified
        self.range = range
        self.horizontalSiting = horizontalSiting
        self.verticalSiting = verticalSiting
    }
}

extension VideoColor {
    /// The colour of a picture whose stream says `self`: what is told beside the stream is valid, where something is.
    public func overridden(by space: ColorSpace?) -> VideoColor {
        guard let space else { return self }
        var color = self
        if space.matrix != ColorSpace.unspecified {
            color = VideoColor(matrixCoefficients: Int(space.matrix), isFullRange: isFullRange)
        }
        switch space.range {
        case .full: color.isFullRange = true
        case .limited: color.isFullRange = false
        case .derived, .unspecified: break
        }
        return color
    }
}
