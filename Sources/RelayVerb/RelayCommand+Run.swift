import Admission
import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
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

extension RelayCommand {
    func relay() throws {
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
        let files = try PresentedFiles(address.tls)
        let reporter = RelayReporter(
            output: DataOutput(isJSON: json, beginsWithLink: true), hidesSecrets: hideLinks || RelayReporter.isJournal()
        )
        let ending = RelayEnding()
        var configuration = try settings(token, files?.certificate)
        let bus = NATSBus(report: { [reporter] in reporter.report($0) })
        configuration.cluster = try clusterSettings(bus)
        let session = makeSession(configuration, identity, hasTerminal: hasTerminal, ending, reporter)
        if let servers = cluster.cluster {
            try bus.connect(to: servers, tls: cluster.clusterTls, as: configuration.cluster?.node ?? "relay")
        }
        try serve(session, bus, files, ending, reporter)
    }

    private func clusterSettings(_ bus: NATSBus) throws -> ClusterSettings? {
        guard cluster.cluster == nil else {
            return ClusterSettings(
                node: cluster.node ?? "relay-" + String(UInt32.random(in: .min ... .max), radix: 36), bus: bus)
        }
        guard cluster.node == nil, cluster.clusterTls.isEmpty else {
            throw CommandError(sentence: "--node and --cluster-tls need --cluster", status: .usage)
        }
        return nil
    }

    /// The session, which asks in the terminal about broadcasts.
    private func makeSession(
        _ configuration: RelaySession.Configuration, _ identity: Identity, hasTerminal: Bool, _ ending: RelayEnding,
        _ reporter: RelayReporter
    ) -> RelaySession {
        let prompt = Prompt.withNotifications()
        // Without a terminal nobody could answer.
        let policy = PairingPolicy(
            accept == .ask && !hasTerminal ? .known : accept, known: KnownViewers(file: "known-hosts"), prompt: prompt)
        if hasTerminal, accept != .any { prompt.start() }
        return RelaySession(
            configuration: configuration, identity: identity, decide: { await policy.decide($0) },
            admit: { _ in .acceptedByRule },
            emit: {
                reporter.report($0)
                ending.noteEvent()
            })
    }

    /// Starts the session, and stops it at the end.
    private func serve(
        _ session: RelaySession, _ bus: NATSBus, _ files: PresentedFiles?, _ ending: RelayEnding,
        _ reporter: RelayReporter
    ) throws {
        let link: ServiceLink
        do throws(EndReason) {
            link = try blocking(throwing: { () throws(EndReason) in try await session.start() })
        } catch {
            throw CommandError(error)
        }
        let status = try serveStatus(of: session, reporter)
        func stop() {
            blocking {
                await session.stop()
                bus.close()
                await status?.server.stop()
            }
        }
        do {
            try reporter.begin(link, metrics: status?.address)
        } catch {
            stop()
            throw error
        }
        bus.onConnect { [weak session] in session?.clusterIsConnected() }
        if let files { reporter.presents(files.certificate) }
        ProcessMemory.releaseProgramPages()
        let watch = watch(files, session, reporter)
        let reason = ending.wait(for: duration)
        if let drain, ending.drains, !session.isIdle {
            session.drain()
            reporter.drains(drain)
            ending.wait(for: drain, until: { session.isIdle })
        }
        watch?.cancel()
        stop()
        reporter.end(reason)
    }

    /// Presents the certificate of `--tls` when it was renewed.
    private func watch(
        _ presented: PresentedFiles?, _ session: RelaySession, _ reporter: RelayReporter
    ) -> Task<Void, Never>? {
        guard let presented else { return nil }
        return Task {
            await presented.files.watch(
                from: presented.content,
                renewed: { certificate in
                    session.present(certificate)
                    reporter.presents(certificate)
                }, failed: { reporter.warn($0) })
        }
    }

    /// The name or address in the links.
    private func linkHost(_ place: ListenAddress, _ certificate: ServerCertificate?) throws -> String {
        let given = address.linkHost.flatMap { Link.host($0) }
        guard let certificate else { return given ?? address.public ?? place.linkHost }
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
    func mediaPort(_ listening: ListenAddress) throws -> MediaPort {
        // "/udp" may follow, as in a firewall's rule.
        let text = address.media.map { $0.hasSuffix("/udp") ? String($0.dropLast(4)) : $0 }
        let place = try text.map { try ListenAddress($0, option: "--media") }
        if let place, !place.isWildcard, !MediaPort.isNumeric(place.host) {
            throw ValidationError("--media needs a numeric address, as 198.51.100.7:3478, not '\(place.host)'.")
        }
        if let router = address.public, !MediaPort.isNumeric(router) {
            throw ValidationError("--public is a numeric address, as 198.51.100.7, not '\(router)'.")
        }
        // As for a host: Firefox connects to no loopback address.
        let host = place?.host ?? (MediaPort.isLoopback(listening.host) ? "" : listening.host)
        return MediaPort(
            addresses: MediaPort.isNumeric(host) ? [host] : nil, port: UInt16(place?.port ?? 0),
            publicAddress: address.public
        )
    }

    private func settings(_ token: String?, _ certificate: ServerCertificate?) throws -> RelaySession.Configuration {
        let place = try ListenAddress(address.listen)
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
        service.serve(broadcasts: limits.maxBroadcasts)
        var settings = RelaySession.Configuration(
            service: .init(
                listenHost: place.host, listenPort: place.port, linkHost: try linkHost(place, certificate),
                service: service))
        settings.service.certificate = certificate
        settings.media = try mediaPort(place)
        settings.directory =
            cluster.noDirectory
            ? nil
            : DirectorySettings(region: cluster.region.map { UntrustedText.clean($0, limit: 32, fallback: "unknown") })
        settings.maximumViewers = limits.maxViewers
        settings.maximumTotalViewers = limits.maxTotalViewers
        settings.maximumBitrate = .kilobits(limits.maxBitrate)
        settings.sendingThreads = limits.threads ?? min(ProcessInfo.processInfo.activeProcessorCount, 8)
        return settings
    }

    private func readTURNSecret() throws -> TURNSecret? {
        guard let turnSecret else { return nil }
        SecretFile.warnIfExposed(turnSecret, "--turn-secret")
        let text = (try? String(contentsOfFile: turnSecret, encoding: .utf8)) ?? ""
        let secret = text.trimmed
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
        let token = text.trimmed
        if let flaw = FixedToken.flaw(of: token) {
            throw CommandError(
                sentence: "the token in \(publishToken) \(flaw)", remedy: "Make a long one: openssl rand -hex 16",
                status: .usage)
        }
        return token
    }
}
