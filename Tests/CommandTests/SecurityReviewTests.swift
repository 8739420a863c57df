import Foundation
import Testing

/// `Docs/security-review.md` names tests.
@Suite struct SecurityReviewTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../..").standardized

    @Test func itsTestsExist() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("Docs/security-review.md"), encoding: .utf8)
        let names = text.matches(of: /`([A-Z]\w+Tests)\.(\w+)`/).map { (suite: $0.1, test: $0.2) }
        #expect(names.count > 40)
        let folder = Self.root.appendingPathComponent("Tests")
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
        for (suite, test) in names {
            let found = try files.filter { $0.lastPathComponent == "\(suite).swift" }.contains { file in
                try String(contentsOf: file, encoding: .utf8).contains("func \(test)(")
            }
            #expect(found, "\(suite).\(test)")
        }
    }

    @Test func everyRequirementHasALine() throws {
        let text = try String(contentsOf: Self.root.appendingPathComponent("Docs/security-review.md"), encoding: .utf8)
        let numbers = ["1.1", "1.2"] + (1...8).map { "2.\($0)" } + ["3.1", "3.2"]
        for number in numbers { #expect(text.contains("| 17.\(number) "), "17.\(number)") }
    }
}
