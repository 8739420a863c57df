import ArgumentParser
import CommandSupport
import ControlSocket
import FoundationEssentials
import Glibc
import Identifiers
import Identity
import WindowPlayout

/// The hidden command `share open`, which a desktop runs for links of the scheme `share`. Such a link comes from any
/// web page. So the command takes no option, and does one thing only: it asks, and then executes `share join`.
struct OpenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "open", abstract: "Ask whether to join a share:// link.", shouldDisplay: false)

    @Argument(help: "share://HOST:PORT/ID#SECRET")
    var link: String

    func run() throws {
        try complaining { () throws(CommandError) in
            guard let lock = try questionLock() else { return }
            let link = try parsed()
            try ask(about: link)
            lock.close()
            try join(link)
        }
    }

    /// A page that opens one link after another gets one window.
    /// - Returns: nil if another one is open.
    private func questionLock() throws(CommandError) -> SingleInstanceLock? {
        do throws(SingleInstanceLock.Failure) {
            return try SingleInstanceLock(
                .linkQuestion, in: ControlSocketFolder(environment: ProcessInfo.processInfo.environment))
        } catch {
            guard case .unusable(let reason) = error else { return nil }
            throw CommandError(sentence: reason, status: .cannotWrite)
        }
    }

    private func parsed() throws(CommandError) -> Link {
        do throws(LinkError) {
            return try Link(opening: link)
        } catch {
            let failure = CommandError(error)
            // Nobody sees the stderr of a program that a desktop has started.
            _ = WindowPrompt.ofProcess.ask(WindowQuestion(failure.sentence, answers: ["Close"]))
            throw failure
        }
    }

    private func ask(about link: Link) throws(CommandError) {
        guard WindowQuestion.isPossible else {
            throw CommandError(
                sentence: "there is no display to ask on: DISPLAY is not set", remedy: "Use share join instead.",
                status: .noDisplay)
        }
        let question = WindowQuestion(
            "A link wants to show you a screen. Watch it?",
            details: [
                "From: \(link.authority)",
                "Fingerprint of the host: \(WordList.words(ofFingerprint: link.fingerprint))",
                "The host sees your name and your address.",
            ], answers: ["No", "Watch"])
        guard WindowPrompt.ofProcess.ask(question)?.button == 1 else {
            throw CommandError(sentence: "you declined", status: .declined)
        }
    }

    private func join(_ link: Link) throws(CommandError) {
        // Not as an argument: ps shows the link while the question stands, as the desktop hands it over, and not later.
        setenv("SHARE_LINK", link.text, 1)
        var arguments = [strdup("share"), strdup("join"), nil]
        execv("/proc/self/exe", &arguments)
        throw CommandError(sentence: "share join cannot be started", status: .failed)
    }
}
