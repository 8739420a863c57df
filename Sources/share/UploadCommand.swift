import Admission
import ArgumentParser
import ExtensionChannel
import Foundation
import LinuxRuntime
import MediaCore
import Sessions
import ShareKit
import Signaling
import Transport
import Uploading
import WHIP

/// The upload programs of the extensions that ship with `share`. A host starts them.
struct UploadCommand: ParsableCommand {
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

/// Publishes the host's encoded samples to an endpoint, which a subclass names.
class PublishingUpload: SampleHandler, @unchecked Sendable {
    private struct State {
        var publication: ProgramPublication?
        var isOver = false
    }

    private let state = Monitor(State())

    final override var sampleFormat: SampleFormat { .encoded }

    /// - Parameters:
    ///   - start: with the values of the setup.
    ///   - identity: of this user.
    /// - Throws: why there is none; the host's user sees it.
    func endpoint(_ start: ExtensionStart, _ identity: Identity) async throws(EndReason) -> any PublishingEndpoint {
        throw EndReason(.failed, "no endpoint")
    }

    /// What is published of the host's audio.
    func tracks(_ audio: [SampleDescription.AudioTrack]) -> [SampleDescription.AudioTrack] { audio }

    required init() {
        super.init()
        onStart = { [unowned self] in start($0) }
        onSample = { [state] sample in state.with { $0.publication }?.receive(sample) }
    }

    private func start(_ start: ExtensionStart) {
        Task.detached { [self] in
            do throws(EndReason) {
                try await publish(start)
            } catch {
                finishBroadcast(withError: error.sentence, nextStep: error.remedy.isEmpty ? nil : error.remedy)
            }
        }
    }

    private func publish(_ start: ExtensionStart) async throws(EndReason) {
        let identity: Identity
        do throws(IdentityError) {
            identity = try Identity.loadOrCreate()
        } catch {
            throw EndReason(.failed, error.description)
        }
        let endpoint = try await endpoint(start, identity)
        guard let connection else { return }
        let publication = ProgramPublication(
            connection, tracks: tracks(start.audio ?? [.application]), endpoint: endpoint, identity: identity,
            report: { [self] in pass($0) })
        let isOver = state.with { state in
            state.publication = publication
            return state.isOver
        }
        let reason = isOver ? EndReason(.stopped, "ended") : try await publication.run()
        guard reason.code != .stopped else { return }
        throw reason
    }

    private func pass(_ event: ServiceEvent) {
        switch event {
        case .serviceInfo(let info):
            updateServiceInfo(
                BroadcastController.ServiceInfo(
                    viewers: info.viewers, likes: info.likes,
                    comment: info.comment.map { .init(name: $0.name, text: $0.text) }))
        case .broadcastURL(let url): updateBroadcast(url: url)
        case .finished, .candidates: break
        }
    }

    final override func broadcastFinished() {
        let publication = state.with { state in
            state.isOver = true
            return state.publication
        }
        guard let publication else { return }
        blocking { await publication.stop(EndReason(.stopped, "the host ended the broadcast")) }
    }
}

/// The extension "WHIP": any endpoint of RFC 9725. It takes one audio track, as section 4.2 has it.
final class WHIPUpload: PublishingUpload, @unchecked Sendable {
    override func endpoint(
        _ start: ExtensionStart, _ identity: Identity
    ) async throws(EndReason) -> any PublishingEndpoint {
        do throws(SignalingError) {
            let (url, text) = (start.setup["url"] ?? "", start.setup["token"] ?? "")
            let token = text == "-" ? "" : text
            // A service's link names its certificate, so that no system has to trust that.
            if let link = try? ServiceLink(parsing: url) { return try TokenEndpoint(link, token: token) }
            return try WHIPEndpoint(url, token: token)
        } catch {
            throw EndReason(.failed, error.description, remedy: error.remedy)
        }
    }

    override func tracks(_ audio: [SampleDescription.AudioTrack]) -> [SampleDescription.AudioTrack] {
        audio.contains(.application) ? [.application] : audio
    }
}

/// The extension "Service peer": a service of this project, named by its link. The setup has asked the user.
final class ServiceUpload: PublishingUpload, @unchecked Sendable {
    override func endpoint(
        _ start: ExtensionStart, _ identity: Identity
    ) async throws(EndReason) -> any PublishingEndpoint {
        let link: ServiceLink
        do throws(LinkError) {
            link = try ServiceLink(parsing: start.setup["link"] ?? "")
        } catch {
            throw EndReason(.badLink, error.description)
        }
        let application = ApplicationInfo(id: start.application.id, name: start.application.name)
        let values = ServicePeerSetup.values(start.setup)
        do throws(PairingFailure) {
            let paired = try await ServicePairing(link: link, application: application, identity: identity).run { _ in
                values
            }
            if let url = paired.broadcastURL { updateBroadcast(url: url) }
            return paired
        } catch {
            throw EndReason(.failed, "\(error)")
        }
    }
}

/// Asks the user about the service of the link, and for what it wants to know.
final class ServicePeerSetup: BroadcastSetup {
    private static let prefix = "field-"

    override func setUp(for application: SampleHandler.Application, values: [String: String]) -> [String: String]? {
        do {
            return try ask(for: application, values)
        } catch let complaint as Complaint {
            _ = complaint.report()
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
            application: ApplicationInfo(id: application.id, name: application.name), address: link.authority,
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
