import Glibc
import LinuxRuntime
public import MediaCore

/// A connection to a control socket. Its calls block. Confined to one thread.
public final class ControlSocketClient {
    /// The longest answer.
    public static let answerBytes = 1 << 20

    private let path: String
    private let file: Int32
    private var input: [UInt8] = []

    /// Connects, and checks that the process at the other end is this user's.
    public init(path: String, timeout: MediaDuration = .seconds(5)) throws(ControlSocketFailure) {
        guard let file = UnixSocket.open() else {
            throw ControlSocketFailure(.socket, "no descriptor is left: \(ControlSocketFolder.reason)")
        }
        self.path = path
        self.file = file
        let deadline = MonotonicClock.now + timeout
        while !UnixSocket.connect(file, path) {
            guard errno == EAGAIN || errno == EINTR else {
                throw ControlSocketFailure(.notListening, "nobody listens at \(path)")
            }
            // Others wait to be accepted, too.
            guard MonotonicClock.now < deadline else {
                throw ControlSocketFailure(.noAnswer, "the host at \(path) accepts nobody")
            }
            _ = poll(nil, 0, 20)
        }
        guard UnixSocket.isPeerThisUser(file) else {
            throw ControlSocketFailure(.otherUser, "the process at \(path) belongs to another user")
        }
    }

    deinit { close(file) }

    /// Sends a line and returns the next one.
    /// - Parameter request: without an end of line.
    public func ask(
        _ request: String, timeout: MediaDuration = .seconds(10)
    ) throws(ControlSocketFailure) -> String {
        let deadline = MonotonicClock.now + timeout
        try send(Array((request + "\n").utf8), until: deadline)
        while true {
            if let end = input.firstIndex(of: UInt8(ascii: "\n")) {
                defer { input.removeSubrange(...end) }
                return String(decoding: input[..<end], as: UTF8.self)
            }
            guard input.count < Self.answerBytes else {
                throw ControlSocketFailure(.tooLong, "the answer of \(path) is too long")
            }
            guard try receive(until: deadline) else {
                throw ControlSocketFailure(.noAnswer, "the host at \(path) hung up without an answer")
            }
        }
    }

    /// Waits until the other end has hung up and its socket is gone.
    /// - Returns: false if that takes longer than `timeout`.
    public func waitForEnd(timeout: MediaDuration) -> Bool {
        let deadline = MonotonicClock.now + timeout
        while (try? receive(until: deadline)) == true { input = [] }
        while access(path, F_OK) == 0 {
            guard MonotonicClock.now < deadline else { return false }
            _ = poll(nil, 0, 20)
        }
        return true
    }

    private func send(_ bytes: [UInt8], until deadline: MediaInstant) throws(ControlSocketFailure) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(file, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
            } else if errno == EAGAIN || errno == EINTR {
                try wait(for: Int16(POLLOUT), until: deadline)
            } else {
                throw ControlSocketFailure(.noAnswer, "the host at \(path) hung up")
            }
        }
    }

    /// - Returns: false if the other end has hung up.
    private func receive(until deadline: MediaInstant) throws(ControlSocketFailure) -> Bool {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(file, &bytes, bytes.count, 0)
            if count > 0 { input += bytes[..<count] }
            if count >= 0 { return count > 0 }
            guard errno == EAGAIN || errno == EINTR else { return false }
            try wait(for: Int16(POLLIN), until: deadline)
        }
    }

    private func wait(for events: Int16, until deadline: MediaInstant) throws(ControlSocketFailure) {
        let left = (deadline - MonotonicClock.now).nanoseconds / 1_000_000
        var descriptor = pollfd(fd: file, events: events, revents: 0)
        guard left > 0, poll(&descriptor, 1, Int32(clamping: left)) > 0 || errno == EINTR else {
            throw ControlSocketFailure(.noAnswer, "the host at \(path) does not answer")
        }
    }
}
