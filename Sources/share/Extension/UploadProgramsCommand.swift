import Admission
import ArgumentParser
import CommandSupport
import Host
import Identifiers
import PeerConnection
import ShareKit
import Signaling

/// The upload programs of the extensions that ship with `share`. A host starts them.
struct UploadProgramsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload", abstract: "Upload programs of extensions; a host starts them.", shouldDisplay: false,
        subcommands: [WHIP.self, Service.self, ServiceSetup.self])

    struct WHIP: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "whip")
        func run() throws { WHIPUpload.main() }
    }

    struct Service: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "service")
        func run() throws { ServiceUpload.main() }
    }

    struct ServiceSetup: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "service-setup")
        func run() throws { ServicePeerSetup.main() }
    }
}

/// The extension "WHIP".
final class WHIPUpload: PublishingHandler, @unchecked Sendable {
    override func destination(setupInfo: [String: String]) -> Destination? {
        .whip(url: setupInfo["url"] ?? "", token: setupInfo["token"] == "-" ? nil : setupInfo["token"])
    }
}

/// The extension "Service peer". Its setup has asked the user.
final class ServiceUpload: PublishingHandler, @unchecked Sendable {
    override func destination(setupInfo: [String: String]) -> Destination? {
        .service(link: setupInfo["link"] ?? "", setup: ServicePeerSetup.values(setupInfo))
    }
}

/// Asks the user about the service of the link, and for what it wants to know.
final class ServicePeerSetup: BroadcastSetup {
    private static let prefix = "field-"

    override func setUp(for application: SampleHandler.Application, values: [String: String]) -> [String: String]? {
        do {
            return try ask(for: application, values)
        } catch let error as CommandError {
            _ = error.report()
        } catch {
            ErrorOutput.writeLine("share: \(error)")
        }
        return nil
    }

    private func ask(
        for application: SampleHandler.Application, _ values: [String: String]
    ) throws -> [String: String]? {
        if let obstacle = ServicePrompt.obstacle { throw obstacle }
        let link = try ServiceLink(parsing: values["link"] ?? "")
        let description = try blocking(throwing: { () throws(PairingFailure) in
            let client = try ServiceClient(link: link)
            do throws(PairingFailure) {
                let description = try await client.describe()
                await client.close()
                return description
            } catch {
                await client.close()
                throw error
            }
        })
        let prompt = ServicePrompt(
            application: ApplicationInfo(
                id: application.id, name: application.name, icon: application.icon.flatMap { try? PNGIcon($0) }),
            address: link.destination, isOverRelay: link.relay != nil,
            values: [:])
        var question = PairingQuestion(service: description, refused: nil)
        while let given = prompt.ask(question) {
            do {
                let setup = try description.setup(given)
                return Dictionary(uniqueKeysWithValues: setup.map { (Self.prefix + $0.key, $0.value) })
            } catch {
                question = PairingQuestion(service: description, refused: (given, error))
            }
        }
        return nil
    }

    /// The values of the service's own fields.
    static func values(_ setup: [String: String]) -> [String: String] {
        var values: [String: String] = [:]
        for (name, value) in setup where name.hasPrefix(prefix) { values[String(name.dropFirst(prefix.count))] = value }
        return values
    }
}
