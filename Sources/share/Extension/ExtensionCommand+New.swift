import Admission
import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import Identifiers
import MediaCore

extension ExtensionCommand {
    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write a package with the programs of an extension, which builds and runs as it is.",
            discussion: """
                The package has a setup program, which asks for a title, an upload program, \
                which saves the newest frame to a file, and a manifest. Next: swift build, \
                then share extension install.
                """)

        @Argument(help: "The extension's identifier, in reverse-DNS notation.")
        var id: String

        @Option(
            help: ArgumentHelp(
                "Folder of the package 'share', with the library ShareKit; the one that this program was built in, if omitted.",
                valueName: "folder"))
        var package: String?

        func run() throws { try complaining { try write() } }

        private func write() throws {
            let id = try HostCommand.serviceID(id)
            guard let source = package.map({ URL(fileURLWithPath: $0).path }) ?? Self.ownPackage() else {
                throw CommandError(
                    sentence: "the package with ShareKit was not found beside this program",
                    remedy: "Name its folder: --package FOLDER.", status: .usage)
            }
            let words = (id.text.split(separator: ".").last ?? "extension").split(separator: "-")
            let name = words.map { $0.prefix(1).uppercased() + $0.dropFirst().lowercased() }.joined(separator: "-")
            let folder = URL(fileURLWithPath: name)
            guard !FileManager.default.fileExists(atPath: folder.path) else {
                throw CommandError(sentence: "there is a folder \(name) already", status: .cannotWrite)
            }
            let template = ExtensionTemplate(id: id, name: name, package: source)
            do {
                for (path, text) in template.files {
                    let file = folder.appendingPathComponent(path)
                    try FileManager.default.createDirectory(
                        at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                    try Data(text.utf8).write(to: file)
                }
            } catch {
                let cause = (error as? CocoaError)?.underlying as? POSIXError
                let reason = cause.map { String(cString: strerror($0.code.rawValue)) } ?? "\(error)"
                throw CommandError(
                    sentence: "cannot write \(name): \(reason)", status: .cannotWrite)
            }
            ErrorOutput.writeLine("share: written: \(name)")
            ErrorOutput.writeLine("share: build it:      swift build --package-path \(name)")
            ErrorOutput.writeLine("share: install it:    share extension install \(name)/manifest.json")
            ErrorOutput.writeLine("share: broadcast to it: share host --preferred-extension \(id)")
        }

        /// The package that this program was built in; nil if it was installed elsewhere.
        private static func ownPackage() -> String? {
            var folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            while folder.path != "/" {
                folder.deleteLastPathComponent()
                if FileManager.default.fileExists(atPath: folder.appendingPathComponent("Sources/ShareKit").path) {
                    return folder.path
                }
            }
            return nil
        }
    }
}
