import Admission
import CommandSupport
import Glibc
import Host
import MediaCore
import WindowPlayout

/// Asks the host's user whether to broadcast to a service, each time, and for what the service's setup needs. In the
/// terminal; without one, in a window.
struct ServicePrompt {
    let application: ApplicationInfo
    /// Where the broadcast goes: `HOST:PORT`, or a program.
    let address: String
    /// A relay passes on what host and service say to each other.
    var isOverRelay = false
    enum Purpose {
        /// It gets everything that is shared.
        case broadcast
        /// It is a relay over which viewers reach this host, and which sends to them if there are more than so many;
        /// nil: it never does. What it gets is encrypted for them if the broadcast is sealed.
        case tunnel(directViewers: Int?, isSealed: Bool)
        /// It is a relay over which viewers reach this host, and which alone sends to them what is encrypted for them.
        case relay

        /// - Parameter service: what it says of itself.
        func detail(of service: ServiceDescription) -> String {
            guard case .broadcast = self, service.isRelay else { return detail }
            return "It is a relay: it gets what is shared, can watch it, and sends it to viewers."
        }

        private static let page = "Browsers load their page from it, which it could change; share join loads none."

        var isTunnel: Bool { if case .broadcast = self { false } else { true } }

        private var detail: String {
            switch self {
            case .broadcast: "Everything that is shared goes to this service, and to nobody else."
            case .relay:
                "It tells you who wants to watch, and learns their names. It gets what is shared, and sends it to those "
                    + "that you accept; it is encrypted for them, so the relay cannot watch. \(Self.page)"
            case .tunnel(nil, _):
                "It tells you who wants to watch, and learns their names. It gets nothing of what is shared."
            case .tunnel(let count?, let isSealed):
                "It tells you who wants to watch, and learns their names. With more than \(count) "
                    + "viewer\(count == 1 ? "" : "s"), or one whom nothing else reaches, it gets what is shared, and sends it to those that you accept; "
                    + (isSealed
                        ? "it is encrypted for them, so the relay cannot watch. \(Self.page)"
                        : "it can watch; --route direct prevents that.")
            }
        }
    }
    var purpose = Purpose.broadcast
    /// The user has typed the service's link, which has its fingerprint: nothing but missing fields is asked for.
    var isTyped = false
    /// Values from the command line, by the names of fields.
    let values: [String: String]
    /// Whether an answer is still wanted.
    var isWanted: @Sendable () -> Bool = { true }

    /// - Returns: the values of the service's fields; nil if the user does not want.
    func ask(_ question: PairingQuestion) -> [String: String]? {
        let isTerminal = isatty(STDIN_FILENO) == 1
        if let refused = question.refused {
            return askAgain(refused.values, refused.error)
        }
        let service = question.service
        let place = "\(UntrustedText.quote(service.name)) (\(service.id), \(address))"
        if isTyped {
            announce(service, at: place)
            return setup(for: service)
        }
        let sentence =
            "\(UntrustedText.quote(application.name)) wants to \(purpose.isTunnel ? "be reached over" : "broadcast to") "
            + place + "."
        let details =
            [purpose.detail(of: service)]
            + (isOverRelay
                ? ["The relay only passes on what you and the service say to each other; it cannot watch."] : [])
        return isTerminal ? askInTerminal(service, sentence, details) : askInWindow(service, sentence, details)
    }

    private func askInTerminal(
        _ service: ServiceDescription, _ question: String, _ details: [String]
    ) -> [String: String]? {
        ErrorOutput.writeLine(question)
        for line in details { ErrorOutput.writeLine("  " + line) }
        writeTerms(of: service)
        guard KeyQuestion("Accept?", keys: [("y", "es"), ("n", "o")], isWanted: isWanted).ask() == "y" else {
            return nil
        }
        return setup(for: service)
    }

    /// Says where the broadcast goes, and what becomes of it there.
    private func announce(_ service: ServiceDescription, at place: String) {
        ErrorOutput.showStatus("")
        ErrorOutput.writeLine("share: \(purpose.isTunnel ? "to be reached over" : "broadcasting to") \(place)")
        ErrorOutput.writeLine("  " + purpose.detail(of: service))
        writeTerms(of: service)
    }

    private func writeTerms(of service: ServiceDescription) {
        guard let terms = service.terms else { return }
        ErrorOutput.writeLine("  Terms:")
        for line in terms.split(separator: "\n", omittingEmptySubsequences: false) {
            ErrorOutput.writeLine("    " + line)
        }
    }

    /// The values of the command line that the service has fields for.
    private func given(for service: ServiceDescription) -> [String: String] {
        values.filter { value in service.fields.contains { $0.name == value.key } }
    }

    /// The values of the command line, and of the user for the other fields.
    private func setup(for service: ServiceDescription) -> [String: String]? {
        var setup = given(for: service)
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

    /// Asks until there is a value; nil at the end of stdin, or when the user closes the window.
    /// - Parameter problem: of the last value, as a sentence.
    private func value(of field: SetupField, _ problem: String? = nil) -> String? {
        guard isatty(STDIN_FILENO) == 1 else {
            if Self.obstacle != nil {
                let words = problem ?? "\(field.label) is missing"
                ErrorOutput.writeLine("share: \(words): give --field \(field.name)=...")
                return nil
            }
            let question = WindowQuestion(
                problem ?? field.label, fields: [.init(name: field.name, label: field.label)],
                answers: ["Cancel", "Continue"])
            let answer = WindowPrompt.ofProcess.ask(question)
            return answer?.button == 1 ? answer?.values[field.name] : nil
        }
        if let problem { ErrorOutput.writeLine("  \(problem)") }
        while let value = line("  \(field.label): ") {
            if !value.isEmpty { return value }
        }
        return nil
    }

    private func line(_ question: String) -> String? {
        _ = CommandSupport.write(STDERR_FILENO, question)
        return readLine()?.trimmed
    }

    private func askInWindow(
        _ service: ServiceDescription, _ question: String, _ details: [String]
    ) -> [String: String]? {
        let given = given(for: service)
        let missing = service.fields.filter { given[$0.name] == nil }
        let answer = WindowPrompt.ofProcess.ask(
            WindowQuestion(
                question, details: details, terms: service.terms,
                fields: missing.map { .init(name: $0.name, label: $0.label) }, answers: ["Refuse", "Accept"]))
        guard let answer, answer.button == 1 else { return nil }
        return given.merging(answer.values) { $1 }
    }

    /// Why nobody can be asked; nil if somebody can.
    static var obstacle: CommandError? {
        guard isatty(STDIN_FILENO) != 1, !WindowQuestion.isPossible else { return nil }
        return CommandError(
            sentence: "there is no terminal and no display to ask in",
            remedy: "Broadcasts to a service are asked about every time: run share in a terminal, or with a display.",
            status: .usage)
    }
}
