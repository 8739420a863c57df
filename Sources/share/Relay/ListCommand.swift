import Admission
import ArgumentParser
import CommandSupport
import FoundationEssentials
import HTTP
import Identifiers
import MediaCore
import PeerConnection
import SessionBus
import ShareKit
import Signaling

struct ListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the broadcasts of the local network, or those that a relay shows.",
        discussion: """
            A host is listed only if it says so. On the local network (share host --announce): prints \
            a line for each with its name, its address and a link for 'share join', which is without the secret: \
            the host is asked about you, and you compare the four words. At a relay (share host --relay LINK \
            --listed): viewers, age, route (encrypted: the relay cannot watch), application, title, and the link for 'share join'. \
            Exit codes: 0, also without broadcasts, 68 the local network cannot be asked, and those \
            of 'share host --relay' for a link that is wrong or a relay that is not there.
            """)

    @Option(
        help: ArgumentHelp(
            "The relay's link for publishers, https://HOST:PORT/services/..., as it prints it.", valueName: "link")
    )
    var relay: String?

    @Option(
        help: ArgumentHelp(
            "With --relay: only broadcasts of this application, such as com.example.game.", valueName: "id"))
    var app: String?

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func validate() throws {
        guard app == nil || relay != nil else {
            throw ValidationError("--app is for a relay's directory: give --relay.")
        }
    }

    func run() throws {
        try complaining { () throws(CommandError) in
            guard let relay else { return try listLocalNetwork() }
            let (entries, total) = try broadcasts(of: relay)
            if entries.isEmpty { ErrorOutput.writeLine("share: nothing is listed") }
            let now = Int(Date().timeIntervalSince1970)
            for entry in entries {
                DataOutput(isJSON: false).line(json ? entry.json.text : entry.line(now: now))
            }
            if total > entries.count { ErrorOutput.writeLine("share: and \(total - entries.count) more") }
        }
    }

    private func listLocalNetwork() throws(CommandError) {
        let found: [AnnouncedBroadcast]
        do throws(LocalNetworkFailure) {
            found = try AnnouncedBroadcast.find()
        } catch {
            throw CommandError(
                sentence: "the local network cannot be asked: \(error.message)",
                remedy: "Install and start avahi-daemon.", status: .unreachable)
        }
        if found.isEmpty { ErrorOutput.writeLine("share: nothing is announced on the local network") }
        let output = DataOutput(isJSON: false)
        for broadcast in found { output.line(json ? broadcast.json.text : broadcast.line) }
    }

    private func broadcasts(of relay: String) throws(CommandError) -> (entries: [DirectoryEntry], total: Int) {
        let link: ServiceLink
        do throws(LinkError) {
            link = try ServiceLink(parsing: relay)
        } catch {
            throw CommandError(error)
        }
        let client: ServiceClient
        do throws(PairingFailure) {
            client = try ServiceClient(link: link)
        } catch {
            throw CommandError(sentence: "\(error)", status: error.status)
        }
        defer { blocking { await client.close() } }
        let app = app
        do throws(SignalingError) {
            return try blocking(throwing: { () throws(SignalingError) in try await client.broadcasts(of: app) })
        } catch {
            guard error.code == .gone else { throw CommandError(sentence: "\(error)", status: .unreachable) }
            throw CommandError(sentence: "this relay lists no broadcasts", status: .unreachable)
        }
    }
}

extension AnnouncedBroadcast {
    fileprivate var line: String {
        let name = UntrustedText.quote(UntrustedText.clean(name, limit: 64, fallback: "somebody"))
        return "\(name)  \(link.authority)  \(link.text)"
    }

    fileprivate var json: JSONValue {
        .object([
            "id": .string(link.id.text), "name": .string(name), "address": .string(link.authority),
            "link": .string(link.text),
        ])
    }
}

extension DirectoryEntry {
    fileprivate func line(now: Int) -> String {
        let watching = viewers.map { "\($0) viewer\($0 == 1 ? "" : "s")" } ?? "? viewers"
        let seconds = max(0, now - since)
        let age = seconds < 3_600 ? "\(seconds / 60) min" : "\(seconds / 3_600) h"
        let name = UntrustedText.clean(application.name, limit: 64, fallback: "unknown")
        let way = route.rawValue + (isEncrypted ? ", encrypted" : "")
        return "\(watching)  \(age)  \(way)  \(name)  \(UntrustedText.quote(title))  \(safeLink)"
    }

    /// The relay's text if it is a link: nothing else is written to the terminal.
    private var safeLink: String { (try? Link(parsing: link))?.text ?? "-" }

    fileprivate var json: JSONValue {
        .object([
            "id": .string(id), "title": .string(title),
            "application": .object([
                "id": .string(application.id), "name": .string(application.name),
                "hasIcon": .boolean(application.hasIcon),
            ]),
            "region": region.map { .string($0) } ?? .null, "viewers": viewers.map { .integer($0) } ?? .null,
            "since": .integer(since), "codec": codec.map { .string($0) } ?? .null, "route": .string(route.rawValue),
            "encrypted": .boolean(isEncrypted), "link": .string(link),
        ])
    }
}
