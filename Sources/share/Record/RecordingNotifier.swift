import ArgumentParser
import CommandSupport
import FoundationEssentials
import LinuxRuntime
import MediaCore
import Recording
import SessionBus

/// Says on the desktop that a recording is there; a click opens it. A process of its own waits for the click.
enum RecordingNotifier {
    static func show(_ file: RecordedFile) {
        let environment = ProcessInfo.processInfo.environment
        guard SessionBusAddress.running(in: environment) != nil,
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        else { return }
        let path = URL(fileURLWithPath: file.path).path
        _ = try? Subprocess(program, ["recordings", "notify", path], environment: environment, group: .session)
    }
}

/// Started by `share record --screen` at its end.
struct NotifyRecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify", abstract: "Show on the desktop that a recording is there.", shouldDisplay: false)

    @Argument(help: "The file.")
    var file: String

    private static let seconds = 60

    func run() throws {
        guard let address = SessionBusAddress.running(in: ProcessInfo.processInfo.environment) else { return }
        let name = UntrustedText.clean(file.fileName, limit: 128, fallback: "the recording")
        let answer = OfferNotification.show(
            summary: "The recording of your screen is saved", body: name, action: "Open", seconds: Self.seconds,
            address: address)
        guard answer == .chosen, let opener = ExecutablePath.find("xdg-open") else { return }
        ForegroundProgram.open(opener, [file])
    }
}
