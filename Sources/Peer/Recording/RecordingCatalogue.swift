public import FoundationEssentials
internal import Glibc
import SQLiteDatabase

/// The reason why the catalogue cannot be used. `description` is a sentence for people.
public struct CatalogueFailure: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

/// A recording as the catalogue knows it.
public struct CatalogueEntry: Equatable, Sendable {
    /// Stays with the recording; a number is not used again.
    public var number: Int
    /// Absolute.
    public var path: String
    /// The broadcast's name; not verified.
    public var title: String
    public var began: Date
    /// Nil if the recording has not ended, or was cut off.
    public var seconds: Double?
    public var bytes: Int?
}

/// The user's recordings, in an SQLite database, which several processes may use at once. Calls block on the disk.
public final class RecordingCatalogue: Sendable {
    private static let table = """
        CREATE TABLE IF NOT EXISTS recording (
            number INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
            began DOUBLE NOT NULL, seconds DOUBLE, bytes INTEGER)
        """
    private let database: SQLiteDatabase

    /// Opens the catalogue, and creates it if there is none.
    /// - Parameter path: of the database. It and its folder are for the user alone.
    public init(_ path: String) throws(CatalogueFailure) {
        // SQLite gives its other files the mode of this one. A file that is there is not opened: closing any descriptor
        // of it would end the locks of this process (fcntl(2)).
        let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 || errno == EEXIST else { throw .unusable(path, String(cString: strerror(errno))) }
        if descriptor >= 0 { close(descriptor) }
        do throws(SQLiteFailure) {
            database = try SQLiteDatabase(path, waiting: 5_000)
            try database.run(Self.table)
            // A note does not wait for the disk, on which recordings are written; a loss of power may cost the last
            // notes. Fails while another process uses the database in its former mode, which then stays.
            _ = try? database.run("PRAGMA journal_mode = WAL")
            try database.run("PRAGMA synchronous = NORMAL")
        } catch {
            throw .unusable(path, error.description)
        }
    }

    /// Notes that a recording has begun. A file of that path that was known before has gone.
    /// - Parameter path: absolute.
    public func begin(_ path: String, title: String, at date: Date) throws(CatalogueFailure) {
        try write(
            "INSERT OR REPLACE INTO recording (path, title, began) VALUES (?, ?, ?)",
            [.text(path), .text(title), .real(date.timeIntervalSince1970)])
    }

    /// Notes that a recording is complete.
    public func complete(_ path: String, seconds: Double, bytes: Int) throws(CatalogueFailure) {
        try write(
            "UPDATE recording SET seconds = ?, bytes = ? WHERE path = ?",
            [.real(seconds), .integer(bytes), .text(path)])
    }

    /// Forgets a recording; its file stays.
    public func remove(_ number: Int) throws(CatalogueFailure) {
        try write("DELETE FROM recording WHERE number = ?", [.integer(number)])
    }

    /// All recordings, the newest first.
    public func entries() throws(CatalogueFailure) -> [CatalogueEntry] {
        do throws(SQLiteFailure) {
            return try database.run(
                "SELECT number, path, title, began, seconds, bytes FROM recording ORDER BY began DESC, number DESC"
            ).compactMap { CatalogueEntry($0) }
        } catch {
            throw CatalogueFailure("the catalogue of recordings cannot be read: \(error)")
        }
    }

    /// The recording with this number; nil if there is none.
    public func entry(_ number: Int) throws(CatalogueFailure) -> CatalogueEntry? {
        try entries().first { $0.number == number }
    }

    private func write(_ statement: String, _ values: [SQLiteValue]) throws(CatalogueFailure) {
        do throws(SQLiteFailure) {
            try database.run(statement, values)
        } catch {
            throw CatalogueFailure("the catalogue of recordings cannot be written: \(error)")
        }
    }
}

extension CatalogueFailure {
    fileprivate static func unusable(_ path: String, _ reason: String) -> CatalogueFailure {
        CatalogueFailure("the catalogue of recordings \(path) cannot be used: \(reason)")
    }
}

extension CatalogueEntry {
    /// - Parameter row: in the order of the properties; nil if a type is wrong.
    fileprivate init?(_ row: [SQLiteValue]) {
        guard row.count == 6, let number = row[0].integer, let path = row[1].text, let title = row[2].text,
            let began = row[3].real
        else { return nil }
        self.init(
            number: number, path: path, title: title, began: Date(timeIntervalSince1970: began), seconds: row[4].real,
            bytes: row[5].integer)
    }
}
