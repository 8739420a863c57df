/// Where a small picture lies in a frame.
public enum OverlayPlace: Hashable, Sendable {
    case topLeft
    case topRight
    case bottomLeft
    case bottomRight
    /// The upper left corner, in pixels of the frame.
    case point(x: Int, y: Int)

    private static let corners: [(String, OverlayPlace)] = [
        ("top-left", .topLeft), ("top-right", .topRight), ("bottom-left", .bottomLeft),
        ("bottom-right", .bottomRight),
    ]

    /// Reads `top-left`, `top-right`, `bottom-left`, `bottom-right` or `100,50`.
    /// - Returns: nil for anything else.
    public init?(parsing text: String) {
        if let corner = Self.corners.first(where: { $0.0 == text }) {
            self = corner.1
            return
        }
        let numbers = text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let x = numbers[0], let y = numbers[1], (0...16_383).contains(x),
            (0...16_383).contains(y)
        else { return nil }
        self = .point(x: x, y: y)
    }

    /// The text that `init(parsing:)` reads.
    public var text: String {
        if case .point(let x, let y) = self { return "\(x),\(y)" }
        return Self.corners.first { $0.1 == self }?.0 ?? ""
    }

    /// The pixels between a picture in a corner and the frame's edges, if the frame is large enough.
    static let margin = 16

    /// The place of a picture in a frame: inside of it, the origin even, in corners on a whole block if that fits.
    /// - Returns: nil if the picture is larger than the frame.
    public func rect(of picture: PixelSize, in frame: PixelSize) -> PixelRect? {
        let (right, bottom) = (frame.width - picture.width, frame.height - picture.height)
        guard right >= 0, bottom >= 0, picture.width > 0, picture.height > 0 else { return nil }
        /// The near and the far place on one axis.
        func ends(_ room: Int) -> (near: Int, far: Int) {
            let margin = room >= Self.margin * 2 ? Self.margin : 0
            let far = room - margin
            return (margin, far >= BlockMap.side ? far & ~(BlockMap.side - 1) : far & ~1)
        }
        let (across, down) = (ends(right), ends(bottom))
        let (x, y) =
            switch self {
            case .topLeft: (across.near, down.near)
            case .topRight: (across.far, down.near)
            case .bottomLeft: (across.near, down.far)
            case .bottomRight: (across.far, down.far)
            case .point(let x, let y): (min(max(x, 0), right) & ~1, min(max(y, 0), bottom) & ~1)
            }
        return PixelRect(x: x, y: y, width: picture.width, height: picture.height)
    }
}

/// How large a small picture in a frame is. Its height follows from its own proportions.
public enum OverlaySize: Hashable, Sendable {
    /// Of the frame's width, 5...100.
    case percent(Int)
    /// The width in pixels, 32...8,192.
    case width(Int)

    public static let standard = OverlaySize.percent(20)

    /// Reads `20%` or `320`.
    /// - Returns: nil for anything else, and outside of the limits.
    public init?(parsing text: String) {
        if text.hasSuffix("%"), let percent = Int(text.dropLast()), (5...100).contains(percent) {
            self = .percent(percent)
        } else if let width = Int(text), (32...8_192).contains(width) {
            self = .width(width)
        } else {
            return nil
        }
    }

    /// The text that `init(parsing:)` reads.
    public var text: String {
        switch self {
        case .percent(let percent): "\(percent)%"
        case .width(let width): "\(width)"
        }
    }

    /// The size of a picture in a frame, which it never exceeds. The width is of whole blocks where that fits.
    /// - Parameter original: the picture's own size, for its proportions.
    /// - Returns: nil if less than a block would be left.
    public func size(of original: PixelSize, in frame: PixelSize) -> PixelSize? {
        guard original.width > 0, original.height > 0 else { return nil }
        let wanted =
            switch self {
            case .percent(let percent): frame.width * percent / 100
            case .width(let width): width
            }
        // As high as the frame at most.
        let widest = min(frame.width, frame.height * original.width / original.height)
        let block = BlockMap.side
        let width = min(max((wanted + block / 2) & ~(block - 1), block), widest & ~1)
        let height = min(width * original.height / original.width, frame.height) & ~1
        return width >= block && height >= 2 ? PixelSize(width: width, height: height) : nil
    }
}
