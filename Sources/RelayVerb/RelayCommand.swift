import Admission
package import ArgumentParser
import CommandSupport
import Foundation
import HTTP
import Host
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import NATSMessaging
import PeerConnection
import ProcessMemory
import Relay
import Service
import Signaling

package struct RelayCommand: ParsableCommand {
    package init() {}

    package static let configuration = CommandConfiguration(
        commandName: commandName, abstract: "Take broadcasts in, and serve each to viewers under a link of its own.",
        usage: HelpScope.usage("\(commandName == "relay" ? "share relay" : commandName) [<options>]"),
        discussion: """
            The first line on stdout is the relay's link for publishers: 'share host --relay LINK'. \
            Each broadcast gets a link for viewers, which its publisher sees, too. Nothing is \
            decoded. A host chooses the way: over the relay, which can watch what passes \
            through it (--route relay, and auto with many viewers), or direct.
            """ + HelpScope.hint("limits, metrics, the directory, clusters, STUN and TURN"),
        version: ProgramVersion.text)

    /// The name in the usage: the verb, or that of the program which is this command alone.
    private static var commandName: String {
        let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init)
        return name.flatMap { ["share-relay", "share relay"].contains($0) ? $0 : nil } ?? "relay"
    }

    @Option(
        help: ArgumentHelp(
            "File with options, as lines like max-viewers = 500; those of the command line win.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("Address and TCP port to listen on; port 0 selects a free one.", valueName: "addr:port"))
    var listen = "0.0.0.0:0"

    @Option(
        help: ArgumentHelp(
            """
            Address and UDP port for the media of all peers, and for STUN unless --stun names a server; the address \
            of --listen (all addresses, if that is loopback) and a free port if omitted.
            """,
            valueName: "addr:port"))
    var media: String?

    @Option(
        help: ArgumentHelp(
            "Address at which peers reach the relay, if it is not this machine's own: that of a router which forwards both ports.",
            valueName: "addr"))
    var `public`: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp(
            """
            Certificate chain and private key (PEM, as from Let's Encrypt) for HTTPS: browsers open viewers' links \
            without a warning, and programs check the name. Read again when the files change.
            """,
            valueName: "file"))
    var tls: [String] = []

    @Option(
        help: .rest(
            "Name or address in the links, if it is not the one of --listen or, with --tls, the certificate's first.",
            valueName: "host"))
    var linkHost: String?

    @Option(help: ArgumentHelp("Name that publishers see.", valueName: "text"))
    var name = "Relay"

    @Option(
        help: "Whose broadcasts to take: those that you accept (ask), of known hosts, or of all with this link (any).")
    var accept: AcceptChoice = .ask

    @Option(
        help: ArgumentHelp(
            "File with the token with which WHIP tools publish without a question: 16 characters or more.",
            valueName: "file"))
    var publishToken: String?

    @Option(help: .rest("Broadcasts at a time: 1 to 4096.", valueName: "count"))
    var maxBroadcasts = 4

    @Option(help: .rest("Viewers of one broadcast at a time: 1 to 10000.", valueName: "count"))
    var maxViewers = 64

    @Option(
        help: .rest(
            """
            Viewers of all broadcasts at a time: 1 to 20000; if omitted, what the HTTPS connections for --max-viewers \
            allow.
            """, valueName: "count"))
    var maxTotalViewers: Int?

    @Option(
        help: .rest(
            "Maximum bitrate to one viewer, and of a publisher, in kbit/s: 100 to 1000000.", valueName: "kbit"))
    var maxBitrate = 20_000

    @Option(
        help: .rest(
            "Threads that send to viewers at a time: 1 to 64; one for each core, and at most 8, if omitted.",
            valueName: "count")
    )
    var threads: Int?

    @Option(
        help: .rest(
            "Where to serve /metrics (for Prometheus), /health and /ready, by plain HTTP: an address that only your monitoring reaches.",
            valueName: "addr:port"))
    var metrics: String?

    @Flag(help: .rest("List no broadcasts, also not those whose hosts want that."))
    var noDirectory = false

    @Option(help: .rest("Where this relay is, for the directory, such as eu-west.", valueName: "text"))
    var region: String?

    @Option(
        help: .rest(
            """
            NATS servers over which this relay and others find each other's broadcasts: nats://HOST:PORT or tls://..., \
            separated by commas.
            """,
            valueName: "urls"))
    var cluster: String?

    @Option(
        help: .rest(
            "Name of this relay in the cluster, another one for each: letters a to z, digits and '-'. Random if omitted.",
            valueName: "name"))
    var node: String?

    @Option(
        parsing: .upToNextOption,
        help: .rest(
            "The NATS servers' authority (PEM), and a certificate chain and key of this relay if they want one.",
            valueName: "file"))
    var clusterTls: [String] = []

    @Option(
        help: .rest(
            "On SIGTERM, take nobody in any more, and end when all broadcasts have ended, or after this time: 90s, 10m, 2h.",
            valueName: "time"))
    var drain: Timespan?

    @Option(
        help: .rest(
            "File with the secret of your TURN servers (coturn's static-auth-secret): each peer gets credentials of its own, which expire. The URLs of --turn need no USER then.",
            valueName: "file"))
    var turnSecret: String?

    @OptionGroup(title: "Network options", visibility: HelpScope.rest) var serverOptions: ServerOptions

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this time: 90, 90s, 10m, 2h.", valueName: "time"))
    var duration: Timespan?

    @Flag(help: .rest("Print one JSON event a line on stdout."))
    var json = false

    @Flag(
        help: .rest(
            "Leave the secrets of viewers' links out of what is printed, so that nobody can watch by a log.",
            discussion: "In systemd's journal they are left out without it."))
    var hideLinks = false

    static let id = "io.sharekit.relay"

    package func validate() throws {
        // With a file, what it makes of the options is checked.
        guard config == nil else { return }
        _ = try mediaPort(ListenAddress(listen))
        if let metrics { _ = try ListenAddress(metrics, option: "--metrics") }
        guard tls.isEmpty || tls.count == 2 else {
            throw ValidationError("--tls takes two files: the certificate's chain, and its key.")
        }
        if let linkHost, Link.host(linkHost) == nil {
            throw ValidationError("--link-host is a name or an address, as relay.example, not '\(linkHost)'.")
        }
        guard !serverOptions.relayOnly else {
            throw ValidationError("--relay-only is for hosts and viewers: a relay needs an address of its own.")
        }
        if let node, !ClusterNode.isName(node) {
            throw ValidationError("--node is 1 to 32 of a to z, 0 to 9 and '-', not '\(node)'.")
        }
        guard [0, 1, 3].contains(clusterTls.count) else {
            throw ValidationError("--cluster-tls takes one file, or three: authority, chain and key.")
        }
        guard (1...4_096).contains(maxBroadcasts) else { throw ValidationError("--max-broadcasts is 1 to 4096.") }
        guard (1...10_000).contains(maxViewers) else { throw ValidationError("--max-viewers is 1 to 10000.") }
        if let maxTotalViewers, !(1...20_000).contains(maxTotalViewers) {
            throw ValidationError("--max-total-viewers is 1 to 20000.")
        }
        if let threads, !(1...64).contains(threads) { throw ValidationError("--threads is 1 to 64.") }
        guard (100...1_000_000).contains(maxBitrate) else {
            throw ValidationError("--max-bitrate is 100 to 1000000 kbit/s.")
        }
    }

    package func run() throws {
        do {
            try configured().relay()
        } catch let complaint as CommandError {
            throw complaint.report()
        }
    }

    /// The command with the options of `--config`.
    private func configured() throws -> RelayCommand {
        guard let config else { return self }
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "relay" { arguments.removeFirst() }
        while let index = arguments.firstIndex(where: { $0 == "--config" || $0.hasPrefix("--config=") }) {
            let count = arguments[index] == "--config" ? 2 : 1
            arguments.removeSubrange(index..<min(index + count, arguments.count))
        }
        return try ConfigurationFile.configure(RelayCommand.self, from: config, arguments)
    }

    private func relay() throws {
        let hasTerminal = isatty(STDIN_FILENO) == 1
        let token = try readToken()
        if accept == .ask, !hasTerminal, token == nil {
            throw CommandError(
                sentence: "there is no terminal to ask in",
                remedy: "Choose whose broadcasts to take: --accept known, --accept any or --publish-token FILE.",
                status: .usage)
        }
        FileDescriptors.raiseLimit()
        let identity = try makeIdentity()
        let files = tls.count == 2 ? TLSFiles(chain: tls[0], key: tls[1]) : nil
        if let files { SecretFile.warnIfExposed(files.key, "--tls") }
        let content = try files?.read()
        let certificate = try content.flatMap { try files?.certificate($0) }
        let notifier = KnockNotifier()
        let prompt = Prompt(notify: { notifier.show($0) })
        // Without a terminal nobody could answer.
        let policy = PairingPolicy(
            accept == .ask && !hasTerminal ? .known : accept, known: KnownViewers(file: "known-hosts"), prompt: prompt)
        let reporter = RelayReporter(
            output: DataOutput(isJSON: json), hidesSecrets: hideLinks || RelayReporter.isJournal())
        let ending = Monitor<EndReason?>(nil)
        let drains = Monitor(false)
        // A second signal ends a drain: publishers and viewers are told that the relay stops, which an exit would not tell.
        let isHurried = Monitor(false)
        let events = Monitor(0)
        let hurry: @Sendable (String) -> Void = { _ in
            isHurried.change { $0 = true }
            events.change { $0 &+= 1 }
        }
        Signals.handle(again: hurry) { name in
            drains.change { $0 = name == "SIGTERM" }
            ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") }
        }
        var configuration = try settings(token, certificate)
        guard cluster != nil || (node == nil && clusterTls.isEmpty) else {
            throw CommandError(sentence: "--node and --cluster-tls need --cluster", status: .usage)
        }
        let bus = NATSBus(report: { [reporter] in reporter.report($0) })
        if cluster != nil { configuration.cluster = ClusterSettings(node: node ?? Self.randomNode(), bus: bus) }
        let session = RelaySession(
            configuration: configuration, identity: identity, decide: { await policy.decide($0) },
            admit: { _ in .acceptedByRule },
            emit: {
                reporter.report($0)
                events.change { $0 &+= 1 }
            })
        if hasTerminal, accept != .any { prompt.start() }
        if let cluster { try bus.connect(to: cluster, tls: clusterTls, as: configuration.cluster?.node ?? "relay") }
        let link: ServiceLink
        do throws(EndReason) {
            link = try blocking(throwing: { () throws(EndReason) in try await session.start() })
        } catch {
            throw CommandError(error)
        }
        let status = try serveStatus(of: session, reporter)
        do {
            try reporter.begin(link, metrics: status?.address)
        } catch {
            blocking {
                await session.stop()
                bus.close()
                await status?.server.stop()
            }
            throw error
        }
        bus.onConnect { [weak session] in session?.clusterIsConnected() }
        if let certificate { reporter.presents(certificate) }
        ProcessMemory.releaseProgramPages()
        let watch = watch(files, content, session, reporter)
        if waitForEnd(ending, seconds: duration?.seconds ?? .infinity) == nil {
            ending.change { $0 = $0 ?? EndReason(.stopped, "the time is over") }
        }
        if let drain, drains.with({ $0 }), !session.isIdle {
            session.drain()
            reporter.drains(drain)
            _ = events.wait(until: MonotonicClock.now + .milliseconds(Int(drain.seconds * 1_000))) { _ in
                session.isIdle || isHurried.with { $0 } ? () : nil
            }
        }
        let reason = ending.with { $0 } ?? EndReason(.stopped, "ended")
        watch?.cancel()
        blocking {
            await session.stop()
            bus.close()
            await status?.server.stop()
        }
        reporter.end(reason)
    }

    private static func randomNode() -> String { "relay-" + String(UInt32.random(in: .min ... .max), radix: 36) }

    /// Presents the certificate of `--tls` when it was renewed.
    private func watch(
        _ files: TLSFiles?, _ content: TLSFiles.Content?, _ session: RelaySession, _ reporter: RelayReporter
    ) -> Task<Void, Never>? {
        guard let files, let content else { return nil }
        return Task {
            await files.watch(
                from: content,
                renewed: { certificate in
                    session.present(certificate)
                    reporter.presents(certificate)
                }, failed: { reporter.warn($0) })
        }
    }

    /// The name or address in the links.
    private func linkHost(_ place: ListenAddress, _ certificate: ServerCertificate?) throws -> String {
        let given = linkHost.flatMap { Link.host($0) }
        guard let certificate else { return given ?? `public` ?? place.linkHost }
        if let given {
            guard certificate.isFor(given) else {
                throw CommandError(
                    sentence: "--link-host: the certificate is not for \(given), but for "
                        + certificate.names.joined(separator: ", "), status: .usage)
            }
            return given
        }
        if !place.isWildcard, certificate.isFor(place.host) { return place.host }
        guard let name = certificate.linkHost else {
            throw CommandError(
                sentence: "the certificate is for \(certificate.names.joined(separator: ", ")): a link needs one name",
                remedy: "Give it: --link-host relay.example", status: .usage)
        }
        return name
    }

    /// Serves the pages of `--metrics`.
    /// - Returns: nil without it.
    private func serveStatus(
        of session: RelaySession, _ reporter: RelayReporter
    ) throws -> (server: StatusServer, address: String)? {
        guard let metrics else { return nil }
        let place = try ListenAddress(metrics, option: "--metrics")
        let began = MonotonicClock.now
        let server = StatusServer(host: place.host, port: place.port) { path in
            switch path {
            case "/metrics":
                let metrics = RelayMetrics(
                    await session.statistics(), uptime: MonotonicClock.now - began, expiry: reporter.expiry,
                    isClusterConnected: reporter.isClusterConnected)
                return .init(type: "text/plain; version=0.0.4; charset=utf-8", metrics.text)
            case "/health": return .init("ok\n")
            case "/ready": return session.isReady ? .init("ready\n") : .init(status: 503, "draining\n")
            default: return nil
            }
        }
        do throws(SignalingServerError) {
            let port = try blocking(throwing: { () throws(SignalingServerError) in try await server.start() })
            return (server, "http://\(place.linkHost.contains(":") ? "[\(place.linkHost)]" : place.linkHost):\(port)")
        } catch {
            throw CommandError(sentence: "--metrics: \(error)", status: .failed)
        }
    }

    /// - Parameter listening: the value of `--listen`.
    private func mediaPort(_ listening: ListenAddress) throws -> MediaPort {
        // "/udp" may follow, as in a firewall's rule.
        let text = media.map { $0.hasSuffix("/udp") ? String($0.dropLast(4)) : $0 }
        let place = try text.map { try ListenAddress($0, option: "--media") }
        if let place, !place.isWildcard, !MediaPort.isNumeric(place.host) {
            throw ValidationError("--media needs a numeric address, as 198.51.100.7:3478, not '\(place.host)'.")
        }
        if let address = `public`, !MediaPort.isNumeric(address) {
            throw ValidationError("--public is a numeric address, as 198.51.100.7, not '\(address)'.")
        }
        // As for a host: Firefox connects to no loopback address.
        let host = place?.host ?? (MediaPort.isLoopback(listening.host) ? "" : listening.host)
        return MediaPort(
            addresses: MediaPort.isNumeric(host) ? [host] : nil, port: UInt16(place?.port ?? 0), publicAddress: `public`
        )
    }

    private func settings(_ token: String?, _ certificate: ServerCertificate?) throws -> RelaySession.Configuration {
        let place = try ListenAddress(listen)
        guard let id = ServiceID(Self.id) else { preconditionFailure("\(Self.id) is no identifier") }
        let description: ServiceDescription
        do throws(ServiceDescriptionError) {
            description = try ServiceDescription(id: id, name: name, fields: [])
        } catch {
            throw CommandError(sentence: "--name: \(error)", status: .usage)
        }
        var service = ServiceConfiguration(description, fixedToken: token)
        // Whoever has the link may publish. Otherwise its hash is all that a link needs.
        if accept == .any { service.linkSecret = try linkSecret(of: id) }
        service.turnSecret = try readTURNSecret()
        service.iceServers =
            try service.turnSecret == nil ? serverOptions.servers() : serverOptions.serversWithSecret()
        service.serve(broadcasts: maxBroadcasts)
        var settings = RelaySession.Configuration(
            service: .init(
                listenHost: place.host, listenPort: place.port, linkHost: try linkHost(place, certificate),
                service: service))
        settings.service.certificate = certificate
        settings.service.media = try mediaPort(place)
        settings.service.directory =
            noDirectory
            ? nil : DirectorySettings(region: region.map { UntrustedText.clean($0, limit: 32, fallback: "unknown") })
        settings.maximumViewers = maxViewers
        settings.maximumTotalViewers = maxTotalViewers
        settings.maximumBitrate = .kilobits(maxBitrate)
        settings.sendingThreads = threads ?? min(ProcessInfo.processInfo.activeProcessorCount, 8)
        return settings
    }

    private func readTURNSecret() throws -> TURNSecret? {
        guard let turnSecret else { return nil }
        SecretFile.warnIfExposed(turnSecret, "--turn-secret")
        let text = (try? String(contentsOfFile: turnSecret, encoding: .utf8)) ?? ""
        let secret = text.trimmingCharacters(in: .whitespacesAndNewlines)
        guard secret.utf8.count >= 16 else {
            throw CommandError(
                sentence: "\(turnSecret) has no secret of 16 characters or more",
                remedy: "Make a long one, for coturn too: openssl rand -hex 32", status: .usage)
        }
        return TURNSecret(secret)
    }

    private func readToken() throws -> String? {
        guard let publishToken else { return nil }
        SecretFile.warnIfExposed(publishToken, "--publish-token")
        guard let text = try? String(contentsOfFile: publishToken, encoding: .utf8) else {
            throw CommandError(sentence: "\(publishToken) cannot be read as text", status: .usage)
        }
        let token = text.trimmingCharacters(in: .whitespacesAndNewlines)
        if let flaw = FixedToken.flaw(of: token) {
            throw CommandError(
                sentence: "the token in \(publishToken) \(flaw)", remedy: "Make a long one: openssl rand -hex 16",
                status: .usage)
        }
        return token
    }
}
