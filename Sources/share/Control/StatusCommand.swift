import ArgumentParser
import CommandSupport
import Control
import FoundationEssentials
import Glibc
import Host
import Identifiers
import Identity
import MediaCore

struct StatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show the broadcasts that run on this machine.",
        discussion: """
            Prints a line for each broadcast of yours: identifier, state, time, viewers or \
            service, source, and what is muted. Exit codes: 0 there is one, 72 no broadcast is running.
            """)

    @OptionGroup var control: ControlOptions

    @Flag(help: "Print one JSON object a line.")
    var json = false

    @Flag(help: "Print the link, which is the key to the broadcast, with its QR code.")
    var qr = false

    func validate() throws {
        guard !(json && qr) else { throw ValidationError("--json and --qr are two forms of output.") }
    }

    func run() throws {
        try complaining { () throws(CommandError) in
            let output = DataOutput(isJSON: false)
            for broadcast in try control.all() {
                let status = broadcast.status
                if qr { try printLink(of: status, output) } else { output.line(json ? status.json.text : status.line) }
            }
        }
    }

    private func printLink(of status: BroadcastStatus, _ output: DataOutput) throws(CommandError) {
        guard let link = status.link else {
            throw CommandError(
                sentence: "the broadcast \(status.id) has no link of its own, or its host is of before", status: .usage)
        }
        output.line(link)
        let style = TerminalStyle(
            isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
        LinkCode(link, style: style)?.lines.forEach { output.line($0) }
        guard let fingerprint = try? Link(parsing: link).fingerprint else { return }
        ErrorOutput.writeLine("share: fingerprint of this host: \(WordList.words(ofFingerprint: fingerprint))")
    }
}

extension BroadcastStatus {
    var json: JSONValue {
        .object([
            "id": .string(id), "process": .integer(process), "name": name.map { .string($0) } ?? .null,
            "source": .string(source), "service": service.map { .string($0) } ?? .null, "paused": .boolean(paused),
            "holds": .list((holds ?? (paused ? [.pause] : [])).map { .string($0.rawValue) }),
            "asking": .boolean(asking == true),
            "elapsedSeconds": .integer(elapsedSeconds),
            "viewers": .integer(viewers), "connected": .integer(connected),
            "destination": destination.map { .string($0.name) } ?? .null,
            "encrypted": destination.map { .boolean($0.isEncrypted == true) } ?? .null,
            "likes": destination?.likes.map { .integer($0) } ?? .null,
            "comment": destination?.comment.map { .object(["name": .string($0.from ?? ""), "text": .string($0.text)]) }
                ?? .null,
            "audio": .list(
                audio.map {
                    .object([
                        "track": .string($0.track.rawValue), "muted": .boolean($0.muted),
                        "captured": .boolean($0.captured), "level": $0.level.map { .number($0) } ?? .null,
                    ])
                }),
        ])
    }
}
