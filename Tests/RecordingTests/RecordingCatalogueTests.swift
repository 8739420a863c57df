import Foundation
import SQLiteDatabase
import TestSupport
import Testing

@testable import Recording

@Suite struct RecordingCatalogueTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func open() throws -> RecordingCatalogue { try RecordingCatalogue(folder.file("recordings.sqlite")) }

    @Test func recordingsAreListedTheNewestFirst() throws {
        let catalogue = try open()
        try catalogue.begin(
            "/a.webm", title: "Ann's \"screen\"; DROP TABLE recording", at: Date(timeIntervalSince1970: 100))
        try catalogue.begin("/b.webm", title: "", at: Date(timeIntervalSince1970: 200.5))
        try catalogue.complete("/a.webm", seconds: 12.5, bytes: 1_000)
        try catalogue.complete("/unknown.webm", seconds: 1, bytes: 1)
        let entries = try open().entries()
        #expect(entries.map(\.path) == ["/b.webm", "/a.webm"] && entries.map(\.number) == [2, 1])
        #expect(entries[0].seconds == nil && entries[0].bytes == nil)
        #expect(entries[0].began == Date(timeIntervalSince1970: 200.5))
        #expect(entries[1].seconds == 12.5 && entries[1].bytes == 1_000)
        #expect(entries[1].title == "Ann's \"screen\"; DROP TABLE recording")
    }

    /// Earlier versions used GRDB.
    @Test func aCatalogueOfGRDBIsUsedAsItIs() throws {
        let path = folder.file("recordings.sqlite")
        try Data().write(to: URL(fileURLWithPath: path))
        let former = try SQLiteDatabase(path, waiting: 1_000)
        for statement in [
            "PRAGMA journal_mode = WAL", "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)",
            "INSERT INTO grdb_migrations VALUES ('v1')",
            """
            CREATE TABLE "recording" ("number" INTEGER PRIMARY KEY AUTOINCREMENT, "path" TEXT NOT NULL UNIQUE, \
            "title" TEXT NOT NULL, "began" DOUBLE NOT NULL, "seconds" DOUBLE, "bytes" INTEGER)
            """,
            "INSERT INTO recording (path, title, began, seconds, bytes) VALUES ('/a.webm', 'a', 100, 12, 1000)",
        ] { try former.run(statement) }
        let catalogue = try open()
        #expect(try catalogue.entry(1)?.seconds == 12)
        try catalogue.begin("/a.webm", title: "b", at: Date(timeIntervalSince1970: 200))
        try catalogue.complete("/a.webm", seconds: 3, bytes: 5)
        #expect(try catalogue.entries().map(\.number) == [2])
        #expect(try former.run("SELECT title, seconds FROM recording") == [[.text("b"), .real(3)]])
    }

    @Test func aLinkToAnotherFileIsNotFollowed() throws {
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("recordings.sqlite"), withDestinationPath: folder.file("other"))
        #expect(throws: CatalogueFailure.self) { try open() }
        try Data().write(to: URL(fileURLWithPath: folder.file("other")))
        #expect(throws: CatalogueFailure.self) { try open() }
    }

    @Test func aNumberIsNotUsedAgain() throws {
        let catalogue = try open()
        try catalogue.begin("/a.webm", title: "a", at: Date())
        try catalogue.remove(1)
        #expect(try catalogue.entry(1) == nil && catalogue.entries().isEmpty)
        try catalogue.begin("/a.webm", title: "a", at: Date())
        // The same name for another file.
        try catalogue.begin("/a.webm", title: "b", at: Date())
        #expect(try catalogue.entries().map(\.number) == [3] && catalogue.entry(3)?.title == "b")
    }

    @Test func severalWritersWait() async throws {
        _ = try open()
        let folder = folder
        await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<4 {
                group.addTask {
                    let catalogue = try RecordingCatalogue(folder.file("recordings.sqlite"))
                    for index in 0..<25 { try catalogue.begin("/\(writer)-\(index)", title: "x", at: Date()) }
                }
            }
        }
        #expect(try open().entries().count == 100)
    }

    @Test func theFilesAreForTheUserAlone() throws {
        try open().begin("/a.webm", title: "a", at: Date())
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
    }

    @Test func aBrokenCatalogueIsAnErrorAndStays() throws {
        let path = folder.file("recordings.sqlite")
        let nonsense = Data((0..<5_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        try nonsense.write(to: URL(fileURLWithPath: path))
        let failure = #expect(throws: CatalogueFailure.self) { try open() }
        #expect(failure?.description.contains("cannot be used") == true)
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == nonsense)
        #expect(throws: CatalogueFailure.self) { try RecordingCatalogue(folder.file("none/recordings.sqlite")) }
    }
}
