public import Admission
import HTTP
import LinuxRuntime
import Signaling

extension HostSession {
    /// Tells a service, and a relay to which the broadcast is published, or over which it is reached.
    public func annotate(_ application: ApplicationInfo) async {
        shownApplication.with { $0 = application }
        if let publication = state.with({ $0.publication }) { return publication.client.noteApplication() }
        guard let tunnel = configuration.tunnel else { return }
        // A relay that cannot be told lists the host's own name.
        try? await tunnel.tell(application: application)
    }
}

extension ServicePublication {
    /// Tells the service the newest application, once in some seconds at most.
    func noteApplication() { application.request() }

    static func application(
        _ shown: Monitor<ApplicationInfo?>, _ service: any PublishingEndpoint
    ) -> CoalescedAction {
        let told = Monitor<ApplicationInfo?>(nil)
        return CoalescedAction {
            guard let application = shown.with({ $0 }), application != told.with({ $0 }) else { return }
            // A service that takes none shows what the pairing said.
            try? await service.tell(application: application)
            told.with { $0 = application }
            try? await Task.sleep(for: applicationInterval)
        }
    }

    private static let applicationInterval = Duration.seconds(1)
}
