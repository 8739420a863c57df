import Glibc
import MediaCore
import WindowPlayout

/// A desktop that a person could have in front of them, drawn at 30 frames a second: code that is typed, a chart that
/// grows, a moving picture, a page that is scrolled, a log.
struct DemoDesktop {
    static let size = PixelSize(width: 1_920, height: 1_080)
    static let framesPerSecond = 30

    private let window: DrawingWindow
    private var editor: DemoEditor
    private var log: DemoLog
    private var chart: DemoChart
    private let movie: DemoMovie
    private var page: DemoPage

    init() throws(SourceFailure) {
        window = try DrawingWindow(title: "share-lab demo", Self.size)
        window.fill(PixelRect(Self.size), from: 0x1B2A49, to: 0x4A6C8C)
        window.fill(PixelRect(x: 0, y: 0, width: Self.size.width, height: 40), 0x10151F)
        window.write("share demo", x: 20, y: 8, pixels: 18, color: 0xE8EAED)
        editor = DemoEditor(PixelRect(x: 40, y: 72, width: 900, height: 640), in: window)
        log = DemoLog(PixelRect(x: 40, y: 744, width: 900, height: 296), in: window)
        chart = DemoChart(PixelRect(x: 980, y: 72, width: 900, height: 420), in: window)
        movie = DemoMovie(PixelRect(x: 980, y: 524, width: 430, height: 516), in: window)
        page = DemoPage(PixelRect(x: 1_450, y: 524, width: 430, height: 516), in: window)
    }

    /// "08:05".
    fileprivate static func time(_ first: Int, _ second: Int) -> String {
        String(first).padded(to: 2, before: "0") + ":" + String(second).padded(to: 2, before: "0")
    }

    /// Draws what changes with a frame, and shows it.
    /// - Returns: false once the window has to close.
    mutating func draw(frame: Int) -> Bool {
        if frame.isMultiple(of: Self.framesPerSecond) {
            let seconds = frame / Self.framesPerSecond
            let clock = PixelRect(x: Self.size.width - 100, y: 0, width: 100, height: 40)
            window.fill(clock, 0x10151F)
            window.write(
                Self.time(seconds / 60, seconds % 60), x: clock.x + 20, y: 8, pixels: 18, color: 0xE8EAED)
        }
        editor.draw(frame, in: window)
        log.draw(frame, in: window)
        chart.draw(frame, in: window)
        movie.draw(frame, in: window)
        page.draw(frame, in: window)
        return window.present()
    }
}

extension DrawingWindow {
    /// Draws the frame of a window with its title.
    /// - Returns: the area below the title.
    func open(_ place: PixelRect, title: String, color: UInt32) -> PixelRect {
        let bar = 34
        fill(PixelRect(x: place.x - 1, y: place.y - 1, width: place.width + 2, height: place.height + 2), 0x0B0E14)
        fill(PixelRect(x: place.x, y: place.y, width: place.width, height: bar), 0x2A303C)
        for (index, dot) in [UInt32(0xFF5F57), 0xFEBC2E, 0x28C840].enumerated() {
            fill(PixelRect(x: place.x + 14 + index * 22, y: place.y + 11, width: 12, height: 12), dot)
        }
        write(title, x: place.x + 92, y: place.y + 7, pixels: 16, color: 0xC8CDD6)
        let area = PixelRect(x: place.x, y: place.y + bar, width: place.width, height: place.height - bar)
        fill(area, color)
        return area
    }
}

/// Lines of a terminal, which move up as new ones come.
private struct DemoLog {
    private static let background: UInt32 = 0x0C0F14
    private static let pixels = 17
    private static let lineHeight = 23
    /// Frames between two lines.
    private static let pause = 12

    private let area: PixelRect
    private var count = 0

    init(_ place: PixelRect, in window: DrawingWindow) {
        let inner = window.open(place, title: "Terminal", color: Self.background)
        area = PixelRect(
            x: inner.x + 12, y: inner.y + 10, width: inner.width - 24,
            height: (inner.height - 20) / Self.lineHeight * Self.lineHeight)
    }

    mutating func draw(_ frame: Int, in window: DrawingWindow) {
        guard frame.isMultiple(of: Self.pause) else { return }
        let rows = area.height / Self.lineHeight
        let row = min(count, rows - 1)
        let last = PixelRect(
            x: area.x, y: area.y + row * Self.lineHeight, width: area.width, height: Self.lineHeight)
        if count >= rows { window.scroll(area, by: Self.lineHeight) }
        window.fill(last, Self.background)
        let names = [
            "VP8Packetizer", "BandwidthEstimator", "ICEAgent", "OpusFrameDecoder", "KnockTable", "JitterBuffer",
        ]
        let text =
            count == 0 ? "$ swift build" : "[\(count)/\(count + 40)] Compiling \(names[count % names.count]).swift"
        window.write(
            text, x: last.x, y: last.y, pixels: Self.pixels, color: count == 0 ? 0xE6E6E6 : 0x8FD18F,
            family: .monospace,
            clip: last)
        count += 1
    }
}

/// A chart with a new column for each third frame.
private struct DemoChart {
    private static let background: UInt32 = 0xFCFCFD
    private static let columnWidth = 5

    private let plot: PixelRect
    private var column = 0

