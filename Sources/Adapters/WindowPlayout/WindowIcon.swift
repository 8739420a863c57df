import CSDL
public import MediaCore

/// The icon of a window, in the taskbar and where windows are switched.
public struct WindowIcon: Equatable, Sendable {
    let size: PixelSize
    /// 0xAARRGGBB in rows from the top left, without padding.
    let pixels: [UInt32]

    /// Of each side, in pixels.
    public static let sideLimit = 256
    private static let side = 64

    /// - Parameter pixels: 0xAARRGGBB in rows from the top left, not premultiplied.
    /// - Returns: nil if the size does not fit, or is more than 256 pixels each way.
    public init?(_ pixels: [UInt32], size: PixelSize) {
        guard (1...Self.sideLimit).contains(size.width), (1...Self.sideLimit).contains(size.height),
            pixels.count == size.width * size.height
        else { return nil }
        self.size = size
        self.pixels = pixels
    }

    /// share's own: a screen with a triangle.
    private init() {
        size = PixelSize(width: Self.side, height: Self.side)
        pixels = Self.drawing()
    }

    static let share = WindowIcon()

    private static func drawing() -> [UInt32] {
        var pixels = [UInt32](repeating: 0, count: side * side)
        func fill(_ columns: Range<Int>, _ rows: Range<Int>, _ colour: UInt32) {
            for y in rows { for x in columns { pixels[y * side + x] = colour } }
        }
        fill(2..<62, 8..<48, 0xFF_E6_E6_E6)
        fill(6..<58, 12..<44, 0xFF_1F_6F_EB)
        fill(28..<36, 48..<54, 0xFF_E6_E6_E6)
        fill(18..<46, 54..<58, 0xFF_E6_E6_E6)
        for row in 0..<20 { fill(25..<(25 + min(row, 19 - row) * 2 + 1), (18 + row)..<(19 + row), 0xFF_FF_FF_FF) }
        return pixels
    }

    func set(_ window: OpaquePointer) {
        var pixels = pixels
        pixels.withUnsafeMutableBytes { bytes in
            guard
                let surface = SDL_CreateRGBSurfaceWithFormatFrom(
                    bytes.baseAddress, Int32(size.width), Int32(size.height), 32, Int32(size.width * 4),
                    SDL_PIXELFORMAT_ARGB8888.rawValue)
            else { return }
            SDL_SetWindowIcon(window, surface)
            SDL_FreeSurface(surface)
        }
    }
}
