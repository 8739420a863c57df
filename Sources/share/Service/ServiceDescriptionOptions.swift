import Admission
import ArgumentParser
import CommandSupport
import FoundationEssentials
import Identifiers
import LinuxRuntime

/// The description of a service that hosts see, with its questions. Its options stand among those of `ServiceCommand`.
struct ServiceDescriptionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Identifier in reverse-DNS notation, such as com.example.conference.", valueName: "id"))
    var id: String

    @Option(help: ArgumentHelp("Name that hosts see; the identifier if omitted.", valueName: "text"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "What to ask the host's user, such as title:Title; may be repeated.", valueName: "name[:label]"))
    var field: [String] = []

    @Option(help: .rest("Text file with the terms that the host's user has to agree to.", valueName: "file"))
    var terms: String?

    @Option(
        help: .rest(
            "Image that hosts keep for the service: PNG, at most 256 x 256 pixels and 16 KiB.", valueName: "file.png"))
    var icon: String?

    /// The description with the terms and the icon, which are read.
    func description() throws -> ServiceDescription {
        try description(terms: try readTerms(), icon: try readIcon())
    }

    func description(terms: String?, icon: PNGIcon?) throws -> ServiceDescription {
        guard let id = ServiceID(id) else {
            throw ValidationError("--id is in reverse-DNS notation, such as com.example.conference, not '\(id)'.")
        }
        do throws(ServiceDescriptionError) {
            var fields: [SetupField] = []
            for text in field {
                let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
                fields.append(try SetupField(name: parts.first ?? "", label: parts.dropFirst().first ?? ""))
            }
            return try ServiceDescription(id: id, name: name ?? id.text, fields: fields, terms: terms, icon: icon)
        } catch {
            throw ValidationError("\(error).")
        }
    }

    private func readTerms() throws -> String? {
        guard let terms else { return nil }
        guard let text = try? String(contentsOfFile: terms, encoding: .utf8) else {
            throw CommandError(sentence: "\(terms) cannot be read as text", status: .usage)
        }
        return text
    }

    private func readIcon() throws -> PNGIcon? {
        guard let icon else { return nil }
        guard let file = FileDescriptor(reading: icon),
            let data = file.read(upTo: PNGIcon.sizeLimit + 1)
        else { throw CommandError(sentence: "\(icon) cannot be read", status: .usage) }
        do throws(ServiceDescriptionError) {
            return try PNGIcon(data)
        } catch {
            throw CommandError(sentence: "\(icon): \(error)", status: .usage)
        }
    }
}
