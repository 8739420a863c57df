import CSDL
import LinuxRuntime
import MediaCore

/// How the window looks.
extension QuestionDialog {
    func draw() {
        guard let surface = SDL_GetWindowSurface(window), let pixels = surface.pointee.pixels else { return }
        let size = PixelSize(width: Int(surface.pointee.w), height: Int(surface.pointee.h))
        let target = PixelSurface(pixels: pixels, stride: Int(surface.pointee.pitch), size: size)
        let all = PixelRect(size)
        target.fill(QuestionColor.background)
        for (text, x, y) in layout.texts { text.draw(into: target, x: x, y: y, clip: all) }
        drawScrolled(target)
        for (item, place) in layout.items {
            switch item {
            case .choice: break
            case .field(let index): drawField(index, place, target)
            case .button(let index):
                draw(button: question.answers[index], item, place, isMain: index == question.answers.count - 1, target)
            case .copy: draw(button: isCopied ? "Copied" : "Copy", item, place, isMain: false, target)
            }
        }
        drawSecondsLeft(target)
        if SDL_UpdateWindowSurface(window) == 0, shown == nil { shown = MonotonicClock.now }
    }

    private var line: Int { max(1, Int(layout.scale)) }

    private func drawScrolled(_ target: PixelSurface) {
        guard let (place, height) = layout.scrolled else { return }
        target.fill(place, QuestionColor.field)
        layout.terms?.draw(into: target, x: place.x + layout.gap, y: place.y + layout.gap - offset, clip: place)
        for (item, row) in layout.items {
            guard case .choice(let index) = item else { continue }
            let row = PixelRect(x: row.x, y: row.y - offset, width: row.width, height: row.height)
            let isChosen = item == focus || item == hovered
            if isChosen { target.fill(clipped(row, place), QuestionColor.line) }
            font.render(
                question.choices[index], pixels: layout.pixels(12), width: 4 * row.width, ink: QuestionColor.ink
            )?.draw(into: target, x: row.x + layout.gap, y: row.y + row.height / 4, clip: clipped(row, place))
        }
        target.frame(place, QuestionColor.line, width: line)
        guard height > place.height else { return }
        let bar = max(place.height * place.height / height, 8)
        let top = place.y + (place.height - bar) * offset / (height - place.height)
        target.fill(
            PixelRect(x: place.maxX - 4 * line, y: top, width: 3 * line, height: bar), QuestionColor.soft)
    }

    private func clipped(_ rect: PixelRect, _ area: PixelRect) -> PixelRect {
        let (top, bottom) = (max(rect.y, area.y), min(rect.maxY, area.maxY))
        return PixelRect(x: rect.x, y: top, width: rect.width, height: max(bottom - top, 0))
    }

    private func drawField(_ index: Int, _ place: PixelRect, _ target: PixelSurface) {
        let isFocused = focus == .field(index)
        target.fill(place, QuestionColor.field)
        target.frame(place, isFocused ? QuestionColor.accent : QuestionColor.line, width: line)
        let inside = PixelRect(
            x: place.x + layout.gap, y: place.y, width: place.width - 2 * layout.gap, height: place.height)
        let text = font.render(
            values[index], pixels: layout.pixels(13), width: 100_000, ink: QuestionColor.ink)
        // The end is what is being typed.
        let x = min(inside.x, inside.maxX - (text?.size.width ?? 0) - 2 * line)
        text?.draw(into: target, x: x, y: place.y + place.height / 5, clip: inside)
        guard isFocused else { return }
        target.fill(
            PixelRect(
                x: x + (text?.size.width ?? 0) + line, y: place.y + place.height / 4, width: line,
                height: place.height / 2), QuestionColor.ink)
    }

    private func draw(
        button text: String, _ item: QuestionLayout.Item, _ place: PixelRect, isMain: Bool, _ target: PixelSurface
    ) {
        target.fill(place, isMain ? QuestionColor.accent : QuestionColor.line)
        if item == focus || item == hovered { target.frame(place, QuestionColor.ink, width: 2 * line) }
        let ink = isMain ? QuestionColor.onAccent : QuestionColor.ink
        let rendered = font.render(text, pixels: layout.pixels(13), width: place.width, ink: ink)
        guard let rendered else { return }
        rendered.draw(
            into: target, x: place.x + (place.width - rendered.size.width) / 2,
            y: place.y + (place.height - rendered.size.height) / 2, clip: place)
    }

    private func drawSecondsLeft(_ target: PixelSurface) {
        guard let secondsLeft else { return }
        let text = font.render(
            "\(max(secondsLeft, 0)) s left", pixels: layout.pixels(11), width: 400, ink: QuestionColor.soft)
        guard let text else { return }
        text.draw(
            into: target, x: layout.margin, y: layout.size.height - layout.margin - text.size.height,
            clip: PixelRect(layout.size))
    }
}
