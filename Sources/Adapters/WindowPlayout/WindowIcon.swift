import CSDL
import MediaCore

/// The window's icon, a screen with a triangle in 64 x 64 pixels.
enum WindowIcon {
    private static let side = 64

    /// ARGB in rows from the top left, without padding.
    static func pixels() -> [UInt32] {
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

    static func set(_ window: OpaquePointer) {
        var pixels = pixels()
        pixels.withUnsafeMutableBytes { bytes in
            guard
                let surface = SDL_CreateRGBSurfaceWithFormatFrom(
                    bytes.baseAddress, Int32(side), Int32(side), 32, Int32(side * 4),
                    SDL_PIXELFORMAT_ARGB8888.rawValue)
            else { return }
            SDL_SetWindowIcon(window, surface)
            SDL_FreeSurface(surface)
        }
    }
}
