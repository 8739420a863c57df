import Admission
import CommandSupport
import Control
import ControlSocket
import Foundation
import ICEServers
import LinuxRuntime
import MediaCore
import Publishing
import Sessions
import ShareKit
import Transport
import WindowPlayout
import X11Capture

/// The broadcast from the first question to its end.
extension HostCommand {
    mutating func run() throws {
        do {
            try chooseSource()
            try host()
        } catch let complaint as Complaint {
            throw complaint.report()
        }
    }

    /// Asks what to share, in a terminal where there is a choice.
    private mutating func chooseSource() throws {
        guard source == nil, chosenSource == .screen, !json, isatty(STDIN_FILENO) == 1, ErrorOutput.isTerminal,
            let found = try? DesktopSources(display: display),
            let picker = SourcePicker(found, cameras: { SourceLine.cameras })
        else { return }
        guard let choice = picker.pick() else {
            throw Complaint(sentence: "nothing was chosen to be shared", status: .declined)
        }
        source = choice
    }

    private func host() throws {
        let hasTerminal = isatty(STDIN_FILENO) == 1
        // Checked here and not in `validate`, so that an invalid option is reported first.
        if preferredExtension == nil, accept == .ask, !hasTerminal {
            throw Complaint(
                sentence: "there is no terminal to ask in",
                remedy: "Choose who may join: --accept known or --accept any.", status: .usage)
        }
        FileDescriptors.raiseLimit()
        let output = DataOutput(isJSON: json)
        let ending = Monitor<EndReason?>(nil)
        Signals.handle { name in
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
        }
        // Before anything is asked or captured.
        let kept = try KeptMedia(keep, name: name, output)
        let system = try makeSystemBroadcast { reason in ending.change { $0 = $0 ?? reason } }
        defer { system?.close() }
        let run = HostRun(
            output: output, ending: ending, system: system, kept: kept, camera: try cameras.makeFeed(chosenSource))
        let configuration = makeConfiguration(try ListenAddress(listen), try serverOptions.servers())
        let identity = try makeIdentity()
        // Nothing is captured before the user has agreed.
        if let relay, route != .relay {
            try broadcastToViewers(overRelay: Self.relay(at: relay), configuration, identity, run)
        } else if let relay {
            try broadcast(to: Self.relay(at: relay), configuration, identity, run)
        } else if let preferredExtension {
            try broadcast(to: Self.installedExtension(preferredExtension), configuration, identity, run)
        } else {
            try broadcastToViewers(configuration, identity, run)
        }
    }

    func broadcastToViewers(
        _ configuration: HostSession.Configuration, _ identity: Identity, _ run: HostRun
    ) throws {
        let media = try makeMedia(run)
        let notifier = KnockNotifier()
        let prompt = Prompt(notify: { notifier.show($0) })
        let admission = AdmissionPolicy(accept, known: KnownViewers(), prompt: prompt)
        let broadcast: PeerBroadcast
        do throws(EndReason) {
            broadcast = try PeerBroadcast(
                media, configuration, identity: identity, decide: { await admission.decide($0) },
                emit: { run.handle($0) })
        } catch {
            throw Complaint(error)
        }
        if isatty(STDIN_FILENO) == 1, accept != .any { prompt.start() }
        // A relay is asked after the countdown.
        if configuration.meeting == nil { Self.countDown(countdown, until: run.ending, run.output) }
        guard run.ending.with({ $0 }) == nil else { return try run.end(broadcast.control) }
        let link: Link
        do throws(EndReason) {
            link = try blocking(throwing: { () throws(EndReason) in try await broadcast.open() })
        } catch {
            throw Complaint(error)
        }
        // Created before the link is printed, so that a viewer's window on this display finds it.
        let mark = chosenSource.isOfDesktop ? try? DisplayCaptureMarker(link.id.text, display: display) : nil
        defer { mark?.close() }
        try serve(broadcast.control, id: link.id, media.summary, service: nil, prompt, run) {
            printLink(link, run.output)
        }
    }

    /// Runs a broadcast that has started to its end.
    /// - Parameters:
    ///   - service: receives it alone; nil for viewers with the link.
    ///   - announce: called when other programs can control it.
    func serve(
        _ broadcast: any ControllableBroadcast, id: BroadcastID, _ summary: String, service: BroadcastDestination?,
        _ prompt: Prompt, _ run: HostRun, announce: () -> Void
    ) throws {
        let control = makeControl(
            broadcast, id: id, source: summary, service: service?.name, clips: run.kept.control,
            camera: run.camera.map { CameraControl($0) },
            stop: { run.stop($0) })
        defer { if let control { blocking { await control.close() } } }
        blocking { await run.kept.record(broadcast) }
        let button = run.kept.watchButton(keep)
        defer { button?.close() }
        announce()
        run.system?.begin(broadcast, service: service, prompt: prompt, run.output)
        report(broadcast, run)
        try run.end(broadcast)
        try run.kept.finish()
    }

    private func makeConfiguration(_ place: ListenAddress, _ servers: [ICEServer]) -> HostSession.Configuration {
        var settings = HostSession.Configuration(
            listenHost: place.host, listenPort: place.port, linkHost: place.linkHost,
            fixedToken: fixedToken?.token, framesPerSecond: fps, maximumBitrate: .kilobits(bitrate),
            contentHint: mode == .text ? .text : mode == .motion ? .motion : nil, name: name)
        settings.iceServers = servers
        settings.usesUPnP = upnp
        settings.usesOnlyRelays = serverOptions.relayOnly
        return settings
    }

    private func printLink(_ link: Link, _ output: DataOutput) {
        if json { output.event("link", ["link": .string(link.text)]) } else { output.line(link.text) }
        ErrorOutput.writeLine("share: give the link above to whoever may watch; Ctrl-C ends it")
        let owner = link.relay == nil ? "my machine's own" : "the relay's own"
        let warning = "Your browser will warn about the certificate, as it is \(owner). Continue, and tell me"
        // Browsers know the certificate of a relay with --tls.
        let request = link.flags.contains(.webPKI) ? "Tell me" : warning
        ErrorOutput.writeLine("share: say with it: \"\(request) the four words that you see.\"")
        if let (_, source) = fixedToken {
            ErrorOutput.writeLine("share: players with the token from \(source) join without a question")
        }
    }

    /// Reports the statistics each second until the broadcast or the time is over.
    private func report(_ broadcast: any ControllableBroadcast, _ run: HostRun) {
        var line = StatusLine()
        let begin = ContinuousClock.now
        let duration = duration?.seconds
        var statisticsLine = StatisticsLine()
        let reportsEachSecond = json || stats || ErrorOutput.isTerminal
        while true {
            let elapsed = seconds(ContinuousClock.now - begin)
            if let duration, elapsed >= duration {
                run.stop(EndReason(.stopped, "the time is over"))
            }
            let next = min(reportsEachSecond ? 1 : .infinity, duration.map { $0 - elapsed } ?? .infinity)
            if waitForEnd(run.ending, seconds: next) != nil { break }
            guard reportsEachSecond else { continue }
            HostReporter.settle()
            guard let statistics = blocking({ await broadcast.statistics() }) else { continue }
            if json { HostReporter.report(statistics, run.output) }
            let now = seconds(ContinuousClock.now - begin)
            if stats { ErrorOutput.writeLine(statisticsLine.text(statistics, elapsed: now)) }
            ErrorOutput.showStatus(line.text(statistics, elapsed: now, columns: ErrorOutput.columns))
        }
    }
}
