import Admission
import ArgumentParser
import CommandSupport
import Extensions
import FoundationEssentials
import Identifiers
import MediaCore
import Signaling

struct ExtensionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extension", abstract: "Write, install, list and remove what this user can broadcast to.",
        discussion: """
            An extension names a service, with the certificate that is pinned, or a program \
            that takes the broadcast. It is a file in the folder 'extensions' beside this \
            user's identity.
            """,
        subcommands: [New.self, Install.self, List.self, Remove.self], defaultSubcommand: List.self)

    struct Install: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Install a service by the link that 'share service' printed, or an extension by its manifest.",
            discussion: """
                A service has to run: it is asked for its name, its fields and its terms. The \
                programs of a manifest have to exist; they run as you, so install only what \
                you would run.
                """)

        @Argument(help: ArgumentHelp("The service's link, or the file of a manifest.", valueName: "link|file"))
        var link: String

        func run() throws {
            try reporting {
                if FileManager.default.fileExists(atPath: link) {
                    return Self.report(try ExtensionStore().install(file: link))
                }
                let (parsed, description) = try ServiceLookup.describe(link)
                Self.report(try ExtensionStore().install(parsed, description))
            }
        }

        private static func report(_ manifest: ExtensionManifest) {
            ErrorOutput.writeLine("share: installed: \(manifest.line)")
            ErrorOutput.writeLine("share: broadcast to it: share host --preferred-extension \(manifest.id)")
        }
    }

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print a line for each: identifier, address, name.")

        func run() throws { try listServices() }
    }

    struct Remove: ParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove an extension.")

        @Argument(help: "The service's identifier.")
        var id: String

        func run() throws {
            try reporting {
                let id = try HostCommand.serviceID(id)
                try ExtensionStore().remove(id)
                if try PreferredService().get() == id { try PreferredService().clear() }
                ErrorOutput.writeLine("share: removed: \(id)")
            }
        }
    }
}

struct ServicesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "services", abstract: "List the services that this user can broadcast to.",
        discussion: "The preferred one ('share pair ID') has a star.")

    func run() throws { try listServices() }
}

struct PairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pair", abstract: "Remember one preferred service for this user.",
        discussion: """
            'share host --preferred-extension' without an identifier then broadcasts to it. \
            You are asked about each broadcast all the same.
            """)

    @Argument(help: "The service's identifier; shows the preferred one if omitted.")
    var id: String?

    @Flag(help: "Forget the preferred service.")
    var forget = false

    func run() throws {
        try reporting {
            if forget {
                try PreferredService().clear()
                return ErrorOutput.writeLine("share: no service is preferred any more")
            }
            guard let id else {
                guard let preferred = try PreferredService().get() else {
                    throw CommandError(
                        sentence: "no service is preferred", remedy: "Choose one: share pair ID; see share services.",
                        status: .unknownService)
                }
                DataOutput(isJSON: false).line(preferred.text)
                return
            }
            let manifest = try ExtensionStore().read(try HostCommand.serviceID(id))
            try PreferredService().set(manifest.id)
            ErrorOutput.writeLine("share: preferred from now on: \(manifest.line)")
        }
    }
}

extension ExtensionManifest {
    /// One line: the identifier, the address of the service, and the name, which may contain spaces.
    var line: String { "\(id)  \(destination)  \(UntrustedText.quote(name))" }
}

private func listServices() throws {
    try reporting {
        let listing = try ExtensionStore().list()
        let preferred = try PreferredService().get()
        for error in listing.errors { ErrorOutput.writeLine("share: \(error)") }
        if listing.extensions.isEmpty {
            ErrorOutput.writeLine("share: no service is installed: share extension install LINK")
        }
        for manifest in listing.extensions {
            DataOutput(isJSON: false).line("\(manifest.id == preferred ? "*" : " ") \(manifest.line)")
        }
    }
}

private func reporting(_ body: () throws -> Void) throws {
    do {
        try body()
    } catch let error as ExtensionError {
        throw CommandError(sentence: error.description, status: error.status).report()
    } catch let error as CommandError {
        throw error.report()
    }
}

extension ExtensionError {
    var status: ExitStatus {
        switch code {
        case .notInstalled: .unknownService
        case .otherCertificate: .untrusted
        case .directory, .file, .tooMany: .cannotWrite
        case .notAFile, .foreignOwner, .writableByOthers, .tooLarge, .malformed, .otherID, .relativePath,
            .notExecutable, .reserved:
            .unknownService
        }
    }
}
