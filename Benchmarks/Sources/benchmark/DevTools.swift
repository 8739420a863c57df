import Foundation
import Glibc

/// Evaluates expressions in a page of Chromium, over its `--remote-debugging-pipe` (the Chrome DevTools Protocol: JSON,
/// each message with a zero byte behind it).
final class DevTools {
    /// What is to be started instead of Chromium.
    let launcher: String
    private let requests: Int32
    private let replies: Int32
    private var number = 0
    private var session: String?

    /// - Parameter folder: for two pipes and the launcher.
    init(_ chromium: String, in folder: String) throws {
        let (incoming, outgoing) = (folder + "/requests", folder + "/replies")
        guard mkfifo(incoming, 0o600) == 0, mkfifo(outgoing, 0o600) == 0 else { throw BenchmarkFailure("no pipe") }
        (requests, replies) = (open(incoming, O_RDWR | O_CLOEXEC), open(outgoing, O_RDWR | O_CLOEXEC))
        guard requests >= 0, replies >= 0 else { throw BenchmarkFailure("no pipe") }
        launcher = folder + "/chromium"
        try "#!/bin/sh\nexec '\(chromium)' --remote-debugging-pipe \"$@\" 3<'\(incoming)' 4>'\(outgoing)'\n".write(
            toFile: launcher, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: launcher)
    }

    deinit {
        close(requests)
        close(replies)
    }

    /// The text that an expression of the first page, or its promise, has as its value.
    func evaluate(_ expression: String) throws -> String {
        let session = try session ?? attach()
        self.session = session
        let reply = try call(
            "Runtime.evaluate", ["expression": expression, "awaitPromise": true, "returnByValue": true],
            session: session)
        guard let result = reply["result"] as? [String: Any], let text = result["value"] as? String else {
            throw BenchmarkFailure("Chromium: \(reply)")
        }
        return text
    }

    private func attach() throws -> String {
        let targets = try call("Target.getTargets")["targetInfos"] as? [[String: Any]] ?? []
        guard let page = targets.first(where: { $0["type"] as? String == "page" })?["targetId"] as? String,
            let session = try call("Target.attachToTarget", ["targetId": page, "flatten": true])["sessionId"] as? String
        else { throw BenchmarkFailure("Chromium has no page: \(targets)") }
        return session
    }

    private func call(
        _ method: String, _ parameters: [String: Any] = [:], session: String? = nil
    ) throws -> [String: Any] {
        number += 1
        var request: [String: Any] = ["id": number, "method": method, "params": parameters]
        request["sessionId"] = session
        let bytes = [UInt8](try JSONSerialization.data(withJSONObject: request)) + [0]
        guard write(requests, bytes, bytes.count) == bytes.count else {
            throw BenchmarkFailure("Chromium takes nothing")
        }
        let deadline = monotonicSeconds() + 20
        while true {
            guard let reply = try JSONSerialization.jsonObject(with: message(until: deadline)) as? [String: Any],
                reply["id"] as? Int == number
            else { continue }
            guard let result = reply["result"] as? [String: Any] else {
                throw BenchmarkFailure("Chromium: \(method): \(reply)")
            }
            return result
        }
    }

    private func message(until deadline: Double) throws -> Data {
        var (bytes, byte) = ([UInt8](), UInt8(0))
        while true {
            var waiting = pollfd(fd: replies, events: Int16(POLLIN), revents: 0)
            guard monotonicSeconds() < deadline else { throw BenchmarkFailure("Chromium does not answer") }
            guard poll(&waiting, 1, 1_000) == 1, read(replies, &byte, 1) == 1 else { continue }
            if byte == 0 { return Data(bytes) }
            bytes.append(byte)
        }
    }
}
