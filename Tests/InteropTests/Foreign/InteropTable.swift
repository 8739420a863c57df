import Foundation

/// The table in Docs/interoperability.md, generated from the test cases: a cell says yes if its test exists and passes.
enum InteropTable {
    static var text: String {
        var notes: [String] = []
        var lines = [
            "| | " + PlayerCase.allCases.map(\.rawValue).joined(separator: " | ") + " |",
            "|---|" + PlayerCase.allCases.map { _ in "---|" }.joined(),
        ]
        for peer in ForeignPeer.allCases {
            let cells = PlayerCase.allCases.map { playerCase in
                guard let reason = peer.inability(playerCase) else { return "yes" }
                if !notes.contains(reason) { notes.append(reason) }
                return "n/a (\((notes.firstIndex(of: reason) ?? 0) + 1))"
            }
            lines.append("| \(peer.title) | " + cells.joined(separator: " | ") + " |")
        }
        lines.append("")
        lines += notes.enumerated().map { "\($0.offset + 1). \($0.element)" }
        return lines.joined(separator: "\n")
    }

    static var document: String {
        get throws {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../../Docs/interoperability.md")
            return try String(contentsOf: file, encoding: .utf8)
        }
    }
}
