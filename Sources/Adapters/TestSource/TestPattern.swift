public import MediaCore

/// The layout of `TestVideoSource`'s frames, which tests recognise after a lossy codec. BT.601, limited range.
///
///     +------+    # . 0 1 1 0 ... the counter     +-------+
///     | red  |                                    | green |   64 x 64 in each corner
///     +------+                                    +-------+
///                ....... dots like text ......                on mid grey (128, 128, 128)
///     +------+                                    +-------+
///     | blue |   ======= bar, moving =======      | white |
///     +------+                                    +-------+
///
/// - The corners: red (255, 0, 0), green (0, 255, 0), blue (0, 0, 255), white (255, 255, 255).
/// - The counter: 18 square cells in a row near the top: white, black, then 16 bits of the frame number, most
///   significant first, white is 1. A cell's side is 32 pixels, or 16 if the frame is narrower than 736.
/// - The dots: dark on white in the middle, static, as hard to encode as text.
/// - The bar: yellow (255, 255, 0), 32 x 64 pixels, in a black track between the lower corners. It moves 16 pixels to
///   the right with each frame, and from the right end back to the left.
///
/// Everything is aligned to blocks of 16 x 16 pixels, except the corners at the right and lower edges.
public struct TestPattern: Equatable, Sendable {
    public static let smallestSize = PixelSize(width: 448, height: 256)
    public static let cornerSide = 64
    static let bits = 16
    static let barWidth = 32

    public let size: PixelSize
    /// The cells of the counter: white, black, 16 bits.
    public let cells: [PixelRect]

    /// - Parameter size: even, at least `smallestSize`.
    public init(_ size: PixelSize) {
        precondition(
            size == size.even && size.width >= Self.smallestSize.width && size.height >= Self.smallestSize.height,
            "the test picture cannot be \(size.width) x \(size.height)")
        self.size = size
        let side = size.width < 736 ? 16 : 32
        let left = (size.width - (Self.bits + 2) * side) / 2 & ~15
        cells = (0..<Self.bits + 2).map { PixelRect(x: left + $0 * side, y: 16, width: side, height: side) }
    }

    public var red: PixelRect { corner(x: 0, y: 0) }
    public var green: PixelRect { corner(x: size.width - Self.cornerSide, y: 0) }
    public var blue: PixelRect { corner(x: 0, y: size.height - Self.cornerSide) }
    public var white: PixelRect { corner(x: size.width - Self.cornerSide, y: size.height - Self.cornerSide) }

    public var text: PixelRect {
        let left = (size.width / 4) & ~15
        let top = (size.height / 3) & ~15
        return PixelRect(x: left, y: top, width: (size.width / 2) & ~15, height: (size.height / 3) & ~15)
    }

    public var track: PixelRect {
        let left = Self.cornerSide + 32
        return PixelRect(
            x: left, y: (size.height - Self.cornerSide - 16) & ~15, width: (size.width - 2 * left) & ~15, height: 64)
    }

    public func bar(_ frame: Int) -> PixelRect {
        let steps = (track.width - Self.barWidth) / 16 + 1
        return PixelRect(
            x: track.x + frame % steps * 16, y: track.y, width: Self.barWidth, height: track.height)
    }

    /// Whether bit `index` (0 is the most significant of 16) of the frame number is 1, so that its cell is white.
    static func bit(_ index: Int, of frame: Int) -> Bool { frame >> (bits - 1 - index) & 1 == 1 }

    /// Reads the counter from the centre of each cell.
    /// - Returns: the frame number modulo 65,536; nil if the frame shows no counter.
    public func frameNumber(in frame: I420Frame) -> Int? {
        guard frame.size == size else { return nil }
        let levels = cells.map { cell in
            Int(frame.y[(cell.y + cell.height / 2) * frame.strideY + cell.x + cell.width / 2])
        }
        guard levels[0] > 180, levels[1] < 70 else { return nil }
        return levels.dropFirst(2).reduce(0) { $0 << 1 | ($1 > 125 ? 1 : 0) }
    }

    private func corner(x: Int, y: Int) -> PixelRect {
        PixelRect(x: x, y: y, width: Self.cornerSide, height: Self.cornerSide)
    }
}
