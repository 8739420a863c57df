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
        let isRunning = isStopped.with { isStopped in
            if !isStopped { self.publication.with { $0 = publication } }
            return !isStopped
        }
        guard isRunning else {
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
        let (isStopped, current) = (isStopped, publication)
        return await RelayFailover(
            make: { self.makePublication($0, report: report) },
            take: { publication, paired in
                let isWanted = isStopped.with { isStopped in
                    if !isStopped { current.with { $0 = publication } }
                    return !isStopped
                }
                self.keepServersValid(of: paired, isAnother: true)
                return isWanted
            },
            isWanted: { !isStopped.with { $0 } }, emit: emit
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
            report: { [emit, viewersAtService, serviceInfo] event in
                if case .serviceInfo(let info) = event { serviceInfo.with { $0.take(info) } }
                report(event)
                guard case .serviceInfo(let info) = event, let viewers = info.viewers.map({ max($0, 0) }) else {
                    return
                }
                let isNew = viewersAtService.with { known in
                    defer { known = viewers }
                    return known != viewers
                }
                if isNew { emit(.viewerCount(viewers)) }
            })
    }
}

extension EndReason {
    /// The reason for a session that was stopped while it started.
    static let hostStopped = EndReason(.stopped, "the host ended the broadcast")
}
