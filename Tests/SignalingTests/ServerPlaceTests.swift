import Admission
import LinuxRuntime
import NIOCore
import Testing
import WaitSupport

@testable import HTTP
@testable import Identity
@testable import Signaling

/// The port of a server, and the page that it shows before anybody is asked.
@Suite(.timeLimit(.minutes(1)))
struct ServerPlaceTests {
    private func server(at port: Int, further: Int) throws -> SignalingServer {
        var configuration = SignalingServer.Configuration(host: "127.0.0.1", port: port)
        configuration.furtherPorts = further
        return SignalingServer(identity: try .ephemeral(), configuration: configuration)
    }

    @Test func aPortThatIsTakenIsFollowedByTheNextFreeOne() async throws {
        // Not every port has a free one after it.
        var result: (first: Int, second: Int)?
        for _ in 0..<20 where result == nil {
            let first = try server(at: 0, further: 0)
            let port = try await first.start()
            let second = try server(at: port, further: 9)
            if port < 65_000, let other = try? await second.start() { result = (port, other) }
            let third = try server(at: port, further: 0)
            let failure = await #expect(throws: SignalingServerError.self) { try await third.start() }
            #expect(failure?.code == .portInUse)
            await second.stop()
            await first.stop()
        }
        let ports = try #require(result)
        #expect((ports.first + 1...ports.first + 9).contains(ports.second))
    }

    @Test func thePortIsFreeWhenAServerIsStoppedWhileItStarts() async throws {
        // An address that no other test uses, so that none takes the port in between.
        let identity = try Identity.ephemeral()
        func server(at port: Int) -> SignalingServer {
            SignalingServer(identity: identity, configuration: .init(host: "127.0.0.78", port: port))
        }
        let first = server(at: 0)
        let port = try await first.start()
        await first.stop()
        for _ in 0..<50 {
            let stopped = server(at: port)
            async let starting = stopped.start()
            async let other: Void = stopped.stop()
            await stopped.stop()
            let next = server(at: port)
            #expect(try await next.start() == port)
            await next.stop()
            await other
            _ = try? await starting
            await stopped.stop()
        }
    }

    @Test func aListeningSocketThatFailsIsToldOnce() async throws {
        let told = Monitor(0)
        let server = SignalingServer(identity: try .ephemeral(), configuration: .init(host: "127.0.0.1")) {
            told.change { $0 += 1 }
        }
        _ = try await server.start()
        guard case .running(let listening, _, _) = await server.state else {
            Issue.record("it does not run")
            return
        }
        try await listening.channel.close()
        #expect(await waiting(told) { $0 == 1 ? true : nil } == true)
        await server.stop()
        #expect(told.with { $0 } == 1)
    }

    @Test func aServerThatIsStoppedHasNotFailed() async throws {
        let told = Monitor(0)
        let server = SignalingServer(identity: try .ephemeral(), configuration: .init(host: "127.0.0.1")) {
            told.change { $0 += 1 }
        }
        _ = try await server.start()
        await server.stop()
        // The socket's end is noted by a task of its own, which an actor runs in its turn.
        for _ in 0..<100 { await Task.yield() }
        #expect(told.with { $0 } == 0)
    }

    @Test func thePageNamesTheBroadcastBeforeTheKnock() {
        let page = PageFiles.viewer(of: "ann@laptop")
        #expect(page.contains("<title>ann@laptop - share</title>") && page.contains("data-name=\"ann@laptop\""))
        #expect(PageFiles.viewer(of: nil).contains("<title>share</title>"))
        #expect(!PageFiles.viewer(of: nil).contains("{{"))
        #expect(PageFiles.sealWorker.contains("onrtctransform") && !PageFiles.sealWorker.contains("\nimport "))
    }

    /// A publisher at a relay chooses its name.
    @Test func aNameIsTextInThePage() {
        let page = PageFiles.viewer(of: "</title><script>alert('x')</script>\" onload=\"x&{{title}}")
        #expect(!page.contains("<script>alert") && !page.contains("\" onload=\""))
        #expect(page.contains("&lt;/title&gt;") && page.contains("&quot; onload=&quot;x&amp;"))
    }
}
