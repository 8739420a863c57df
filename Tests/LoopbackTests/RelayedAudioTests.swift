import Host
import MediaCore
import PeerConnection
import Testing

@testable import Identity
@testable import Relay
@testable import Viewer

extension RelaySessionTests {
    /// The audio of a broadcast through a relay, with one thread and with several.
    @Test(arguments: [1, 3]) func viewersHearABroadcastAtTheRelay(threads: Int) async throws {
        let relay = try await Relay(threads: threads)
        let host = try await PublishingHost(to: relay, withAudio: true)
        let link = try await relay.live()
        let seen = (0..<3).map { _ in RecordedOutput() }
        let viewers = try seen.map { output in
            let session = ViewerSession(
                link: link, identity: try .ephemeral(), name: "viewer", sink: playback(output, speaker: output),
                emit: { _ in })
            return (session: session, end: Task { await session.run() })
        }
        for output in seen {
            #expect(await output.wait { $0.samples >= 48_000 && $0.counters.count >= 10 }, "\(output.state.samples)")
        }
        for viewer in viewers {
            viewer.session.leave()
            #expect(await viewer.end.value.code == .stopped)
        }
        await host.stop()
        await relay.session.stop()
    }
}
