import Admission
import CommandSupport
import Control
import ControlSocket
import FoundationEssentials
import Host
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionBus
import ShareKit

/// The broadcast of the session's screen, of which a user session has one: it holds the lock and the bus's name, shows
/// an indicator, and pauses while the session is locked.
///
/// Hosts of the test video, and of a display other than the session's, are none.
final class SystemBroadcast: Sendable {
    private let lock: SingleInstanceLock?
    private let bus: BroadcastBus
    private let pause: Monitor<LockPause?>
    private let stop: @Sendable (EndReason) -> Void

    /// Whether a host of this display shows the screen of the user's session.
    /// - Parameter display: nil for the session's own. Without a session (over SSH, say) every display is it.
    static func isSession(_ display: String?, _ environment: [String: String]) -> Bool {
        guard let display, let own = environment["DISPLAY"], !own.isEmpty else { return true }
        return withoutScreen(display) == withoutScreen(own)
    }

    /// ":0" for ":0.0", as the screens of a display are one desktop.
    private static func withoutScreen(_ display: String) -> Substring {
        guard let colon = display.lastIndex(of: ":"), let point = display[colon...].firstIndex(of: ".") else {
            return display[...]
        }
        return display[..<point]
    }

    /// Takes the lock and the name, before anything is captured.
    /// - Parameter stop: called when a program asks for the end; it returns at once.
    /// - Throws: if there is a system broadcast already.
    init(environment: [String: String], stop: @escaping @Sendable (EndReason) -> Void) throws(CommandError) {
        self.stop = stop
        do throws(SingleInstanceLock.Failure) {
            lock = try SingleInstanceLock(.systemBroadcast, in: ControlSocketFolder(environment: environment))
        } catch {
            guard case .taken(let process) = error else {
                // The control socket uses the same folder, and says what is wrong with it.
                lock = nil
                bus = try BroadcastBus(environment, stop: stop)
                pause = Monitor(nil)
                return
            }
            throw Self.alreadyBroadcasting(process)
        }
        bus = try BroadcastBus(environment, stop: stop)
        pause = Monitor(nil)
    }

    /// - Throws: if another process has the lock.
    static func check(_ environment: [String: String]) throws(CommandError) {
        do throws(SingleInstanceLock.Failure) {
            try SingleInstanceLock(.systemBroadcast, in: ControlSocketFolder(environment: environment)).close()
        } catch {
            if case .taken(let process) = error { throw alreadyBroadcasting(process) }
        }
    }

    static func alreadyBroadcasting(_ process: Int?) -> CommandError {
        CommandError(
            sentence: "the screen of this session is being broadcast already"
                + (process.map { " (by the process \($0))" } ?? ""),
            remedy: "There is one broadcast of the screen at a time: see share status; share stop ends it.",
            status: .alreadyBroadcasting)
    }

    /// The broadcast is live from now on: other programs see it, and a lock of the session pauses it.
    func begin(
        _ broadcast: any ControllableBroadcast, _ control: BroadcastControl, _ questions: TrayQuestions,
        service: BroadcastDestination?, prompt: Prompt, _ output: DataOutput
    ) {
        questions.onChange { [bus] in bus.update() }
        bus.begin(broadcast, control, questions, service: service.map { "\($0.id.text) \($0.name)" } ?? "")
        let lockPause = LockPause(broadcast, prompt: prompt, output, stop: stop)
        lockPause.observe(ProcessInfo.processInfo.environment)
        pause.with { $0 = lockPause }
    }

    /// Shows the state anew, as when the service has told something. Does not block.
    func update() { bus.update() }

    /// Takes note of an event of the broadcast. Does not block.
    func handle(_ event: BroadcastEvent) {
        bus.update()
        if case .comment(let comment, _) = event { bus.tell(comment) }
        if case .holdChanged(let change) = event, change.hold == .pause, !change.hasBegun {
            pause.with { $0 }?.resumed()
        }
    }

    /// Shows for a while where a viewer points. Does not block.
    func show(_ pointing: PointingReport.Line) { bus.show(pointing) }

    /// Leaves the bus and releases the lock. Blocks until that is done, for a second at most.
    func close() {
        pause.with { $0 }?.close()
        bus.close()
        lock?.close()
    }
}
