public import Foundation
import Glibc

/// A private folder of a test, removed with the value.
public final class TemporaryFolder: Sendable {
    public let url: URL

    public init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("share-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    public var path: String { url.path }

    /// Sleeps until a file of that name exists; false if there is none after `seconds`.
    public func waitForFile(_ name: String, seconds: Double) -> Bool {
        wait(seconds: seconds) { access(file(name), F_OK) == 0 }
    }

    /// Returns the lines of a file; none if there is no file.
    public func lines(_ name: String) -> [String] {
        (try? String(contentsOfFile: file(name), encoding: .utf8))?.split(separator: "\n").map(String.init) ?? []
    }

    /// Sleeps until the lines of a file are as they have to be; false if they are not after `seconds`. Blocks a thread
    /// of its own.
    public func waitForLines(
        _ name: String, seconds: Double = 20, _ condition: @escaping @Sendable ([String]) -> Bool
    ) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread { [self] in
                continuation.resume(returning: wait(seconds: seconds) { condition(lines(name)) })
            }.start()
        }
    }

    /// Sleeps until a file that is created, moved or written to here makes the condition true.
    private func wait(seconds: Double, _ condition: () -> Bool) -> Bool {
        let notifications = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
        defer { close(notifications) }
        let changes = UInt32(IN_CREATE | IN_MOVED_TO | IN_MODIFY)
        guard inotify_add_watch(notifications, path, changes) >= 0 else { return false }
        let deadline = ContinuousClock.now + .seconds(seconds)
        var events = [UInt8](repeating: 0, count: 4_096)
        while !condition() {
            let left = (deadline - .now) / .milliseconds(1)
            guard left > 0 else { return false }
            var wait = pollfd(fd: notifications, events: Int16(POLLIN), revents: 0)
            _ = poll(&wait, 1, Int32(left) + 1)
            _ = read(notifications, &events, events.count)
        }
        return true
    }

    public func file(_ name: String) -> String { url.appendingPathComponent(name).path }
}
