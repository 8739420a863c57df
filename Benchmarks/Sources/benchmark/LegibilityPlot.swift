import Foundation

/// A plot as SVG: when 90 % and 99 % of the words of a change can be read, for each link and program.
struct LegibilityPlot {
    struct Row {
        var link: String
        var program: String
        var change: String
        /// In ms; nil if it never was so.
        var ninety: Double?
        var ninetyNine: Double?
    }

    private let rows: [Row]
    /// The right end of the axis, in ms.
    private let limit: Double

    private static let titles = [("new", "A new page"), ("scroll", "A scroll by seven lines"), ("typing", "Typed words")]
    private static let colors = ["#1f6feb", "#d1570a", "#6e7781", "#8250df"]
    private static let (left, width, step) = (190.0, 560.0, 22.0)
    private static let first = 40.0

    /// - Parameter tables: the rows of ``Legibility``, as they were printed; the medians are drawn.
    init(tables: String) {
        rows = tables.split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 9, cells[2] == "median" else { return nil }
            return Row(
                link: cells[0], program: cells[1], change: cells[3], ninety: Double(cells[5]), ninetyNine: Double(cells[6]))
        }
        limit = (rows.flatMap { [$0.ninety ?? 0, $0.ninetyNine ?? 0] }.max() ?? 0) * 1.1 + Self.first
    }

    private func x(_ milliseconds: Double) -> Double {
        Self.left + Self.width * log(max(milliseconds, Self.first) / Self.first) / log(limit / Self.first)
    }

    var text: String {
        let programs = rows.map(\.program).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
        var (body, y) = ("", 30.0)
        func write(_ x: Double, _ y: Double, _ text: String, _ attributes: String = "") {
            body += "<text x=\"\(cell(x, 1))\" y=\"\(cell(y, 1))\" \(attributes)>\(text)</text>\n"
        }
        for (change, title) in Self.titles {
            let panel = rows.filter { $0.change == change }
            guard !panel.isEmpty else { continue }
            write(16, y, title, "font-weight=\"bold\"")
            let top = y + 10
            y += 26
            for row in panel {
                let color = Self.colors[(programs.firstIndex(of: row.program) ?? 0) % Self.colors.count]
                write(16, y + 4, "\(row.link), \(row.program)")
                let (begin, end) = (row.ninety.map(x), row.ninetyNine.map(x))
                let right = Self.left + Self.width
                if let begin {
                    body += """
                        <line x1="\(cell(begin, 1))" x2="\(cell(end ?? right, 1))" y1="\(cell(y, 1))" y2="\(cell(y, 1))" \
                        stroke="\(color)" stroke-width="3"\(end == nil ? " stroke-dasharray=\"4 4\"" : "")/>
                        <circle cx="\(cell(begin, 1))" cy="\(cell(y, 1))" r="5" fill="#fff" stroke="\(color)" stroke-width="2"/>

                        """
                } else {
                    write(right + 8, y + 4, "never 90 %", "fill=\"\(color)\"")
                }
                if let end { body += "<circle cx=\"\(cell(end, 1))\" cy=\"\(cell(y, 1))\" r=\"5\" fill=\"\(color)\"/>\n" }
                if begin != nil {
                    let words = row.ninetyNine.map { "\(cell($0)) ms" } ?? "never 99 %"
                    write((end ?? right) + 10, y + 4, words, "fill=\"\(color)\"")
                }
                y += Self.step
            }
            for tick in [50.0, 100, 200, 500, 1_000, 2_000, 5_000] where tick <= limit {
                body += """
                    <line x1="\(cell(x(tick), 1))" x2="\(cell(x(tick), 1))" y1="\(cell(top, 1))" y2="\(cell(y - 8, 1))" stroke="#8884" />

                    """
                write(x(tick), y + 6, tick < 1_000 ? "\(Int(tick)) ms" : "\(Int(tick / 1_000)) s", "text-anchor=\"middle\" fill=\"#666\"")
            }
            y += 42
        }
        write(16, y, "Open circle: 90 % of the words can be read; full circle: 99 %. Medians of five pages; the axis is logarithmic.", "fill=\"#666\"")
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 \(cell(y + 16))" font-family="sans-serif" font-size="13">
            <rect width="100%" height="100%" fill="#fff"/>
            \(body)</svg>

            """
    }
}
