import Admission
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
import Relay
import Service
import Signaling
import Synchronization

/// Reports the events of a relay on stderr and as JSON on stdout. Safe from any thread.
final class RelayReporter: Sendable {
    private let output: DataOutput
    /// The secrets of links are not written: who reads a journal could watch, or publish.
    private let hidesSecrets: Bool
    private let presented = Mutex<Int?>(nil)
    /// What is live or has a tunnel here, by the publisher's session.
    private let published = Mutex<[SessionID: (name: String, broadcast: BroadcastID?)]>([:])
    /// The pairings of the hosts that have a tunnel here. Their viewers keep the host's own link, also while the host
    /// publishes here.
    private let tunnelPairings = Mutex<[SessionID: KnockID]>([:])
    private let cluster = Mutex<Bool?>(nil)

    init(output: DataOutput, hidesSecrets: Bool) {
        self.output = output
        self.hidesSecrets = hidesSecrets
    }

    /// Whether stdout or stderr goes to systemd's journal (systemd.exec(5), JOURNAL_STREAM).
    static func isJournal(_ environment: [String: String] = ProcessInfo.processInfo.environment) -> Bool {
        guard let stream = environment["JOURNAL_STREAM"] else { return false }
        return [STDOUT_FILENO, STDERR_FILENO].contains { descriptor in
            FileStatus(descriptor: descriptor).map { stream == "\($0.device):\($0.inode)" } ?? false
        }
    }

    /// A viewers' link, or what of it is no secret.
    private func shown(_ link: Link) -> String {
        hidesSecrets ? String(link.text.prefix { $0 != "#" }) + "#..." : link.text
    }

    /// - Parameter metrics: where they are served; nil: nowhere.
    /// - Throws: if the link cannot be written.
    func begin(_ link: ServiceLink, metrics: String?) throws(CommandError) {
        let file = try keep(link)
        let text = hidesSecrets ? link.redacted : link.text
        try output.link(text, metrics.map { [("metrics", .string($0))] } ?? [])
        if let metrics { ErrorOutput.writeLine("share: metrics: \(metrics)/metrics") }
        if hidesSecrets, let file {
            ErrorOutput.writeLine("share: publish here: share host --relay LINK, with the link in \(file)")
        } else {
            ErrorOutput.writeLine("share: publish here: share host --relay '\(text)'")
        }
    }

    /// Prints an event, after the link.
    private func emit(_ name: String, _ fields: [(String, JSONValue)]) { output.eventAfterLink(name, fields) }

    /// Reports the certificate of HTTPS, at the start and when it was renewed.
    func presents(_ certificate: ServerCertificate) {
        presented.withLock { $0 = Int(certificate.expiry) }
        let date = Date(timeIntervalSince1970: Double(certificate.expiry)).formatted(.iso8601)
        if output.isJSON {
            emit(
                "certificate",
                [("names", .list(certificate.names.map { .string($0) })), ("expires", .string(date))])
        }
        let names = UntrustedText.clean(certificate.names.joined(separator: ", "), limit: 256, fallback: "no name")
        ErrorOutput.writeLine("share: certificate of \(names), valid until \(date)")
        if certificate.hasExpired { warn("the certificate has expired: clients refuse it; renew it") }
    }

    /// When the certificate of HTTPS expires, in seconds since 1970; nil before `presents`.
    var expiry: Int? { presented.withLock { $0 } }

    /// Whether a NATS server is connected; nil: there was no attempt to connect.
    var isClusterConnected: Bool? { cluster.withLock { $0 } }

    func warn(_ sentence: String) {
        emit("warning", [("text", .string(sentence))])
        ErrorOutput.writeLine("share: \(sentence)")
    }

    func drains(_ time: Timespan) {
        if output.isJSON { emit("draining", [("seconds", .number(time.seconds))]) }
        ErrorOutput.writeLine("share: taking nobody in any more; ending with the last broadcast")
    }

    func report(_ event: RelayEvent) {
        switch event {
        case .service(let event): report(event)
        case .live(let id, let publisher, let link):
            let name = publisher.application?.name ?? publisher.kind
            published.withLock { $0[id] = (name, link.id) }
            emit("live", broadcast(id) + [("name", .string(name)), ("link", .string(shown(link)))])
            if let pairing = publisher.pairing, tunnelPairings.withLock({ $0.values.contains(pairing) }) {
                ErrorOutput.writeLine(
                    "share: \(UntrustedText.quote(name)) is sent from here now; viewers keep the link of its host")
            } else {
                ErrorOutput.writeLine("share: \(UntrustedText.quote(name)) is live: \(shown(link))")
            }
        case .broadcast(let id, let event): report(event, of: id)
        case .cluster(let event): report(event)
        }
    }

