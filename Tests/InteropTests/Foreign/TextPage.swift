import Foundation
import MediaCore

/// A page of dots like small text, black on white, that covers a display.
struct TextPage {
    static let size = PixelSize(width: 1_280, height: 720)
    /// Row by row; true is black.
    private let dots: [Bool]

    init() {
        var dots = [Bool](repeating: false, count: Self.size.width * Self.size.height)
        var state: UInt64 = 20
        for top in stride(from: 8, to: Self.size.height - 16, by: 13) {
            for left in stride(from: 8, to: Self.size.width - 16, by: 8) {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let glyph = state >> 20
                if glyph >> 40 & 7 == 0 { continue }
                for dot in 0..<35 where glyph >> UInt64(dot) & 1 == 1 {
                    dots[(top + dot / 5) * Self.size.width + left + dot % 5] = true
                }
            }
        }
        self.dots = dots
    }

    /// The bitmap for `xsetroot -bitmap`, which requires short lines.
    var bitmap: String {
        var bytes: [String] = []
        for start in stride(from: 0, to: dots.count, by: 8) {
            let byte = (0..<8).reduce(0) { $0 | (dots[start + $1] ? 1 << $1 : 0) }
            bytes.append("0x" + String(byte, radix: 16))
        }
        return "#define page_width \(Self.size.width)\n#define page_height \(Self.size.height)\n"
            + "static char page_bits[] = {\n\(bytes.joined(separator: ",\n")) };\n"
    }

    /// The frame that a player should receive.
    var picture: ReceivedVideo? {
        let chroma = [UInt8](repeating: 128, count: dots.count / 2)
        return ReceivedVideo(dots.map { $0 ? 16 : 235 } + chroma, size: [Self.size.width, Self.size.height])
    }
}
