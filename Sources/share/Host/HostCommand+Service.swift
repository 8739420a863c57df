import Admission
import CommandSupport
import ControlSocket
import Extensions
import Glibc
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import ShareKit
import Signaling

/// Broadcasting to a service instead of to viewers.
extension HostCommand {
    /// Asks the user, sets the extension up, and broadcasts to it until the end.
    func broadcast(
        to manifest: ExtensionManifest, _ configuration: HostSession.Configuration, _ identity: Identity,
        _ run: HostRun
    ) throws {
        var destination = try pair(with: manifest, .broadcast, identity, run)
        defer { blocking { [destination] in await destination.close() } }
        if relay != nil || manifest.description.isRelay, case .service(var paired) = destination {
            paired.decidesOnViewers = accept != .any
            paired.title = listed ? title ?? "" : nil
            destination = .service(paired)
        }
        try claimSystemBroadcast(run)
        let media = try makeMedia(run)
        let output = run.output
        let prompt = Prompt.withNotifications()
        let admission = AdmissionPolicy(
            accept, known: KnownViewers(), prompt: prompt, askElsewhere: WindowPrompt.ofProcess.askElsewhere)
        let controller: BroadcastController
        do throws(EndReason) {
            controller = try BroadcastController(
                destination, media, configuration, identity: identity, decide: { await admission.decide($0) },
                emit: { run.handle($0) },
                report: {
                    ServiceEventReporter.report($0, output)
                    if case .broadcastURL(let url) = $0 { run.onLive.live(at: url) }
                    run.system.with { $0 }?.update()
                })
            if run.ending.with({ $0 }) == nil {
                try blocking(throwing: { () throws(EndReason) in try await controller.start() })
            }
        } catch {
            output.ended(error)
            throw CommandError(error)
        }
        ErrorOutput.writeLine("share: broadcasting to \(UntrustedText.quote(destination.name)) alone; Ctrl-C ends it")
        // Also for the question after a lock of the session.
        if isatty(STDIN_FILENO) == 1 { prompt.start() }
        try serve(
            controller.control, id: .random(), media.summary, service: destination,
            prompt, run, announce: {})
    }

    /// Whether an installed service is a relay, which passes on to viewers what is encrypted for them.
    func isSealed(for service: ExtensionManifest) throws(CommandError) -> Bool {
        guard service.description.isRelay else {
            guard relayMayWatch else { return false }
            throw CommandError(
                sentence: "\(service.id) is no relay: it gets what is shared", remedy: "Leave out --relay-may-watch.",
                status: .usage)
        }
        if !relayMayWatch, let (_, source) = fixedToken {
            throw CommandError(
                sentence: "the token from \(source) is for players at this host, and all watch at the relay",
                remedy: "Leave it out.", status: .usage)
        }
        return !relayMayWatch
    }

    /// Pairs with a relay, and broadcasts to viewers who reach this host over it.
    func broadcastToViewers(
        overRelay manifest: ExtensionManifest, _ route: RouteChoice, _ configuration: HostSession.Configuration,
        _ identity: Identity, _ run: HostRun
    ) throws {
        let limit = route == .auto ? directViewers : nil
        let purpose =
            route == .relay
            ? ServicePrompt.Purpose.relay : .tunnel(directViewers: limit, isSealed: !relayMayWatch)
        let destination = try pair(with: manifest, purpose, identity, run)
        guard case .service(var relay) = destination else { preconditionFailure("a relay is a service peer") }
        defer { blocking { await destination.close() } }
        relay.title = listed ? title ?? "" : nil
        var configuration = configuration
        configuration.tunnel = relay
        configuration.handover.directViewers = limit
        configuration.handover.isRelayOnly = route == .relay
        configuration.handover.isSealed = !relayMayWatch
        configuration.ice.grantedServers = relay.grantedServers
        // Nobody has to reach this host's own server.
        if listen == nil { (configuration.listenHost, configuration.listenPort) = ("127.0.0.1", 0) }
        try broadcastToViewers(configuration, identity, run)
    }