    /// Reports that the connection to the NATS servers was made, was lost, or cannot be made.
    func report(_ change: NATSConnection.Change) {
        cluster.withLock { $0 = change == .connected }
        guard case .disconnected(let error) = change else {
            emit("cluster-connected", [])
            return ErrorOutput.writeLine("share: connected to the cluster")
        }
        // Parts of it come from the server.
        let reason = error.map { UntrustedText.clean($0.description, limit: 512, fallback: "no reason") }
        emit("cluster-lost", reason.map { [("reason", .string($0))] } ?? [])
        ErrorOutput.writeLine(
            "share: no connection to the cluster" + (reason.map { " (\($0))" } ?? "")
                + ": other relays' broadcasts are not found; all that runs goes on")
        if let remedy = error?.remedy, !remedy.isEmpty { ErrorOutput.writeLine("       \(remedy)") }
    }

    private func report(_ event: ClusterEvent) {
        switch event {
        case .joined(let node):
            emit("relay-joined", [("node", .string(node.name))])
            ErrorOutput.writeLine("share: relay \(node.name) is there")
        case .left(let node):
            emit("relay-left", [("node", .string(node.name))])
            ErrorOutput.writeLine("share: relay \(node.name) has gone")
        case .nameIsTaken: warn("another relay of the cluster has this one's name: give each its own with --node")
        case .fetched(let id, let source):
            emit("fetched", [("broadcast", .string(id.text)), ("node", .string(source))])
        case .released: break
        case .lost(let id, let source, let reason):
            emit(
                "fetch-ended",
                [
                    ("broadcast", .string(id.text)), ("node", .string(source)),
                    ("reason", .string(reason.sentence)),
                ])
        }
    }

    private func report(_ event: ServiceSessionEvent) {
        switch event {
        case .paired(let request):
            emit("paired", [("application", .string(request.application.id))])
        case .pairingRefused(let request, let reason):
            emit(
                "pairing-refused", [("application", .string(request.application.id)), ("reason", .string(reason))])
            ErrorOutput.writeLine("share: \(UntrustedText.quote(request.application.name)) was not taken: \(reason)")
        case .interrupted(let id): emit("interrupted", broadcast(id))
        case .resumed(let id): emit("resumed", broadcast(id))
        case .closed(let id, let publisher, let reason):
            let name = published.withLock { $0[id] }?.name ?? publisher.kind
            emit("closed", broadcast(id) + [("reason", .string(reason.sentence))])
            published.withLock { $0[id] = nil }
            ErrorOutput.writeLine("share: \(UntrustedText.quote(name)) has ended: \(reason.sentence)")
        case .tunnelOpened(let id, let publisher, let tunnel):
            let name = publisher.application?.name ?? publisher.kind
            published.withLock { $0[id] = (name, nil) }
            tunnelPairings.withLock { $0[id] = publisher.pairing }
            emit("meeting-opened", [Self.field(tunnel), ("name", .string(name))])
            ErrorOutput.writeLine(
                "share: \(Self.guests(of: tunnel)) of \(UntrustedText.quote(name)) reach it over this relay")
        case .tunnelClosed(let id, let tunnel):
            let name = published.withLock { $0.removeValue(forKey: id) }?.name ?? ""
            tunnelPairings.withLock { $0[id] = nil }
            emit("meeting-closed", [Self.field(tunnel)])
            ErrorOutput.writeLine(
                "share: \(Self.guests(of: tunnel)) of \(UntrustedText.quote(name)) reach it over this relay no longer")
        case .listed(_, let entry):
            emit("listed", [("broadcast", .string(entry.id)), ("title", .string(entry.title))])
            ErrorOutput.writeLine("share: \(UntrustedText.quote(entry.title)) is listed")
        case .annotated(let id, let application):
            emit("application", broadcast(id) + [("id", .string(application.id)), ("name", .string(application.name))])
        case .notice(let notice): output.notice(notice)
        case .pairing, .opened, .connected: break
        }
    }

    private func report(_ event: BroadcastEvent, of id: SessionID) {
        switch event {
        case .viewerJoined(_, let viewers): emit("viewers", broadcast(id) + [("viewers", .integer(viewers))])
        case .viewerLeft(_, _, let viewers): emit("viewers", broadcast(id) + [("viewers", .integer(viewers))])
        case .notice(let notice): output.notice(notice, broadcast(id))
        default: break
        }
    }

    private static func field(_ tunnel: TunnelID) -> (String, JSONValue) {
        switch tunnel {
        case .broadcast(let id): ("broadcast", .string(id.text))
        case .service(let id): ("service", .string(id.text))
        }
    }

    private static func guests(of tunnel: TunnelID) -> String {
        switch tunnel {
        case .broadcast: "viewers"
        case .service: "hosts"
        }
    }

    /// Names the broadcast of a session, if it was live.
    private func broadcast(_ id: SessionID) -> [(String, JSONValue)] {
        published.withLock { $0[id]?.broadcast }.map { [("broadcast", .string($0.text))] } ?? []
    }

    func end(_ reason: EndReason) {
        output.ended(reason)
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }
}
