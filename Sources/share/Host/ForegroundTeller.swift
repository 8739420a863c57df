import Admission
import CommandSupport
import Host
import ImageFile
import LinuxRuntime
import MediaCore
import X11Capture

/// Tells who receives a broadcast which application is in front, as `--tell-application` allows.
final class ForegroundTeller: Sendable {
    private let observer: ForegroundApplicationObserver

    /// - Returns: nil where the display does not tell; a sentence says so.
    init?(_ broadcast: any ControllableBroadcast, display: String?, hiddenWindows: [WindowPattern]) {
        // The newest one replaces one that was not told yet.
        let (applications, feed) = AsyncStream.makeStream(
            of: ForegroundApplication.self, bufferingPolicy: .bufferingNewest(1))
        do throws(SourceFailure) {
            observer = try ForegroundApplicationObserver(
                display: display, hiddenWindows: hiddenWindows, onChange: { feed.yield($0) })
        } catch {
            ErrorOutput.writeLine("share: the application in front cannot be told: \(error.message)")
            return nil
        }
        Task {
            for await application in applications { await broadcast.annotate(ApplicationInfo(application)) }
        }
    }

    func close() { observer.close() }
}

extension ApplicationInfo {
    fileprivate init(_ application: ForegroundApplication) {
        let icon = application.icon.flatMap {
            ImageFile.png(width: $0.width, height: $0.height, pixels: $0.pixels)
        }
        self.init(id: application.id, name: application.name, icon: icon.flatMap { try? PNGIcon($0) })
    }
}
