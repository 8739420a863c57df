import Glibc
import MediaCore

/// The activity on a 1920 x 1080 screen full of text, thirty times a second.
enum Scene: String, CaseIterable {
    /// Nothing changes, but a frame is encoded.
    case none
    /// A bar code of 620 x 48 pixels, new each time.
    case stamp
    /// One character.
    case typing
    /// A terminal of 720 x 480 scrolls by a line.
    case terminal
    /// The terminal scrolls by three lines.
    case terminalFast
    /// The whole page scrolls by a line.
    case scroll
    /// Each frame shows another page.
    case page
    /// A moving image of 1280 x 720.
    case video
}

/// A tall page of text and the canvas that shows a part of it.
final class Screen {
    static let size = PixelSize(width: 1_920, height: 1_080)
    static let pageHeight = Page.size.height
    static let lineHeight = 15

    let canvas = I420Buffer(size)
    private var page = Page()
    private var random = UInt64(88_172_645_463_325_252)
    private var offset = 0
    private var frame = 0
    /// The dragged one.
    private var window: PixelRect?

    /// - Parameter picture: nil makes a page of random letters.
    init(page picture: Page? = nil) {
        if let picture { page = picture } else { writeLetters() }
        showPage(PixelRect(Self.size))
    }

    private func writeLetters() {
        for top in stride(from: 3, to: Self.pageHeight - 12, by: Self.lineHeight) {
            let length = Int(next() % 200) + 20
            for letter in 0..<length where 3 + letter * 8 < Self.size.width - 9 {
                let glyph = next()
                if glyph >> 61 == 0 { continue }
                for dot in 0..<45 where glyph >> dot & 1 == 1 {
                    let tone = 16 + (UInt64(dot) &* 37 &+ glyph >> 48) % 40
                    page.luma[(top + dot / 5) * Self.size.width + 3 + letter * 8 + dot % 5] = UInt8(tone)
                }
            }
        }
    }

    private func next() -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random
    }

    /// Draws the next frame of the scene and returns the changed blocks.
    func step(_ scene: Scene) -> BlockMap {
        frame += 1
        var changed = BlockMap(Self.size)
        switch scene {
        case .none: break
        case .stamp:
            let rect = PixelRect(x: 100, y: 100, width: 620, height: 48)
            for bar in 0..<31 {
                let tone: UInt8 = next() & 1 == 0 ? 16 : 235
                fill(PixelRect(x: rect.x + bar * 20, y: rect.y, width: 20, height: rect.height), tone)
            }
            changed.insert(rect)
        case .typing:
            let rect = PixelRect(x: 8 + frame * 8 % 1_800, y: 500, width: 5, height: 9)
            for row in rect.y..<rect.maxY {
                for column in rect.x..<rect.maxX {
                    canvas.y[row * canvas.strideY + column] = next() & 1 == 0 ? 16 : 235
                }
            }
            changed.insert(rect)
        case .terminal, .terminalFast:
            let rect = PixelRect(x: 96, y: 96, width: 720, height: 480)
            scroll(by: Self.lineHeight * (scene == .terminal ? 1 : 3))
            showPage(rect)
            changed.insert(rect)
        case .scroll, .page:
            scroll(by: scene == .scroll ? Self.lineHeight : 1_000)
            showPage(PixelRect(Self.size))
            changed.fill()
        case .video:
            let rect = PixelRect(x: 320, y: 160, width: 1_280, height: 720)
            showFilm(rect)
            changed.insert(rect)
        }
        return changed
    }

    /// Scrolls the whole page.
    func scroll(pixels: Int) -> BlockMap {
        scroll(by: pixels)
        showPage(PixelRect(Self.size))
        return BlockMap(Self.size, filled: true)
    }

    /// Shows other text in the last rows.
    func renew(lastRows rows: Int) -> BlockMap {
        offset = (offset + rows) % (Self.pageHeight - Self.size.height)
        let rect = PixelRect(x: 0, y: Self.size.height - rows, width: Self.size.width, height: rows)
        showPage(rect)
        var changed = BlockMap(Self.size)
        changed.insert(rect)
        return changed
    }

    /// Moves a window of other text, with a frame, over the page.
    func drag(to rect: PixelRect) -> BlockMap {
        var changed = BlockMap(Self.size)
        if let window {
            showPage(window)
            changed.insert(window)
        }
        window = rect
        fill(rect, 90)
        let inner = PixelRect(x: rect.x + 4, y: rect.y + 24, width: rect.width - 8, height: rect.height - 28)
        page.show(row: 4_000, in: inner, of: canvas)
        changed.insert(rect)
        return changed
    }

    private func scroll(by lines: Int) {
        offset += lines
        if offset + Self.size.height > Self.pageHeight { offset = 0 }
    }

    private func showPage(_ rect: PixelRect) { page.show(row: rect.y + offset, column: rect.x, in: rect, of: canvas) }

    private func fill(_ rect: PixelRect, _ tone: UInt8) {
        for row in rect.y..<rect.maxY {
            (canvas.y + row * canvas.strideY + rect.x).update(repeating: tone, count: rect.width)
        }
    }

    /// Draws rotating gradients with a little noise.
    private func showFilm(_ rect: PixelRect) {
        for row in 0..<rect.height {
            let line = canvas.y + (row + rect.y) * canvas.strideY + rect.x
            for column in 0..<rect.width {
                let (red, green, blue) = film(column, row)
                line[column] = UInt8(16 + (red * 66 + green * 129 + blue * 25) / 256 + Int(next() & 3) * 220 / 256)
            }
        }
        for row in 0..<rect.height / 2 {
            let start = (row + rect.y / 2) * canvas.strideC + rect.x / 2
            for column in 0..<rect.width / 2 {
                let (red, green, blue) = film(column * 2, row * 2)
                canvas.u[start + column] = UInt8(128 + (blue * 112 - red * 38 - green * 74) / 256)
                canvas.v[start + column] = UInt8(128 + (red * 112 - green * 94 - blue * 18) / 256)
            }
        }
    }

    private func film(_ x: Int, _ y: Int) -> (red: Int, green: Int, blue: Int) {
        (
            wave[(x + y + frame * 6) & 1_023], wave[(2 * x - y + frame * 4) & 1_023],
            wave[(x - 3 * y + frame * 9) & 1_023]
        )
    }
    private let wave = (0..<1_024).map { 128 + Int(110 * sin(Double($0) * .pi / 512)) }
}
