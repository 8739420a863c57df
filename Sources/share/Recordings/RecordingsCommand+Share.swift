import ArgumentParser
import CommandSupport
import Glibc
import Identity
import LinuxRuntime
import PeerConnection
import Recording
import ShareKit
import Signaling

struct ShareRecordingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Give a recording to somebody by a link, which is also shown as a QR code.",
        discussion: """
            The file is served from this machine over HTTPS, to browsers that have the link and that you let have it: \
            once, within ten minutes, or with --for as often as it is wanted. Browsers warn about the certificate, \
            which is your own. Exit codes: 0 it was given away, or you ended it; 75 nobody has taken it.
            """)

    @Argument(help: "The file, or its number in 'share recordings list'.")
    var file: String

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Give it away as often as it is wanted, for this long: 10m.", valueName: "time"))
    var duration: Timespan?

    @Option(help: "Who may have it: whom you accept (ask), or whoever has the link (any).")
    var accept: AcceptChoice = .ask

    @Option(help: ArgumentHelp("Address and TCP port to listen on; any free port if omitted.", valueName: "addr:port"))
    var listen: String?

    @Flag(help: "Print one JSON event a line on stdout, and no QR code.")
    var json = false

    private static let onceSeconds = 600.0

    func validate() throws {
        if accept == .known {
            throw ValidationError("--accept is ask or any: browsers that fetch a file are not known.")
        }
    }

    func run() throws {
        try complaining { () throws(CommandError) in try offer() }
    }

    private func offer() throws(CommandError) {
        guard accept == .any || isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                sentence: "there is no terminal to ask in", remedy: "Give it to whoever has the link: --accept any.",
                status: .usage)
        }
        let path = try path()
        let ending = Monitor<EndReason?>(nil)
        Signals.handle { name in ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") } }
        let prompt = Prompt()
        let output = DataOutput(isJSON: json)
        let seconds = duration?.seconds ?? Self.onceSeconds
        let offer = try makeOffer(path, prompt, seconds)
        try output.link(offer.url)
        if !json { LinkCode(offer.url)?.show() }
        ErrorOutput.writeLine(
            "share: give the link above to whoever may have it"
                + (duration == nil ? ", once within ten minutes" : "") + "; Ctrl-C ends it")
        if accept == .ask { prompt.start() }
        let sent = Monitor(0)
        Task {
            for await event in offer.events {
                switch event {
                case .sent(let address):
                    sent.with { $0 += 1 }
                    output.event("sent", ["address": .string(address)])
                    ErrorOutput.writeLine("share: \(address) has it")
                case .interrupted(let address): ErrorOutput.writeLine("share: \(address) has left in between")
                case .ended: ending.change { $0 = $0 ?? EndReason(.stopped, "the offer is over") }
                }
            }
        }
        let reason = waitForEnd(ending, seconds: seconds + 1) ?? EndReason(.stopped, "the time is over")
        blocking { await offer.close() }
        output.ended(reason)
        if sent.with({ $0 }) == 0, reason.sentence == "the offer is over" || reason.sentence == "the time is over" {
            throw CommandError(sentence: "nobody has taken the recording", status: .unanswered)
        }
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }

    private func path() throws(CommandError) -> String {
        do throws(RecordingFailure) {
            let path = try RecordingArgument.path(file)
            // Only what is a recording is given away.
            _ = try StoredRecording(reading: path)
            return path
        } catch {
            throw CommandError(error)
        }
    }

    private func makeOffer(_ path: String, _ prompt: Prompt, _ seconds: Double) throws(CommandError) -> RecordingOffer {
        let place: ListenAddress
        let identity: Identity
        do {
            place = try ListenAddress(listen ?? "0.0.0.0:0")
            identity = try makeIdentity()
        } catch {
            throw error as? CommandError ?? CommandError(sentence: "\(error)", status: .usage)
        }
        let (accept, isOnce) = (accept, duration == nil)
        do throws(ShareKitError) {
            return try blocking(throwing: { () throws(ShareKitError) in
                try await RecordingOffer(
                    path: path, once: isOnce, duration: .seconds(seconds), host: place.host, port: place.port,
                    linkHost: place.linkHost, identity: identity
                ) { request in
                    if accept == .any { return true }
                    let question = Prompt.Question(
                        id: .random(), who: "\(request.program) at \(request.address)", request: "wants the recording",
                        details: [], invitation: "Give it?", deadline: .now + .seconds(600))
                    let answer = await prompt.answer(to: question)
                    return answer == .yes || answer == .always
                }
            })
        } catch {
            throw CommandError(sentence: error.message, remedy: error.remedy, status: .portUnavailable)
        }
    }
}
