internal import Glibc
internal import Synchronization

/// An open file or an end of a pipe, which is closed when this is released. Safe from any thread.
package final class FileDescriptor: Sendable {
    /// -1 once it is closed.
    private let open: Mutex<Int32>

    /// - Parameter number: a descriptor that nothing else closes.
    package init(_ number: Int32) { open = Mutex(number) }

    /// Opens a file to read it.
    /// - Returns: nil if it cannot be opened: `errno` says why.
    package convenience init?(reading path: String) {
        let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { return nil }
        self.init(number)
    }

    deinit { close() }

    package var number: Int32 { open.withLock { $0 } }

    /// Closes it. Does nothing the second time.
    package func close() {
        let number = open.withLock { number in
            defer { number = -1 }
            return number
        }
        if number >= 0 { _ = Glibc.close(number) }
    }

    /// Reads until the end. Blocks.
    /// - Parameter limit: the most bytes that are read.
    /// - Returns: nil if it cannot be read.
    package func read(upTo limit: Int = .max) -> [UInt8]? { Self.read(number, upTo: limit) }

    /// Reads a descriptor until the end, and leaves it open. Blocks.
    /// - Parameter limit: the most bytes that are read.
    /// - Returns: nil if it cannot be read.
    package static func read(_ number: Int32, upTo limit: Int = .max) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: min(limit, 65_536))
        while bytes.count < limit {
            let count = Glibc.read(number, &buffer, min(buffer.count, limit - bytes.count))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return bytes
    }

    /// The text until the end. Blocks. Empty where nothing can be read.
    package func textToEnd() -> String { String(decoding: read() ?? [], as: UTF8.self) }
}
