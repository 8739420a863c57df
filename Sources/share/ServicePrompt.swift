import Admission
import CommandSupport
import Foundation
import MediaCore
import Sessions
import WindowPlayout

/// Asks the host's user whether to broadcast to a service, each time, and for what the service's setup needs. In the
/// terminal; without one, in a small window, and for values in the desktop's own dialogs (``EntryDialog``).
struct ServicePrompt {
    let application: ApplicationInfo
    /// Where the broadcast goes: `HOST:PORT`, or a program.
    let address: String
    /// A relay passes on what host and service say to each other.
    var isOverRelay = false
    enum Purpose {
        /// It gets everything that is shared.
        case broadcast
        /// It is a relay at which viewers meet this host, and which sends to them if there are more than so many; nil: it
        /// never does.
        case meeting(directViewers: Int?)

        var isMeeting: Bool { if case .meeting = self { true } else { false } }

        var detail: String {
            switch self {
            case .broadcast: "Everything that is shared goes to this service, and to nobody else."
            case .meeting(nil):
                "It tells you who wants to watch, and learns their names. It gets nothing of what is shared."
            case .meeting(let count?):
                "It tells you who wants to watch, and learns their names. With more than \(count) "
                    + "viewer\(count == 1 ? "" : "s"), or one whom nothing else reaches, it gets what is shared, and sends it to those that you accept; --route direct prevents that."
            }
        }
    }
    var purpose = Purpose.broadcast
    /// Values from the command line, by the names of fields.
    let values: [String: String]

    /// - Returns: the values of the service's fields; nil if the user does not want.
    func ask(_ question: PairingQuestion) -> [String: String]? {
        let isTerminal = isatty(STDIN_FILENO) == 1
        if let refused = question.refused {
            // Where there is no place for a value, the same ones again end the pairing with the reason.
            guard isTerminal || EntryDialog() != nil else { return refused.values }
            return askAgain(refused.values, refused.error)
        }
        let service = question.service
        let sentence =
            "\(UntrustedText.quote(application.name)) wants to \(purpose.isMeeting ? "be met at" : "broadcast to") "
            + "\(UntrustedText.quote(service.name)) (\(service.id), \(address))."
        let details =
            [purpose.detail]
            + (isOverRelay
                ? ["The relay only passes on what you and the service say to each other; it cannot watch."] : [])
        return isTerminal ? askInTerminal(service, sentence, details) : askInWindow(service, sentence, details)
    }

    private func askInTerminal(
        _ service: ServiceDescription, _ question: String, _ details: [String]
    ) -> [String: String]? {
        ErrorOutput.writeLine(question)
        for line in details { ErrorOutput.writeLine("  " + line) }
        if let terms = service.terms {
            ErrorOutput.writeLine("  Terms:")
            for line in terms.split(separator: "\n", omittingEmptySubsequences: false) {
                ErrorOutput.writeLine("    " + line)
            }
        }
        // Keys that were typed before the question do not answer it.
        tcflush(STDIN_FILENO, TCIFLUSH)
        while true {
            guard let answer = line("  Accept? [y]es, [n]o: ")?.lowercased() else { return nil }
            if ["n", "no"].contains(answer) { return nil }
            if ["y", "yes"].contains(answer) { break }
        }
        var setup = values.filter { value in service.fields.contains { $0.name == value.key } }
        for field in service.fields where setup[field.name] == nil {
            guard let value = value(of: field) else { return nil }
            setup[field.name] = value
        }
        return setup
    }

    /// Asks for the value that was refused; the others stay.
    private func askAgain(_ values: [String: String], _ error: SetupError) -> [String: String]? {
        switch error {
        case .missing(let field), .tooLong(let field):
            guard let value = value(of: field, "\(error).") else { return nil }
            return values.merging([field.name: value]) { $1 }
        case .unknownField: return values
        }
    }

    /// Asks until there is a value; nil at the end of stdin, or when the user closes the dialog.
    /// - Parameter problem: of the last value, as a sentence.
    private func value(of field: SetupField, _ problem: String? = nil) -> String? {
        guard isatty(STDIN_FILENO) == 1 else {
            let question = [problem, field.label + ":"].compactMap(\.self).joined(separator: "\n")
            while let value = EntryDialog()?.ask(question) {
                if !value.isEmpty { return value }
            }
            return nil
        }
        if let problem { ErrorOutput.writeLine("  \(problem)") }
        while let value = line("  \(field.label): ") {
            if !value.isEmpty { return value }
        }
        return nil
    }

    private func line(_ question: String) -> String? {
        FileHandle.standardError.write(Data(question.utf8))
        return readLine().map { $0.trimmingCharacters(in: .whitespaces) }
    }

    private func askInWindow(
        _ service: ServiceDescription, _ question: String, _ details: [String]
    ) -> [String: String]? {
        let text = ([question] + details + (service.terms.map { ["", "Terms:", $0] } ?? [])).joined(separator: "\n")
        guard QuestionWindow.ask(title: "share", text, accept: "Accept", refuse: "Refuse") == true else { return nil }
        var setup = values.filter { value in service.fields.contains { $0.name == value.key } }
        // Without a dialog, the service's answer to a missing value ends the pairing, and says which.
        guard EntryDialog() != nil else { return setup }
        for field in service.fields where setup[field.name] == nil {
            guard let value = value(of: field) else { return nil }
            setup[field.name] = value
        }
        return setup
    }

    /// Why nobody can be asked; nil if somebody can.
    static var obstacle: Complaint? {
        guard isatty(STDIN_FILENO) != 1, !QuestionWindow.isPossible else { return nil }
        return Complaint(
            sentence: "there is no terminal and no display to ask in",
            remedy: "Broadcasts to a service are asked about every time: run share in a terminal, or with a display.",
            status: .usage)
    }
}
