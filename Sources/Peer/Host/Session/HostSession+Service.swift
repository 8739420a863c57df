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
            let reason = await self?.publish(publication, of: service, report: report)
            await self?.stop(reason ?? .hostStopped)
        }
    }

    /// Runs a publication, and those that follow it at other relays, until the broadcast is over.
    private func publish(
        _ first: ServicePublication, of paired: PairedService, report: @escaping @Sendable (ServiceEvent) -> Void
    ) async -> EndReason {
        let state = state
        return await RelayFailover(
            make: { self.makePublication($0, report: report) },
            take: { publication, paired in
                let isWanted = state.with { $0.reach(at: publication) }
                self.keepServersValid(of: paired, isAnother: true)
                return isWanted
            },
            isWanted: { !state.with { $0.isStopped } }, emit: emit
        ).run(first, of: paired)
    }

    func makePublication(
        _ service: PairedService, report: @escaping @Sendable (ServiceEvent) -> Void
    ) -> ServicePublication {
        ServicePublication(
            core: core, service: service, admission: signaling.knocks, shown: shownApplication,
            onEvent: { [emit, servers] event in
                emit(event)
                servers.check(after: event)
            },
            report: { [emit, weak state] event in
                var viewers: Int?
                if case .serviceInfo(let info) = event { viewers = state?.with { $0.take(info) } }
                report(event)
                if let viewers { emit(.viewerCount(viewers)) }
            })
    }
}

extension EndReason {
    /// The reason for a session that was stopped while it started.
    static let hostStopped = EndReason(.stopped, "the host ended the broadcast")
}
