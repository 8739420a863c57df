package import ArgumentParser

/// How much help shows of a verb with many options: the common ones, or all of them with their details (`--help-all`).
package struct HelpScope {
    /// The words of the command line, for the parser, which knows `--help` alone.
    package let arguments: [String]
    /// Whether help was asked for, and not for all options.
    let isShort: Bool

    /// - Parameter arguments: the words after the program's name.
    init(_ arguments: [String]) {
        let options = arguments.prefix { $0 != "--" }
        let isVerb = options.first == "help"
        let isWhole = options.contains("--help-all") || isVerb && options.contains("--all")
        isShort = !isWhole && (isVerb || options.contains("--help") || options.contains("-h"))
        guard isWhole else {
            self.arguments = arguments
            return
        }
        self.arguments = options.compactMap { $0 == "--help-all" ? "--help" : isVerb && $0 == "--all" ? nil : $0 }
    }

    /// Of this process.
    package static let current = HelpScope(Array(CommandLine.arguments.dropFirst()))

    /// The visibility of options that only `--help-all` shows. Errors and completions name them as all others.
    package static var rest: ArgumentVisibility { current.isShort ? .hidden : .default }

    /// What only `--help-all` says.
    package static func details(_ text: String) -> String { current.isShort ? "" : text }

    /// The last paragraph of a discussion. Empty where all is shown.
    /// - Parameter others: what the other options are for.
    package static func hint(_ others: String) -> String {
        current.isShort ? "\n\n--help-all shows all options: \(others)." : ""
    }

    /// The usage without its options; nil where all are shown.
    package static func usage(_ text: String) -> String? { current.isShort ? text : nil }
}

extension ArgumentHelp {
    /// Of an option that only `--help-all` shows.
    package static func rest(
        _ abstract: String, discussion: String = "", valueName: String? = nil
    ) -> ArgumentHelp {
        ArgumentHelp(abstract, discussion: discussion, valueName: valueName, visibility: HelpScope.rest)
    }

    /// Of a common option, whose details only `--help-all` shows.
    package static func common(_ abstract: String, details: String = "", valueName: String? = nil) -> ArgumentHelp {
        ArgumentHelp(abstract, discussion: HelpScope.details(details), valueName: valueName)
    }
}
