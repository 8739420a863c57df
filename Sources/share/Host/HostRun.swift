import CameraCapture
import CommandSupport
import Host
import LinuxRuntime
import PeerConnection

/// One run of `share host`: where its events go, and what ends it.
struct HostRun: Sendable {
    let output: DataOutput
    /// The first reason to end.
    let ending: Monitor<EndReason?>
    /// Nil before it is claimed, and if the broadcast is none of the session's screen.
    let system = Monitor<SystemBroadcast?>(nil)
    /// The window with the link, if there is one.
    let linkWindow = WindowPrompt.Ticket()
    /// What this host records.
    let kept: RecordingOutputs
    /// The camera that it shows.
    let camera: CameraFeed?
    /// Passes input of viewers on; nil before the screen is opened, and for what cannot be controlled.
    let control = Monitor<ScreenControl?>(nil)
    /// Why nothing can be controlled, in a sentence without a full stop; nil: there is no more to say about it.
    let controlRefusal = Monitor<String?>(nil)
    /// What viewers ask for, as the tray shows it.
    let questions = TrayQuestions()
    /// Runs `--on-live`.
    var onLive = LiveCommand(nil, title: "")

    /// Reports an event of the broadcast.
    func handle(_ event: BroadcastEvent) {
        HostReporter.report(
            event, output, isEnding: ending.with { $0 } != nil,
            takingBack: control.with { $0 }?.screen.takingBack ?? "x")
        system.with { $0 }?.handle(event)
        if case .controlChanged(let change) = event { control.with { $0 }?.handle(change) }
        if case .comment(let comment, _) = event { kept.add(comment) }
        if case .ended(let reason) = event { stop(reason) }
    }

    /// Tells the user where a viewer points.
    func report(_ pointing: PointingReport.Line) {
        output.event("pointing", ["name": .string(pointing.name), "place": .string(pointing.place)])
        ErrorOutput.writeLine("share: \(pointing.text)")
        system.with { $0 }?.show(pointing)
    }

    /// Ends the run; returns at once.
    func stop(_ reason: EndReason) { ending.change { $0 = $0 ?? reason } }

    /// Ends the broadcast and reports why.
    /// - Throws: unless the user has ended it.
    func end(_ broadcast: any ControllableBroadcast) throws {
        let reason = ending.with { $0 } ?? EndReason(.stopped, "ended")
        ErrorOutput.showStatus("")
        linkWindow.withdraw()
        blocking { await broadcast.stop(reason) }
        HostReporter.settle(isEnd: true)
        output.ended(reason)
        guard reason.code == .stopped else { throw CommandError(reason) }
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }
}
