public import Foundation
import GRDB

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

/// The user's recordings, in an SQLite database of which several processes may use at once. Calls block on the disk.
public final class RecordingCatalogue: Sendable {
    private let database: DatabaseQueue

    /// Opens the catalogue, and creates it if there is none.
    /// - Parameter path: of the database. It and its folder are for the user alone.
    public init(_ path: String) throws(CatalogueFailure) {
        do {
            // SQLite gives its other files the mode of this one.
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw CatalogueFailure(String(cString: strerror(errno))) }
            close(descriptor)
            var configuration = GRDB.Configuration()
            configuration.busyMode = .timeout(5)
            // A note does not wait for the disk, on which recordings are written; a loss of power may cost the last
            // notes.
            configuration.prepareDatabase {
                try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
            }
            database = try DatabaseQueue(path: path, configuration: configuration)
            try Self.migrator.migrate(database)
        } catch {
            throw CatalogueFailure("the catalogue of recordings \(path) cannot be used: \(error)")
        }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1") { database in
            try database.create(table: "recording") { table in
                table.autoIncrementedPrimaryKey("number")
                table.column("path", .text).notNull().unique()
                table.column("title", .text).notNull()
                table.column("began", .double).notNull()
                table.column("seconds", .double)
                table.column("bytes", .integer)
            }
        }
        return migrator
    }

    /// Notes that a recording has begun. A file of that path that was known before has gone.
    /// - Parameter path: absolute.
    public func begin(_ path: String, title: String, at date: Date) throws(CatalogueFailure) {
        try write { database in
            try database.execute(sql: "DELETE FROM recording WHERE path = ?", arguments: [path])
            try database.execute(
                sql: "INSERT INTO recording (path, title, began) VALUES (?, ?, ?)",
                arguments: [path, title, date.timeIntervalSince1970])
        }
    }

    /// Notes that a recording is complete.
    public func complete(_ path: String, seconds: Double, bytes: Int) throws(CatalogueFailure) {
        try write { database in
            try database.execute(
                sql: "UPDATE recording SET seconds = ?, bytes = ? WHERE path = ?", arguments: [seconds, bytes, path])
        }
    }

    /// Forgets a recording; its file stays.
    public func remove(_ number: Int) throws(CatalogueFailure) {
        try write { try $0.execute(sql: "DELETE FROM recording WHERE number = ?", arguments: [number]) }
    }

    /// All recordings, the newest first.
    public func entries() throws(CatalogueFailure) -> [CatalogueEntry] {
        do {
            return try database.read { database in
                try Row.fetchAll(database, sql: "SELECT * FROM recording ORDER BY began DESC, number DESC")
                    .map { CatalogueEntry($0) }
            }
        } catch {
            throw CatalogueFailure("the catalogue of recordings cannot be read: \(error)")
        }
    }

    /// The recording with this number; nil if there is none.
    public func entry(_ number: Int) throws(CatalogueFailure) -> CatalogueEntry? {
        try entries().first { $0.number == number }
    }

    private func write(_ body: (Database) throws -> Void) throws(CatalogueFailure) {
        do {
            try database.write { try body($0) }
        } catch {
            throw CatalogueFailure("the catalogue of recordings cannot be written: \(error)")
        }
    }
}

extension CatalogueEntry {
    fileprivate init(_ row: Row) {
        self.init(
            number: row["number"], path: row["path"], title: row["title"],
            began: Date(timeIntervalSince1970: row["began"]), seconds: row["seconds"], bytes: row["bytes"])
    }
}
