public import Admission
import ExtensionChannel
import Identifiers
public import PeerConnection

/// The values with which a broadcast to the upload program of an extension begins, after the user has agreed.
public struct ExtensionLaunch: Sendable {
    public let configuration: ExtensionBroadcast.Configuration

    /// Runs the setup program, if the extension has one.
    /// - Parameters:
    ///   - manifest: of an extension with an upload program.
    ///   - values: a value for each field of the manifest. The setup program's take precedence.
    /// - Returns: nil if the user does not want to broadcast.
    public static func prepare(
        _ manifest: ExtensionManifest, application: ApplicationInfo, values: [String: String]
    ) async throws(EndReason) -> ExtensionLaunch? {
        guard let upload = manifest.upload else {
            throw EndReason(.unknownService, "\(manifest.id) has no upload program")
        }
        let limits = ExtensionLifecycle.Limits()
        var start = ExtensionStart(
            application: BroadcastingApplication(
                id: application.id, name: application.name, icon: application.icon?.bytes), setup: values,
            memoryBudget: limits.memoryBudget)
        start.service = manifest.service?.text
        if let setup = manifest.setup {
            let answer = try await ExtensionSetup.run(
                ExtensionProcess.Program(path: setup, arguments: manifest.setupArguments, isSetup: true),
                name: manifest.name, start: start)
            guard let answer else { return nil }
            start.setup.merge(answer) { $1 }
        }
        var configuration = ExtensionBroadcast.Configuration(
            program: ExtensionProcess.Program(path: upload, arguments: manifest.uploadArguments), name: manifest.name,
            start: start)
        configuration.limits = limits
        return ExtensionLaunch(configuration: configuration)
    }
}
