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
                try await pairing.run { description in
                    ErrorOutput.showStatus("")
                    return await answer {
                        guard let setup = prompt.ask(description) else { return nil }
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

    /// The installed extension of this identifier, or the preferred one if `id` is empty.
    static func installedExtension(_ id: String) throws -> ExtensionManifest {
        do {
            let preferred = id.isEmpty ? try PreferredService().get() : nil
            if id.isEmpty, preferred == nil {
                throw Complaint(
                    sentence: "no service is preferred", remedy: "Choose one: share pair ID; see share services.",
                    status: .unknownService)
            }
            return try ExtensionStore().read(try preferred ?? serviceID(id))
        } catch let error as ExtensionError {
            throw Complaint(
                sentence: "\(error)", remedy: "Ask the service for its link, and run: share extension install LINK",
                status: error.status)
        }
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
