import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing
import WaitSupport

@testable import ControlSocket

/// The socket and its client, with hostile processes of the same user.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ControlSocketTests {
    private let folder: TemporaryFolder
    private let place: ControlSocketFolder

    init() throws {
        folder = try TemporaryFolder()
        place = ControlSocketFolder(paths: [folder.file("share")])
    }

    private func server(
        _ name: String = "one", _ change: (inout ControlSocketServer.Limits) -> Void = { _ in },
        handler: @escaping ControlSocketServer.Handler = { "answer to \($0)" }
    ) throws -> ControlSocketServer {
        var limits = ControlSocketServer.Limits()
        change(&limits)
        return try ControlSocketServer(name: name, in: place, limits: limits, handler: handler)
    }

    private func mode(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    // MARK: Requests

    @Test func everyLineOfAConnectionIsAnswered() async throws {
        let server = try server()
        let client = try ControlSocketClient(path: server.path)
        #expect(try client.ask("status") == "answer to status")
        #expect(try client.ask("") == "answer to ")
        let other = try ControlSocketClient(path: server.path)
        #expect(try other.ask("stop") == "answer to stop")
        await server.close()
    }

    @Test func requestsThatComeAtOnceAreAnsweredInTheirOrder() async throws {
        let server = try server { $0.timeout = .milliseconds(300) }
        let raw = try RawConnection(server.path)
        raw.send("a\nb\nc\nunfinished")
        #expect(raw.readToEnd() == "answer to a\nanswer to b\nanswer to c\n")
        await server.close()
    }

    @Test func aRunningRequestIsAnsweredBeforeTheEnd() async throws {
        let hasBegun = Expectation("the request")
        let mayGoOn = Monitor(false)
        let server = try server { _ in
        } handler: { _ in
            hasBegun.fulfill()
            await waiting(mayGoOn) { $0 ? true : nil }
            return "late"
        }
        let raw = try RawConnection(server.path)
        raw.send("stop\n")
        try await hasBegun.wait()
        async let closed: Void = server.close()
        mayGoOn.change { $0 = true }
        #expect(raw.readToEnd() == "late\n")
        await closed
    }

    // MARK: Files

    @Test func folderAndSocketAreTheUsersAlone() async throws {
        let server = try server()
        #expect(try mode(of: folder.file("share")) == 0o700)
        #expect(try mode(of: server.path) == 0o600)
        #expect(place.sockets == [server.path])
        await server.close()
        await server.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("share")).isEmpty)
    }

    @Test func aStaleSocketIsRemovedAndARunningOneStays() async throws {
        let running = try server("running")
        let file = try #require(UnixSocket.open())
        let stale = folder.file("share") + "/stale.sock"
        #expect(UnixSocket.bind(file, stale))
        close(file)
        try Data().write(to: URL(fileURLWithPath: folder.file("share") + "/file.sock"))
        #expect(place.sockets == [running.path, stale].sorted())
        let second = try server("second")
        #expect(place.sockets == [running.path, second.path].sorted())
        #expect(try ControlSocketClient(path: running.path).ask("x") == "answer to x")
        #expect(FileManager.default.fileExists(atPath: folder.file("share") + "/file.sock"))
        #expect(throws: ControlSocketFailure.self) { try ControlSocketClient(path: stale) }
        await running.close()
        await second.close()
    }

    @Test func aFolderThatOthersMayEnterIsNotUsed() async throws {
        let open = folder.file("open")
        let link = folder.file("link")
        let good = folder.file("good")
        try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
        #expect(chmod(open, 0o755) == 0)
        try FileManager.default.createDirectory(atPath: folder.file("aim"), withIntermediateDirectories: false)
        #expect(chmod(folder.file("aim"), 0o700) == 0)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file("aim"))
        let long = folder.file(String(repeating: "x", count: 100))
        for bad in [open, link, long, "/nonexistent/folder"] {
            #expect(throws: ControlSocketFailure.self) {
                try ControlSocketServer(name: "one", in: ControlSocketFolder(paths: [bad])) { $0 }
            }
        }
        let server = try ControlSocketServer(
            name: "one", in: ControlSocketFolder(paths: [open, link, long, good])
        ) { $0 }
        #expect(server.path == good + "/one.sock")
        await server.close()
    }

    @Test func theRuntimeDirectoryComesBeforeTheTemporaryOne() {
        let user = geteuid()
        let both = ControlSocketFolder(environment: ["XDG_RUNTIME_DIR": "/run/user/1", "TMPDIR": "/var/tmp"])
        #expect(both.paths == ["/run/user/1/share", "/var/tmp/share-\(user)"])
        #expect(ControlSocketFolder(environment: ["XDG_RUNTIME_DIR": "relative"]).paths == ["/tmp/share-\(user)"])
        #expect(ControlSocketFolder(environment: [:]).paths == ["/tmp/share-\(user)"])
    }

    // MARK: Hostile processes

    @Test func aRequestThatIsTooLongEndsItsConnectionOnly() async throws {
        let server = try server()
        let good = try ControlSocketClient(path: server.path)
        let raw = try RawConnection(server.path)
        raw.send([UInt8](repeating: 120, count: 4_097))
        #expect(raw.readToEnd() == "")
        let longest = String(repeating: "x", count: 4_096 - 1)
        #expect(try good.ask(longest) == "answer to " + longest)
        await server.close()
    }

    @Test func anyBytesAreSurvived() async throws {
        let server = try server { $0.timeout = .milliseconds(200) }
        var generator = SeededGenerator(seed: 7)
        for _ in 0..<40 {
            let raw = try RawConnection(server.path)
            raw.send(
                (0..<Int.random(in: 1...3_000, using: &generator)).map { _ in .random(in: 0...255, using: &generator) })
        }
        #expect(try ControlSocketClient(path: server.path).ask("x") == "answer to x")
        await server.close()
    }

    @Test func silentConnectionsMakeRoomAfterTheirTime() async throws {
        let server = try server { $0.timeout = .milliseconds(300) }
        let silent = try (0..<8).map { _ in try RawConnection(server.path) }
        // The ninth waits to be accepted.
        #expect(try ControlSocketClient(path: server.path).ask("x") == "answer to x")
        for raw in silent { #expect(raw.readToEnd() == "") }
        await server.close()
    }

    @Test func aReaderThatDoesNotReadIsDropped() async throws {
        let big = String(repeating: "x", count: 4 << 20)
        let server = try server {
            $0.timeout = .milliseconds(300)
        } handler: {
            $0 == "big" ? big : $0
        }
        let raw = try RawConnection(server.path)
        raw.send("big\n")
        let client = try ControlSocketClient(path: server.path)
        #expect(try client.ask("x") == "x")
        await server.close()
        #expect((raw.readToEnd() ?? "").count < big.count)
    }

    @Test func handlersThatHangAreBounded() async throws {
        let begun = Monitor(0)
        let mayEnd = Monitor(false)
        let server = try server {
            $0.timeout = .milliseconds(100)
        } handler: { _ in
            begun.change { $0 += 1 }
            await waiting(mayEnd) { $0 ? true : nil }
            return ""
        }
        for _ in 0..<24 {
            let raw = try RawConnection(server.path)
            raw.send("x\n")
            _ = raw.readToEnd()
        }
        #expect(begun.with { $0 } == 8)
        await server.close()
        mayEnd.change { $0 = true }
    }

    @Test func aFloodWaitsAtTheSocket() async throws {
        let handled = Monitor(0)
        let server = try server {
            $0.requestsPerSecond = 100
            $0.requestBurst = 10
        } handler: { _ in
            handled.with { $0 += 1 }
            return ""
        }
        let begin = MonotonicClock.now
        let floods = (0..<4).map { _ in
            NamedThread("flood") { [path = server.path] in
                while MonotonicClock.now - begin < .seconds(1) {
                    guard let client = try? ControlSocketClient(path: path) else { continue }
                    for _ in 0..<20 { _ = try? client.ask("x") }
                }
            }
        }
        for flood in floods { await flood.ended() }
        let elapsed = (MonotonicClock.now - begin).inSeconds
        #expect(Double(handled.with { $0 }) <= 10 + 100 * elapsed + 1)
        #expect(handled.with { $0 } > 20)
        await server.close()
    }

    @Test func aHostThatNeverAnswersOrNeverStopsIsReported() async throws {
        let mayEnd = Monitor(false)
        let mute = try server("mute") { _ in
        } handler: { _ in
            await waiting(mayEnd) { $0 ? true : nil }
            return ""
        }
        #expect(throws: ControlSocketFailure(.noAnswer, "the host at \(mute.path) does not answer")) {
            try ControlSocketClient(path: mute.path).ask("x", timeout: .milliseconds(200))
        }
        let endless = try server("endless", handler: { _ in String(repeating: "x", count: 2 << 20) })
        #expect(throws: ControlSocketFailure(.tooLong, "the answer of \(endless.path) is too long")) {
            try ControlSocketClient(path: endless.path).ask("x")
        }
        await endless.close()
        mayEnd.change { $0 = true }
        await mute.close()
    }
}
