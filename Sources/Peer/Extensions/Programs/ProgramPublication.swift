import EventLoop
package import ExtensionChannel
import Host
import ICETransport
package import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
package import PeerConnection
package import Signaling
import Synchronization

/// The upload program's side of a broadcast to an endpoint: publishes the samples of its host as they were encoded.
///
/// Call `start` once, `receive` for each sample, and `stop` at the end.
package final class ProgramPublication: Sendable {
    private let loop: EventLoop
    private let core: LoopBound<Broadcast>
    private let media: UploadedMedia
    private let publication: ServicePublication
    private let wakeups: LoopBound<MediaWakeups>
    private let isStopped = Mutex(false)

    /// - Parameters:
    ///   - tracks: what is published of the host's audio.
    ///   - endpoint: closed by `stop`.
    ///   - report: called from any thread with what the endpoint tells.
    package init(
        _ connection: ProgramConnection, tracks: [SampleDescription.AudioTrack], endpoint: any PublishingEndpoint,
        identity: Identity, report: @escaping @Sendable (ServiceEvent) -> Void
    ) {
        let loop = EventLoop(name: "net-0")
        let media = UploadedMedia(connection, tracks: tracks)
        let settings = Broadcast.Settings(
            identity: identity, maximumBitrate: .kilobits(20_000),
            audio: tracks.map {
                .init(
                    kind: $0 == .microphone ? .microphoneAudio : .applicationAudio,
                    hasSilenceSuppression: $0 == .microphone)
            },
            viewers: ViewerPolicy(maximum: 1))
        let core = LoopBound(loop, making: { Broadcast(loop: loop, settings: settings, source: media) })
        self.loop = loop
        self.core = core
        self.media = media
        wakeups = LoopBound(of: core)
        publication = ServicePublication(core: core, service: endpoint, onEvent: { _ in }, report: report)
    }

    /// Sends the offer.
    /// - Returns: when the publication is over, with the reason.
    /// - Throws: why the endpoint does not take the broadcast. Call `stop` afterwards.
    package func run() async throws(EndReason) -> EndReason {
        try await publication.open()
        return await publication.run()
    }

    /// Passes a sample on. On one thread.
    package func receive(_ sample: ReceivedSample) {
        switch media.receive(sample) {
        case .video: wakeups.read { $0.video }.signal()
        case .audio: wakeups.read { $0.audio }.signal()
        case nil: break
        }
    }

    /// Ends the session at the endpoint and frees everything. May be called more than once.
    package func stop(_ reason: EndReason) async {
        let isFirst = isStopped.withLock { $0.setOnce() }
        guard isFirst else { return }
        await publication.close(reason)
        media.close()
        await core.performAndWait { $0.end($1) }
        await wakeups.ifRunning { $0.close() }
        await loop.stop()
    }
}