    init(_ place: PixelRect, in window: DrawingWindow) {
        let area = window.open(place, title: "Viewers today", color: Self.background)
        plot = PixelRect(x: area.x + 70, y: area.y + 24, width: area.width - 130, height: area.height - 70)
        for step in 0...4 {
            let y = plot.maxY - plot.height * step / 4
            window.write("\(step * 50)", x: area.x + 24, y: y - 10, pixels: 15, color: 0x5F6368)
        }
        for hour in 0...8 {
            window.write(
                DemoDesktop.time(8 + hour, 0), x: plot.x + plot.width * hour / 8 - 18, y: plot.maxY + 10, pixels: 15,
                color: 0x5F6368)
        }
        clear(in: window)
    }

    private func clear(in window: DrawingWindow) {
        window.fill(plot, Self.background)
        for step in 0...4 {
            let y = plot.maxY - plot.height * step / 4
            window.fill(PixelRect(x: plot.x, y: min(y, plot.maxY - 1), width: plot.width, height: 1), 0xDADCE0)
        }
    }

    mutating func draw(_ frame: Int, in window: DrawingWindow) {
        guard frame.isMultiple(of: 3) else { return }
        if (column + 1) * Self.columnWidth > plot.width {
            column = 0
            clear(in: window)
        }
        let x = Double(column)
        let share = 0.45 + 0.25 * sin(x / 23) + 0.12 * sin(x / 7 + 1) + 0.05 * sin(x / 2.3)
        let height = Int(Double(plot.height) * share)
        let bar = PixelRect(
            x: plot.x + column * Self.columnWidth, y: plot.maxY - height, width: Self.columnWidth - 1, height: height)
        window.fill(bar, from: 0x4C8DF6, to: 0xB9D2FB)
        column += 1
    }
}

/// A sun that goes over hills, as in a film.
private struct DemoMovie {
    private let area: PixelRect

    init(_ place: PixelRect, in window: DrawingWindow) {
        area = window.open(place, title: "Evening.webm", color: 0)
    }

    func draw(_ frame: Int, in window: DrawingWindow) {
        let (width, height) = (area.width, area.height)
        let time = Double(frame) / 30
        let sun = (
            x: Int(Double(width) * (0.5 + 0.4 * sin(time / 4))), y: Int(Double(height) * (0.35 + 0.1 * cos(time / 3)))
        )
        let hills = [
            (0.60, 30.0, 90.0, 12.0, UInt32(0x6B4E71)), (0.72, 24, 60, 34, 0x4A3B5C), (0.86, 16, 40, 70, 0x2B2440),
        ]
        let edges = hills.map { base, height, length, speed, color in
            (
                (0..<width).map {
                    Int(Double(area.height) * base + height * sin((Double($0) + time * speed) / length))
                }, color
            )
        }
        window.paint(area) { x, y in
            for (edge, color) in edges.reversed() where y >= edge[x] { return color }
            let distance = (x - sun.x) * (x - sun.x) + (y - sun.y) * (y - sun.y)
            if distance < 1_600 { return 0xFFE9A8 }
            let glow = max(0, 120 - distance / 160)
            let (red, green, blue) = (
                min(255, 96 + 150 * y / height + glow), min(255, 70 + 90 * y / height + glow / 2), 110 + 20 * y / height
            )
            return UInt32(red << 16 | green << 8 | blue)
        }
    }
}

/// An article that is scrolled by two pixels a frame, with rests.
private struct DemoPage {
    private static let background: UInt32 = 0xFFFFFF
    private static let lineHeight = 26
    private static let step = 2
    private static let lines = """
        # How a screen travels
        A host captures only what has changed.
        The server tells of each rectangle that a
        program draws, and nothing else is read.

        Each change is encoded at once, as VP8,
        with few bits for motion and more for
        what stays: letters are sharp again
        within a tenth of a second.

        # Who may watch
        Whoever has the link may knock. The host
        sees a name and four words, and answers
        yes or no. Nothing is sent before.

        # How it gets through
        ICE looks for a path between the two
        machines; over a relay it goes only if
        there is no other. Packets are encrypted
        from end to end (DTLS and SRTP).

        # What is lost
        A lost packet is sent once more, or the
        next frame refers to one that has
        arrived. There is no freeze, and no
        key frame for everybody else.

        """.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }

    private let area: PixelRect
    private var offset = 0

    init(_ place: PixelRect, in window: DrawingWindow) {
        let inner = window.open(place, title: "How it works", color: Self.background)
        area = PixelRect(x: inner.x + 18, y: inner.y + 8, width: inner.width - 36, height: inner.height - 16)
        write(area, in: window)
    }

    /// Draws the lines that are in a part of the area.
    private func write(_ part: PixelRect, in window: DrawingWindow) {
        window.fill(part, Self.background)
        let first = (offset + part.y - area.y) / Self.lineHeight
        for line in first...(offset + part.maxY - area.y) / Self.lineHeight {
            let text = Self.lines[line % Self.lines.count]
            let isHeading = text.hasPrefix("# ")
            window.write(
                isHeading ? String(text.dropFirst(2)) : text, x: area.x, y: area.y + line * Self.lineHeight - offset,
                pixels: isHeading ? 20 : 17, color: isHeading ? 0x1A73E8 : 0x202124, clip: part)
        }
    }

    mutating func draw(_ frame: Int, in window: DrawingWindow) {
        guard frame % 150 >= 60 else { return }
        offset += Self.step
        window.scroll(area, by: Self.step)
        write(PixelRect(x: area.x, y: area.maxY - Self.step, width: area.width, height: Self.step), in: window)
    }
}
