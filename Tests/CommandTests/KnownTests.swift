import Foundation
import TestSupport
import Testing

/// `share known`: the viewers that were let in with "always".
@Suite(.timeLimit(.minutes(2)))
struct KnownTests {
    private let folder: TemporaryFolder
    private let file: String
    private let ann = String(repeating: "a1", count: 32)
    private let browser = String(repeating: "b2", count: 32)
    private let bob = String(repeating: "c3", count: 32)

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("share") + "/known-viewers"
        try FileManager.default.createDirectory(atPath: folder.file("share"), withIntermediateDirectories: true)
        let key = "BA" + String(repeating: "A", count: 85)
        let lines = ["native \(ann) 2026-11-20 Ann", "browser \(browser) \(key) 2026-11-21 Ann", "\(bob) Bob the old"]
        try lines.map { $0 + "\n" }.joined().write(toFile: file, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }

    private func run(_ arguments: String...) throws -> (code: Int32?, lines: [String], words: String) {
        let process = try ShareProcess(["known"] + arguments, in: folder)
        let code = process.exitCode()
        return (code, process.lines, process.errorText)
    }

    private var text: String { (try? String(contentsOfFile: file, encoding: .utf8)) ?? "" }

    @Test func listTellsKindDayFingerprintAndName() throws {
        let result = try run("list")
        #expect(result.code == 0)
        #expect(
            result.lines == [
                "native   2026-11-20  a1a1a1a1a1a1a1a1  Ann", "browser  2026-11-21  b2b2b2b2b2b2b2b2  Ann",
                "native   long ago    c3c3c3c3c3c3c3c3  Bob the old",
            ])
        let empty = try ShareProcess(["known", "list"])
        #expect(empty.exitCode() == 0 && empty.lines.isEmpty && empty.errorText.contains("nobody is known"))
    }

    @Test func forgetTakesANameOrAFingerprint() throws {
        #expect(try run("forget", "Bob", "the", "old").code == 0)
        #expect(!text.contains(bob) && text.contains(ann))
        #expect(try run("forget", "B2:B2:B2").code == 0)
        #expect(!text.contains(browser) && text.contains(ann))
    }

    @Test func anAmbiguousNameRemovesNoEntry() throws {
        let before = text
        let result = try run("forget", "Ann")
        #expect(result.code == 64)
        #expect(result.words.contains("2 are known as \"Ann\"") && result.words.contains("b2b2b2b2b2b2b2b2"))
        let nobody = try run("forget", "Carol")
        #expect(nobody.code == 64 && nobody.words.contains("nobody is known as \"Carol\""))
        #expect(text == before)
    }
}
