import Foundation

/// A Markdown table on stdout, row by row.
enum Table {
    static func title(_ text: String) { write("\n### \(text)\n\n") }

    static func header(_ cells: [String]) {
        row(cells)
        row(cells.map { _ in "---" })
    }

    static func row(_ cells: [String]) { write("| " + cells.joined(separator: " | ") + " |\n") }

    static func line(_ text: String) { write(text + "\n") }

    private static func write(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
}

/// The upper one of two in the middle; nil of no values.
func median(_ values: [Double]) -> Double? { values.isEmpty ? nil : values.sorted()[values.count / 2] }

/// Formats a number with so many decimals; "-" for none.
func cell(_ value: Double?, _ digits: Int = 0) -> String {
    value.map { String(format: "%.\(digits)f", $0) } ?? "-"
}
