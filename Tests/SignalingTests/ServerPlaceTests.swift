import Admission
import Testing

@testable import HTTP
@testable import Identity
@testable import Signaling

/// The port of a server, and the page that it shows before anybody is asked.
@Suite(.timeLimit(.minutes(1)))
struct ServerPlaceTests {
    private func server(at port: Int, further: Int) throws -> SignalingServer {
        var configuration = SignalingServer.Configuration(host: "127.0.0.1", port: port)
        configuration.furtherPorts = further
        return SignalingServer(identity: try .ephemeral(), configuration: configuration, logger: quiet)
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
