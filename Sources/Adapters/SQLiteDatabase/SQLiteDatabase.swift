import CSQLite
import Synchronization

/// A value of a column, or of a statement's parameter (SQLite's storage classes but blobs).
public enum SQLiteValue: Equatable, Sendable {
    case null
    case integer(Int)
    case real(Double)
    case text(String)

    public var integer: Int? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// Of a real or an integer.
    public var real: Double? {
        switch self {
        case .real(let value): value
        case .integer(let value): Double(value)
        case .null, .text: nil
        }
    }

    public var text: String? {
        if case .text(let value) = self { value } else { nil }
    }
}

/// What SQLite says of a statement or a file; without a full stop.
public struct SQLiteFailure: Error, Equatable, Sendable, CustomStringConvertible {
    /// SQLite's extended result code.
    public let code: Int32
    public let description: String
}

/// An SQLite database in a file, which several processes may use. Calls block on the disk, and wait for other
/// processes. Safe from any thread.
public final class SQLiteDatabase: Sendable {
    // SAFETY: only the holder of the lock uses the connection, which is opened without a lock of its own.
    private struct Connection: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private let connection: Mutex<Connection>

    /// - Parameters:
    ///   - path: of a file that exists, and is no symbolic link; an empty one is an empty database.
    ///   - milliseconds: how long a call waits for other processes.
    public init(_ path: String, waiting milliseconds: Int32) throws(SQLiteFailure) {
        var pointer: OpaquePointer?
        let code = sqlite3_open_v2(
            path, &pointer, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nil)
        guard let pointer, code == SQLITE_OK else {
            let failure = Self.failure(code, pointer)
            sqlite3_close_v2(pointer)
            throw failure
        }
        sqlite3_busy_timeout(pointer, milliseconds)
        connection = Mutex(Connection(pointer: pointer))
    }

    deinit { connection.withLock { _ = sqlite3_close_v2($0.pointer) } }

    /// Runs one statement.
    /// - Parameter values: of its parameters, in their order.
    /// - Returns: its rows.
    @discardableResult
    public func run(_ statement: String, _ values: [SQLiteValue] = []) throws(SQLiteFailure) -> [[SQLiteValue]] {
        let result = connection.withLock { Self.run(statement, values, $0.pointer) }
        return try result.get()
    }

    private static func run(
        _ text: String, _ values: [SQLiteValue], _ connection: OpaquePointer
    ) -> Result<[[SQLiteValue]], SQLiteFailure> {
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v2(connection, text, -1, &prepared, nil)
        guard code == SQLITE_OK, let prepared else {
            return .failure(failure(code, connection))
        }
        defer { sqlite3_finalize(prepared) }
        for (index, value) in values.enumerated() {
            let code = bind(value, Int32(index + 1), prepared)
            guard code == SQLITE_OK else { return .failure(failure(code, connection)) }
        }
        var rows: [[SQLiteValue]] = []
        while true {
            switch sqlite3_step(prepared) {
            case SQLITE_ROW: rows.append((0..<sqlite3_column_count(prepared)).map { column($0, prepared) })
            case SQLITE_DONE: return .success(rows)
            case let code: return .failure(failure(code, connection))
            }
        }
    }

    private static func bind(_ value: SQLiteValue, _ index: Int32, _ statement: OpaquePointer) -> Int32 {
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let value): sqlite3_bind_int64(statement, index, sqlite3_int64(value))
        case .real(let value): sqlite3_bind_double(statement, index, value)
        case .text(let text): csqlite_bind_text(statement, index, text, Int32(clamping: text.utf8.count))
        }
    }

    private static func column(_ index: Int32, _ statement: OpaquePointer) -> SQLiteValue {
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: return .integer(Int(sqlite3_column_int64(statement, index)))
        case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, index))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(statement, index) else { return .null }
            let count = Int(sqlite3_column_bytes(statement, index))
            return .text(String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        default: return .null
        }
    }

    private static func failure(_ code: Int32, _ connection: OpaquePointer?) -> SQLiteFailure {
        SQLiteFailure(
            code: connection.map { sqlite3_extended_errcode($0) } ?? code,
            description: String(cString: connection.flatMap { sqlite3_errmsg($0) } ?? sqlite3_errstr(code)))
    }
}
