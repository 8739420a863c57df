import Admission
import Broadcasting
import Foundation
import LinuxRuntime
import MediaCore
import Sessions
import Signaling
import Transport

/// Broadcasting to a service instead of to viewers.
extension HostCommand {
    /// Pairs with the service of an extension: shows its alert, and asks for what its setup needs.
    /// A countdown follows the user's answer.
    func pair(
        _ link: ServiceLink, identity: Identity, until ending: Monitor<EndReason?>, _ output: DataOutput
    ) throws -> PairedService {
        if let obstacle = ServicePrompt.obstacle { throw obstacle }
        let application = ApplicationInfo(id: "io.sharekit.share", name: name ?? NSUserName())
        let prompt = ServicePrompt(application: application, address: link.authority, values: try setupValues())
        let service: [(String, JSONValue)] = [("service", .string(link.id.text))]
        output.event("pairing", service)
        ErrorOutput.showStatus("share: asking \(link.id) at \(link.authority) ...")
        let countdown = countdown
        defer { ErrorOutput.showStatus("") }
        do throws(PairingFailure) {
            let pairing = ServicePairing(link: link, application: application, identity: identity)
            let paired = try blocking(throwing: { () throws(PairingFailure) in
                try await pairing.run { question in
                    ErrorOutput.showStatus("")
                    return await answer {
                        guard let setup = prompt.ask(question) else { return nil }
                        // Refused values are asked for again, at once.
                        guard (try? question.service.setup(setup)) != nil else { return setup }
                        Self.countDown(countdown, until: ending, output)
                        return ending.with { $0 } == nil ? setup : nil
                    }
                }
            })
            output.event("paired", service + [("name", .string(paired.name))])
            ErrorOutput.writeLine("share: paired with \(UntrustedText.quote(paired.name))")
            return paired
        } catch {
            output.event(
                "pairing-refused", service + [("reason", .string("\(error)")), ("code", .string(error.code))])
            throw Complaint(sentence: "\(error)", status: error.status)
        }
    }

    static func serviceID(_ text: String) throws -> ServiceID {
        guard let id = ServiceID(text) else {
            throw Complaint(
                sentence: "'\(text)' is no identifier of a service, such as com.example.conference", status: .usage)
        }
        return id
    }

    /// The installed extension of this identifier. If `id` is empty: the preferred one, or one that the user chooses.
    static func installedExtension(_ id: String) throws -> ExtensionManifest {
        do {
            guard id.isEmpty else { return try ExtensionStore().read(serviceID(id)) }
            if let preferred = try PreferredService().get() { return try ExtensionStore().read(preferred) }
            return try chosenExtension()
        } catch let error as ExtensionError {
            throw Complaint(
                sentence: "\(error)", remedy: "Ask the service for its link, and run: share extension install LINK",
                status: error.status)
        }
    }

    private static func chosenExtension() throws -> ExtensionManifest {
        let listing = try ExtensionStore().list()
        for error in listing.errors { ErrorOutput.writeLine("share: \(error)") }
        guard !listing.extensions.isEmpty else {
            throw Complaint(
                sentence: "no service is preferred, and none is installed",
                remedy: "Ask a service for its link, and run: share extension install LINK", status: .unknownService)
        }
        if let obstacle = ServicePrompt.obstacle { throw obstacle }
        guard let chosen = ServicePicker(services: listing.extensions).pick() else {
            throw Complaint(sentence: "you chose no service", status: .declined)
        }
        return chosen
    }

    func setupValues() throws -> [String: String] {
        var values: [String: String] = [:]
        for text in field {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw Complaint(sentence: "--field is NAME=VALUE, not '\(text)'", status: .usage)
            }
            values[String(parts[0])] = String(parts[1])
        }
        return values
    }

    /// Starts to publish to the service.
    func start(_ session: HostSession, publishingTo service: PairedService, _ output: DataOutput) throws {
        do throws(EndReason) {
            try blocking(throwing: { () throws(EndReason) in
                try await session.start(publishingTo: service) { ServiceEventReporter.report($0, output) }
            })
        } catch {
            blocking { await session.stop(error) }
            throw Complaint(error)
        }
        ErrorOutput.writeLine("share: broadcasting to \(UntrustedText.quote(service.name)) alone; Ctrl-C ends it")
    }
}

/// Runs a blocking question on a thread of its own.
func answer<Answer: Sendable>(_ ask: @escaping @Sendable () -> Answer) async -> Answer {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: ask()) }.start()
    }
}

/// Reports what a service tells of the broadcast that it receives.
enum ServiceEventReporter {
    static func report(_ event: ServiceEvent, _ output: DataOutput) {
        switch event {
        case .serviceInfo(let info):
            output.event(
                "service-info",
                [
                    "viewers": info.viewers.map { .integer($0) } ?? .null,
                    "likes": info.likes.map { .integer($0) } ?? .null,
                    "comment": info.comment.map { .object(["name": .string($0.name), "text": .string($0.text)]) }
                        ?? .null,
                ])
            if let comment = info.comment {
                ErrorOutput.writeLine(
                    "share: \(UntrustedText.quote(comment.name)): \(UntrustedText.quote(comment.text))")
            }
        case .broadcastURL(let url):
            output.event("broadcast-url", ["url": .string(url)])
            ErrorOutput.writeLine("share: watch at \(url)")
        case .finished, .candidates: break
        }
    }
}

extension PairingFailure {
    /// The name of the case, in the events of `--json`.
    var code: String {
        switch self {
        case .declined: "declined"
        case .setup: "setup"
        case .refused: "refused"
        case .unanswered: "unanswered"
        case .unknownService: "unknownService"
        case .certificateChanged: "certificateChanged"
        case .busy: "busy"
        case .gone: "gone"
        case .timedOut: "timedOut"
        case .wrongSignature: "wrongSignature"
        case .unreachable: "unreachable"
        case .malformed: "malformed"
        }
    }

    var status: ExitStatus {
        switch self {
        case .declined: .declined
        case .setup: .usage
        case .refused: .refused
        case .unanswered, .timedOut: .unanswered
        case .unknownService: .unknownService
        case .certificateChanged, .wrongSignature, .malformed: .untrusted
        case .busy: .serviceBusy
        case .gone: .lost
        case .unreachable: .unreachable
        }
    }
}
