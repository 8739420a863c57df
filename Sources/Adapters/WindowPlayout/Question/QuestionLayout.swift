import MediaCore

/// Where everything of a question's window is, in pixels.
/// - Isolation: main thread.
struct QuestionLayout {
    /// What can be pressed, typed into or scrolled.
    enum Item: Equatable {
        case field(Int)
        case choice(Int)
        case button(Int)
        case copy
    }

    private(set) var size = PixelSize(width: 0, height: 0)
    /// The texts and where they are.
    private(set) var texts: [(text: RenderedText, x: Int, y: Int)] = []
    private(set) var items: [(item: Item, place: PixelRect)] = []
    /// The area of the terms or the choices, and the height of its content.
    private(set) var scrolled: (place: PixelRect, height: Int)?
    private(set) var terms: RenderedText?

    static let maximumWidth = 640

    let scale: Double
    var margin: Int { Int(24 * scale) }
    var gap: Int { Int(12 * scale) }
    private var rowHeight: Int { Int(36 * scale) }

    /// The height of the letters in pixels.
    func pixels(_ points: Double) -> Int { max(9, Int(points * scale * 4 / 3 * 0.8)) }

    /// - Parameters:
    ///   - area: the size of the work area.
    ///   - scale: the display's scale; 1 is 96 dots per inch.
    init(_ question: WindowQuestion, in area: PixelSize, scale: Double, font: TextFont) {
        self.scale = scale
        let width = min(Int(Double(Self.maximumWidth) * scale), max(area.width * 9 / 10, 120))
        let inner = width - 2 * margin
        var y = margin
        func add(_ text: String, points: Double, _ ink: UInt32, to layout: inout QuestionLayout, after space: Int) {
            guard let rendered = font.render(text, pixels: layout.pixels(points), width: inner, ink: ink) else {
                return
            }
            layout.texts.append((rendered, layout.margin, y))
            y += rendered.size.height + space
        }
        add(question.text, points: 15, QuestionColor.ink, to: &self, after: gap)
        for detail in question.details { add(detail, points: 12, QuestionColor.soft, to: &self, after: gap / 2) }
        y += gap / 2
        let below = height(of: question)
        let room = max(area.height * 9 / 10 - y - below, rowHeight * 2)
        if let text = question.terms,
            let rendered = font.render(
                text, pixels: pixels(12), width: inner - 2 * gap, ink: QuestionColor.soft)
        {
            terms = rendered
            let height = min(rendered.size.height + 2 * gap, room)
            scrolled = (PixelRect(x: margin, y: y, width: inner, height: height), rendered.size.height + 2 * gap)
            y += height + gap
        } else if !question.choices.isEmpty {
            let content = question.choices.count * rowHeight
            let height = min(content, room)
            scrolled = (PixelRect(x: margin, y: y, width: inner, height: height), content)
            for index in question.choices.indices {
                items.append(
                    (.choice(index), PixelRect(x: margin, y: y + index * rowHeight, width: inner, height: rowHeight)))
            }
            y += height + gap
        }
        for (index, field) in question.fields.enumerated() {
            add(field.label, points: 12, QuestionColor.soft, to: &self, after: gap / 3)
            items.append((.field(index), PixelRect(x: margin, y: y, width: inner, height: rowHeight)))
            y += rowHeight + gap
        }
        addButtons(question, y, inner, font)
        size = PixelSize(width: width & ~1, height: (y + rowHeight + margin) & ~1)
    }

    /// The height of what is below the scrolled part.
    private func height(of question: WindowQuestion) -> Int {
        question.fields.count * (rowHeight + gap + pixels(12) * 2) + rowHeight + margin + gap
    }

    /// From the right to the left, as the last one is what most people want.
    private mutating func addButtons(_ question: WindowQuestion, _ y: Int, _ inner: Int, _ font: TextFont) {
        var right = margin + inner
        func add(_ item: Item, _ text: String, to layout: inout QuestionLayout) {
            let textWidth = font.render(text, pixels: layout.pixels(13), width: inner, ink: QuestionColor.ink)?.size
                .width
            let width = (textWidth ?? 60) + 2 * layout.margin
            layout.items.append((item, PixelRect(x: right - width, y: y, width: width, height: layout.rowHeight)))
            right -= width + layout.gap
        }
        for (index, text) in question.answers.enumerated().reversed() { add(.button(index), text, to: &self) }
        if question.copied != nil { add(.copy, "Copy", to: &self) }
    }

    /// The item at a point.
    /// - Parameter offset: how far the scrolled part is scrolled.
    func item(x: Int, y: Int, offset: Int) -> Item? {
        items.first { item, place in
            var place = place
            if case .choice = item {
                guard let area = scrolled?.place, (area.y..<area.maxY).contains(y) else { return false }
                place.y -= offset
            }
            return (place.x..<place.maxX).contains(x) && (place.y..<place.maxY).contains(y)
        }?.item
    }
}

/// The colours of the viewer's page and window.
enum QuestionColor {
    static let background: UInt32 = 0xFF_1E_20_24
    static let field: UInt32 = 0xFF_13_15_18
    static let line: UInt32 = 0xFF_3C_40_43
    static let ink: UInt32 = 0xFF_E8_EA_ED
    static let soft: UInt32 = 0xFF_B4_B9_BF
    static let accent: UInt32 = 0xFF_8A_B4_F8
    static let onAccent: UInt32 = 0xFF_10_20_3A
}