    /// Shows the alert of a service, unless its link is that of `--relay`, and asks for what its setup needs. A
    /// countdown follows.
    private func pair(
        with manifest: ExtensionManifest, _ purpose: ServicePrompt.Purpose, _ identity: Identity,
        _ run: HostRun
    ) throws -> BroadcastDestination {
        let isTyped = relay != nil
        if !isTyped, let obstacle = ServicePrompt.obstacle { throw obstacle }
        let application = ApplicationInfo(id: "io.sharekit.share", name: ownName)
        let prompt = ServicePrompt(
            application: application, address: manifest.destination, isOverRelay: manifest.service?.relay != nil,
            purpose: purpose, isTyped: isTyped, values: try FieldValues(arguments: field, files: fieldFile).values(),
            isWanted: { run.ending.with { $0 } == nil })
        // Other programs see that it asks.
        let asking = PendingBroadcast(service: manifest.id.text)
        let control = makeControl(
            asking, id: .random(), source: asking.summary, service: manifest.id.text, clips: nil, camera: nil,
            stop: { run.stop($0) }
        ).server
        defer { if let control { blocking { await control.close() } } }
        let service: [(String, JSONValue)] = [("service", .string(manifest.id.text))]
        run.output.event("pairing", service)
        let (countdown, isPeer) = (countdown, manifest.upload == nil)
        if isPeer { ErrorOutput.showStatus("share: asking \(manifest.id) at \(manifest.destination) ...") }
        defer { ErrorOutput.showStatus("") }
        let destination: BroadcastDestination
        do throws(BroadcastRefusal) {
            destination = try blocking(throwing: { () throws(BroadcastRefusal) in
                try await BroadcastActivity.pair(with: manifest, application: application, identity: identity) {
                    question in
                    ErrorOutput.showStatus("")
                    return await answer {
                        guard let setup = prompt.ask(question) else { return nil }
                        // A service waits for the broadcast from its answer on, so the countdown comes before. Refused
                        // values are asked for again, at once.
                        guard isPeer, (try? question.service.setup(setup)) != nil else { return setup }
                        Self.countDown(countdown, until: run.ending, run.output)
                        return run.ending.with { $0 } == nil ? setup : nil
                    }
                }
            })
        } catch {
            switch error {
            case .setup(let reason): throw CommandError(reason)
            case .pairing(let failure):
                run.output.event(
                    "pairing-refused",
                    service + [("reason", .string("\(failure)")), ("code", .string(failure.code))])
                throw CommandError(sentence: "\(failure)", status: failure.status)
            }
        }
        run.output.event("paired", service + [("name", .string(destination.name))])
        if isPeer {
            ErrorOutput.writeLine("share: paired with \(UntrustedText.quote(destination.name))")
        } else {
            Self.countDown(countdown, until: run.ending, run.output)
        }
        return destination
    }

    static func serviceID(_ text: String) throws -> ServiceID {
        guard let id = ServiceID(text) else {
            throw CommandError(
                sentence: "'\(text)' is no identifier of a service, such as com.example.conference", status: .usage)
        }
        return id
    }

    /// The installed extension of this identifier. If `id` is empty: the preferred one, or one that the user chooses.
    static func installedExtension(_ id: String) throws -> ExtensionManifest {
        do {
            guard id.isEmpty else { return try ExtensionStore().read(serviceID(id)) }
            if let preferred = try PreferredService().get() { return try ExtensionStore().read(preferred) }
            return try chosenExtension()
        } catch let error as ExtensionError {
            throw CommandError(
                sentence: "\(error)", remedy: "Ask the service for its link, and run: share extension install LINK",
                status: error.status)
        }
    }

    /// The service of a relay, as it describes itself now.
    static func relay(at text: String) throws(CommandError) -> ExtensionManifest {
        let (link, description) = try ServiceLookup.describe(text)
        return ExtensionManifest(description, service: link)
    }

    private static func chosenExtension() throws -> ExtensionManifest {
        let listing = try ExtensionStore().list()
        for error in listing.errors { ErrorOutput.writeLine("share: \(error)") }
        guard !listing.extensions.isEmpty else {
            throw CommandError(
                sentence: "no service is preferred, and none is installed",
                remedy: "Ask a service for its link, and run: share extension install LINK", status: .unknownService)
        }
        if let obstacle = ServicePrompt.obstacle { throw obstacle }
        guard let chosen = ServicePicker(services: listing.extensions).pick() else {
            throw CommandError(sentence: "you chose no service", status: .declined)
        }
        return chosen
    }
}

/// Runs a blocking question on a thread of its own.
func answer<Answer: Sendable>(_ ask: @escaping @Sendable () -> Answer) async -> Answer {
    await withCheckedContinuation { continuation in
        _ = NamedThread("question") { continuation.resume(returning: ask()) }
    }
}

/// Reports what a service tells of the broadcast that it receives.
enum ServiceEventReporter {
    static func report(_ event: ServiceEvent, _ output: DataOutput) {
        switch event {
        case .serviceInfo(let info):
            output.event("service-info", fields(info))
            if let comment = info.comment {
                ErrorOutput.writeLine(
                    "share: \(UntrustedText.quote(comment.from ?? "")): \(UntrustedText.quote(comment.text))")
            }
        case .broadcastURL(let url):
            // One link, on stdout as every link; a relay tells it again when it has changed.
            if output.isJSON { output.event("broadcast-url", ["url": .string(url)]) } else { output.line(url) }
            ErrorOutput.writeLine(
                output.isJSON
                    ? "share: watch at \(url)"
                    : "share: give the link above to whoever may watch; it replaces any earlier one")
        // The host's own admission reports what becomes of viewers.
        case .viewer, .viewerWithdrawn, .viewerJoined, .viewerLeft, .finished, .candidates, .alternates,
            .slowestBitrate, .reconnect:
            break
        }
    }

    static func fields(_ info: ServiceInfo) -> [(String, JSONValue)] {
        [
            ("viewers", info.viewers.map { .integer($0) } ?? .null),
            ("likes", info.likes.map { .integer($0) } ?? .null),
            (
                "comment",
                info.comment.map { .object(["name": .string($0.from ?? ""), "text": .string($0.text)]) } ?? .null
            ),
        ]
    }
}
