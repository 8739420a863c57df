import Admission
import EventLoop
import LinuxRuntime
import MediaCore
public import PeerConnection
import SessionDescription
public import Signaling

/// Publishing to one service instead of to viewers.
extension HostSession {
    /// Publishes to the service that this host is paired with, and to nobody else: there is no server and no link.
    /// Capture starts when the service has answered. The session ends with the publication.
    /// - Parameter report: called with the service's events.
    /// - Throws: why the service does not take the broadcast. Call `stop` afterwards.
    public func start(
        publishingTo service: PairedService, report: @escaping @Sendable (ServiceEvent) -> Void
    ) async throws(EndReason) {
        let publication = makePublication(service, report: report)
        warnOfLimits()
        if let addresses = await servers.lookUp() {
            core.perform { $0.servers = addresses }
            servers.check()
        }
        guard state.with({ $0.reach(at: publication) }) else {
            await publication.close(.hostStopped)
            throw .hostStopped
        }
        try await publication.open()
        keepServersValid(of: service)
        startPipelines()
        Task { [weak self] in
            let reason = await publication.run()
            await self?.stop(reason)
        }
    }

    private func makePublication(
        _ service: PairedService, report: @escaping @Sendable (ServiceEvent) -> Void
    ) -> ServicePublication {
        ServicePublication(
            core: core, service: service, paired: service, admission: signaling.knocks, shown: shownApplication,
            onEvent: { [emit, servers] event in
                emit(event)
                servers.check(after: event)
            },
            report: { [emit, weak state] event in
                var viewers: Int?
                if case .serviceInfo(let info) = event { viewers = state?.with { $0.take(info) } }
                report(event)
                if let viewers { emit(.viewerCount(viewers)) }
            },
            moved: { [weak self] in self?.keepServersValid(of: $0, isAnother: true) })
    }
}

extension EndReason {
    /// The reason for a session that was stopped while it started.
    static let hostStopped = EndReason(.stopped, "the host ended the broadcast")
}
