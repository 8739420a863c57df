import CommandSupport
import Control
import ControlSocket
import FoundationEssentials
import Glibc
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import SessionBus
import ShareKit
import Signaling
import WindowPlayout
import X11Capture

/// The broadcast from the first question to its end.
extension HostCommand {
    mutating func run() throws {
        try complaining {
            try chooseSource()
            try host()
        }
    }

    /// The broadcast's name.
    var ownName: String { name ?? DefaultName.text }

    /// Asks what to share where there is a choice: in the terminal, or in a window if this was started from the
    /// desktop.
    private mutating func chooseSource() throws {
        let hasTerminal = isatty(STDIN_FILENO) == 1 && ErrorOutput.isTerminal
        let isFromDesktop = isatty(STDIN_FILENO) != 1 && accept == .ask && preferredExtension == nil && relay == nil
        guard source == nil, chosenSource == .screen, !json,
            hasTerminal || isFromDesktop && WindowQuestion.isPossible,
            let found = try? DesktopSources(display: display),
            let picker = SourcePicker(found, cameras: { ShareableSource.cameras })
        else { return }
        guard let choice = picker.pick() else {
            throw CommandError(sentence: "nothing was chosen to be shared", status: .declined)
        }
        source = choice
    }

    private func host() throws {
        let hasTerminal = isatty(STDIN_FILENO) == 1
        // Checked here and not in `validate`, so that an invalid option is reported first.
        if preferredExtension == nil, accept == .ask, !hasTerminal, !WindowQuestion.isPossible {
            throw CommandError(
                sentence: "there is no terminal to ask in, and no display",
                remedy: "Choose who may join: --accept known or --accept any.", status: .usage)
        }
        FileDescriptors.raiseLimit()
        let output = DataOutput(isJSON: json, beginsWithLink: hasOwnLink)
        let ending = Monitor<EndReason?>(nil)
        Signals.handle { name in
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
        }
        // Before anything is asked or captured.
        let kept = try RecordingOutputs(keep, name: ownName, output)
        try checkSystemBroadcast()
        var run = HostRun(output: output, ending: ending, kept: kept, camera: try cameras.makeFeed(chosenSource))
        run.onLive = LiveCommand(onLive, title: title ?? ownName)
        defer { run.system.with { $0 }?.close() }
        let configuration = makeConfiguration(try ListenAddress(listen), try serverOptions.servers())
        let identity = try makeIdentity()
        // Nothing is captured before the user has agreed.
        if let relay, hasOwnLink {
            try broadcastToViewers(overRelay: Self.relay(at: relay), route, configuration, identity, run)
        } else if let relay {
            try broadcast(to: Self.relay(at: relay), configuration, identity, run)
        } else if let preferredExtension {
            let service = try Self.installedExtension(preferredExtension)
            if try isSealed(for: service) {
                // As over a relay that the user names: the relay alone sends, and cannot watch.
                try broadcastToViewers(overRelay: service, .relay, configuration, identity, run)
            } else {
                try broadcast(to: service, configuration, identity, run)
            }
        } else {
            try broadcastToViewers(configuration, identity, run)
        }
    }

    func broadcastToViewers(
        _ configuration: HostSession.Configuration, _ identity: Identity, _ run: HostRun
    ) throws {
        try claimSystemBroadcast(run)
        let media = try makeMedia(run)
        let prompt = Prompt.withNotifications()
        let admission = AdmissionPolicy(
            accept, known: KnownViewers(), prompt: prompt, hasPageOfRelay: configuration.tunnel != nil,
            askElsewhere: WindowPrompt.ofProcess.askElsewhere)
        var configuration = configuration
        let question = RightQuestion(
            prompt: prompt, askElsewhere: WindowPrompt.ofProcess.askElsewhere,
            takingBack: run.control.with { $0 }?.screen.takingBackLater, tray: run.questions)
        configuration.viewers.areShown = common.showsViewers
        if viewerRights.control != .no, run.control.with({ $0 == nil }), run.controlRefusal.with({ $0 == nil }) {
            ErrorOutput.writeLine("share: viewers cannot control \(chosenSource.text), in spite of --control")
        }
        var messages = MessagePolicy(rights: viewerRights) { await question.ask($0) }
        messages.control = run.control.with { $0 }?.target
        let pointing = PointingReporter { run.report($0) }
        messages.showPointers = { pointing.show($0) }
        if let control = run.control.with({ $0 }) {
            messages.showPointers = control.showPointers { pointing.show($0) }
        }
        configuration.viewers.messages = messages
        let broadcast: PeerBroadcast
        do throws(EndReason) {
            broadcast = try PeerBroadcast(
                media, configuration, identity: identity, decide: { await admission.decide($0) },
                emit: { run.handle($0) })
        } catch {
            throw CommandError(error)
        }
        if isatty(STDIN_FILENO) == 1, accept != .any { prompt.start() }
        // A relay is asked after the countdown.
        if configuration.tunnel == nil { Self.countDown(countdown, until: run.ending, run.output) }
        guard run.ending.with({ $0 }) == nil else { return try run.end(broadcast.control) }
        let link: Link
        do throws(EndReason) {
            link = try blocking(throwing: { () throws(EndReason) in try await broadcast.open() })
        } catch {
            throw CommandError(error)
        }
        // Created before the link is printed, so that a viewer's window on this display finds it.
        let mark = chosenSource.isOfDesktop ? try? DisplayCaptureMarker(link.id.text, display: display) : nil
        defer { mark?.close() }
        let announcement = announce ? try makeAnnouncement(of: link, run.output) : nil
        defer { announcement?.close() }
        try serve(broadcast.control, id: link.id, media.summary, service: nil, link: link, prompt, run) {
            try printLink(link, run.output)
            showLink(link, run)
            run.onLive.live(at: link.text)
        }
    }

