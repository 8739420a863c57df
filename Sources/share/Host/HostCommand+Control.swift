import CommandSupport
import Control
import ControlSocket
import FoundationEssentials
import Glibc
import Host
import Identifiers
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionBus

/// What a host offers to other programs of its user, and the countdown before it.
extension HostCommand {
    private var isOfSession: Bool {
        chosenSource.isOfDesktop && SystemBroadcast.isSession(display, ProcessInfo.processInfo.environment)
    }

    /// Before the user is asked anything.
    /// - Throws: if the screen is broadcast already.
    func checkSystemBroadcast() throws(CommandError) {
        if isOfSession { try SystemBroadcast.check(ProcessInfo.processInfo.environment) }
    }

    /// Makes this the one broadcast of the session's screen, unless it shows the test video or another display. Called
    /// when the user has agreed: a host that still asks keeps no other from broadcasting.
    /// - Throws: if the screen is broadcast already.
    func claimSystemBroadcast(_ run: HostRun) throws(CommandError) {
        guard isOfSession else { return }
        let system = try SystemBroadcast(environment: ProcessInfo.processInfo.environment) { run.stop($0) }
        run.system.with { $0 = system }
    }

    /// The keys of the terminal; nil without a terminal, and for a program that reads stdout.
    func keyboard(
        _ broadcast: any ControllableBroadcast, _ control: BroadcastControl, _ prompt: Prompt, _ link: Link?,
        hasControl: Bool
    ) -> HostKeyboard? {
        guard !json, HostKeyboard.isPossible else { return nil }
        return HostKeyboard(broadcast, control, prompt: prompt, link: link?.text, hasControl: hasControl)
    }

    /// The desktop's key that blanks; nil unless this is the screen of a Wayland session.
    func blankShortcut(_ broadcast: any ControllableBroadcast) -> BlankShortcut? {
        let environment = ProcessInfo.processInfo.environment
        guard isOfSession, display == nil, PortalSource.isWayland(environment),
            let address = SessionBusAddress.running(in: environment)
        else { return nil }
        return BlankShortcut(broadcast, address: address)
    }

    /// Opens the control socket. Without one the broadcast goes on, and a sentence says so.
    func makeControl(
        _ broadcast: any ControllableBroadcast, id: BroadcastID, source: String, service: String?, link: Link? = nil,
        clips: ClipControl?, camera: CameraControl?, controlRefusal: String? = nil,
        stop: @escaping @Sendable (EndReason) -> Void
    ) -> (control: BroadcastControl, server: ControlSocketServer?) {
        let asks = accept != .any && isatty(STDIN_FILENO) == 1
        let control = BroadcastControl(
            broadcast,
            .init(
                id: id, name: ownName, source: source, service: service, link: link?.text,
                readmission: asks
                    ? "If it was a mistake: they may knock again, and you are asked about them again."
                    : "They are refused until this broadcast ends; a broadcast that asks (--accept ask) could admit them again.",
                clips: clips, camera: camera, controlRefusal: controlRefusal),
            stop: stop)
        do throws(ControlSocketFailure) {
            let server = try ControlSocketServer(
                name: id.text, in: ControlSocketFolder(environment: ProcessInfo.processInfo.environment)
            ) { await control.answer($0) }
            return (control, server)
        } catch {
            ErrorOutput.writeLine("share: share status and its like will not find this broadcast: \(error.message)")
            return (control, nil)
        }
    }

    /// Counts down in the status line, or with one line where there is no terminal. Returns early if there is a reason
    /// to end.
    static func countDown(_ countdown: Int, until ending: Monitor<EndReason?>, _ output: DataOutput) {
        guard countdown > 0 else { return }
        output.event("countdown", ["seconds": .integer(countdown)])
        ErrorOutput.writeLine("share: the broadcast begins in \(countdown) s; Ctrl-C cancels it")
        let begin = ContinuousClock.now
        for left in (1...countdown).reversed() {
            ErrorOutput.showStatus("\u{25CB} begins in \(left) s")
            let wait = Double(countdown - left + 1) - seconds(ContinuousClock.now - begin)
            if waitForEnd(ending, seconds: wait) != nil { break }
        }
        ErrorOutput.showStatus("")
    }
}
