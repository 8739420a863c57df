import Glibc
import TestSupport

@testable import ControlSocket

/// A connection that sends whatever a test wants.
final class RawConnection {
    private let file: Int32

    init(_ path: String) throws {
        guard let file = UnixSocket.open() else { throw Program.Failure("no descriptor: \(errno)") }
        self.file = file
        // Others wait to be accepted, too.
        for _ in 0..<500 {
            if UnixSocket.connect(file, path) { return }
            guard errno == EAGAIN else { break }
            _ = poll(nil, 0, 20)
        }
        throw Program.Failure("no connection to \(path): \(errno)")
    }

    deinit { close(file) }

    /// - Returns: how many bytes the socket took.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Int {
        bytes.withUnsafeBytes { Glibc.send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    /// Reads until the other side hangs up, for 10 s at most; nil if it has not.
    func readToEnd() -> String? {
        var result: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while true {
            var descriptor = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
            guard poll(&descriptor, 1, 10_000) > 0 else { return nil }
            let count = recv(file, &bytes, bytes.count, 0)
            guard count > 0 else { return String(decoding: result, as: UTF8.self) }
            result += bytes[..<count]
        }
    }
}