    /// Runs a broadcast that has started to its end.
    /// - Parameters:
    ///   - service: receives it alone; nil for viewers with the link.
    ///   - link: for viewers; nil: the broadcast has none of its own.
    ///   - announce: called when other programs can control it; the broadcast ends if it throws.
    func serve(
        _ broadcast: any ControllableBroadcast, id: BroadcastID, _ summary: String, service: BroadcastDestination?,
        link: Link? = nil, _ prompt: Prompt, _ run: HostRun, announce: () throws -> Void
    ) throws {
        let control = makeControl(
            broadcast, id: id, source: summary, service: service?.name, link: link, clips: run.kept.control,
            camera: run.camera.map { CameraControl($0) }, controlRefusal: run.controlRefusal.with { $0 },
            stop: { run.stop($0) })
        let server = control.server
        defer { if let server { blocking { await server.close() } } }
        blocking { await run.kept.record(broadcast) }
        let button = run.kept.watchButton(keep)
        defer { button?.close() }
        do {
            try announce()
        } catch {
            blocking { await broadcast.stop(EndReason(.stopped, "the link cannot be written")) }
            throw error
        }
        let screenControl = link == nil ? nil : run.control.with { $0 }
        screenControl?.onTakeBack { [weak broadcast] in Task { await broadcast?.takeControlBack() } }
        OpenQuestions.ofProcess.onChange { [weak broadcast] in broadcast?.holdControl($0) }
        defer {
            OpenQuestions.ofProcess.onChange(nil)
            screenControl?.end()
        }
        let keyboard = keyboard(broadcast, control.control, prompt, link, hasControl: screenControl != nil)
        keyboard?.start()
        defer { keyboard?.close() }
        let shortcut = blankShortcut(broadcast)
        defer { shortcut?.close() }
        run.system.with { $0 }?.begin(
            broadcast, control.control, run.questions, service: service, prompt: prompt, run.output)
        let teller =
            tellApplication && chosenSource.isOfDesktop
            ? ForegroundTeller(broadcast, display: display, hiddenWindows: hideWindow) : nil
        defer { teller?.close() }
        report(broadcast, run)
        try run.end(broadcast)
        try run.kept.finish()
    }

    private func makeConfiguration(_ place: ListenAddress, _ servers: [ICEServer]) -> HostSession.Configuration {
        var settings = HostSession.Configuration(
            listenHost: place.host, listenPort: place.port, linkHost: place.linkHost,
            fixedToken: fixedToken?.token, framesPerSecond: fps, maximumBitrate: .kilobits(bitrate),
            contentHint: mode == .text ? .text : mode == .motion ? .motion : nil, name: ownName)
        settings.isAnnounced = announce
        (settings.furtherPorts, settings.mediaPorts) = (place.furtherPorts, place.mediaPorts)
        settings.ice.servers = servers
        settings.ice.usesUPnP = upnp
        settings.ice.usesOnlyRelays = serverOptions.relayOnly
        return settings
    }

    /// Shows the link in a window where its user cannot see stdout: started from the desktop, without a terminal.
    private func showLink(_ link: Link, _ run: HostRun) {
        guard isatty(STDIN_FILENO) != 1, accept == .ask, !json, WindowQuestion.isPossible else { return }
        let question = WindowQuestion(
            "Your screen is shared. Give this link to whoever may watch; you are asked about each viewer.",
            details: [link.text] + [LinkAdvice(link, asks: true).text].compactMap(\.self),
            answers: ["End the broadcast", "Close"], copied: link.text)
        _ = NamedThread("link") {
            // Closing the window is no wish to end.
            if let answer = WindowPrompt().ask(question, run.linkWindow), answer.button == 0, answer.isPressed {
                run.stop(EndReason(.stopped, "ended in the window with the link"))
            }
        }
    }

    /// Tells the local network of the broadcast.
    private func makeAnnouncement(of link: Link, _ output: DataOutput) throws(CommandError) -> ServicePublisher {
        do throws(LocalNetworkFailure) {
            return try ServicePublisher(
                ownName, port: link.port, txtRecord: AnnouncedBroadcast.txtRecord(of: link),
                environment: ProcessInfo.processInfo.environment
            ) { reason in
                output.eventAfterLink("announcement-ended", [("reason", .string(reason))])
                ErrorOutput.writeLine("share: the local network is not told any more: \(reason)")
            }
        } catch {
            throw CommandError(
                sentence: "the local network cannot be told: \(error.message)",
                remedy: "Install and start avahi-daemon, or leave out --announce.", status: .unreachable)
        }
    }

    private func printLink(_ link: Link, _ output: DataOutput) throws {
        try output.link(link.text)
        ErrorOutput.writeLine("share: give the link above to whoever may watch; Ctrl-C ends it")
        if copy { ErrorOutput.writeLine("share: \(ErrorOutput.copied(link.text))") }
        // The link above, and questions below stay in sight.
        if !json, !noQR { LinkCode(link.text)?.show(leaving: 12) }
        if let words = LinkAdvice(link, asks: accept != .any).text { ErrorOutput.writeLine("share: \(words)") }
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
