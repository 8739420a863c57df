public import Admission
import ExtensionChannel
import LinuxRuntime

extension ExtensionBroadcast {
    /// Tells the program that another application is shown now.
    public func annotate(_ application: ApplicationInfo) async {
        state.with { $0.process }?.send(
            .annotated(
                BroadcastingApplication(id: application.id, name: application.name, icon: application.icon?.bytes)))
    }
}
