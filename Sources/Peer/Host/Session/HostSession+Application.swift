public import Admission
import LinuxRuntime
import Signaling

extension HostSession {
    /// Tells a service, and a relay to which the broadcast is published, or over which it is reached.
    public func annotate(_ application: ApplicationInfo) async {
        shownApplication.with { $0 = application }
        if let publication = state.with({ $0.publication }) { return publication.client.noteApplication() }
        await state.with({ $0.tunnel })?.note(application)
    }
}
