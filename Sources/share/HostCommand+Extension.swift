import Admission
import Broadcasting
import ExtensionChannel
import Foundation
import LinuxRuntime
import MediaCore
import Publishing
import Sessions
import Transport
import Uploading
import VPXCodec

/// Broadcasting to the upload program of an extension.
extension HostCommand {
    /// Asks the user, runs the setup program, and broadcasts until the end.
    func broadcast(
        to manifest: ExtensionManifest, until ending: Monitor<EndReason?>, _ output: DataOutput
    ) throws {
        if let obstacle = ServicePrompt.obstacle { throw obstacle }
        let event: [(String, JSONValue)] = [("service", .string(manifest.id.text))]
        output.event("pairing", event)
        let launch = try prepare(manifest, event, output)
        output.event("paired", event + [("name", .string(manifest.name))])
        Self.countDown(countdown, until: ending, output)
        let (screen, sound) = try makeSources()
        ErrorOutput.writeLine("share: showing \(screen.summary)")
        for limitation in screen.limitations { ErrorOutput.writeLine("share: \(limitation)") }
        var configuration = launch.configuration
        configuration.framesPerSecond = fps
        configuration.maximumBitrate = .kilobits(bitrate)
        let session = ExtensionBroadcast(
            configuration, source: screen, makeEncoder: { VP8Encoder() }, audio: sound,
            emit: { event in
                HostReporter.report(event, output)
                guard case .ended(let reason) = event else { return }
                ending.change { $0 = $0 ?? reason }
            }, report: { ServiceEventReporter.report($0, output) })
        if ending.with({ $0 }) == nil {
            do throws(EndReason) {
                try blocking(throwing: { () throws(EndReason) in try await session.start() })
                ErrorOutput.writeLine(
                    "share: broadcasting to \(UntrustedText.quote(manifest.name)) alone; Ctrl-C ends it")
            } catch {
                ending.change { $0 = $0 ?? error }
            }
        }
        let reason =
            waitForEnd(ending, seconds: duration.map { $0.seconds } ?? .infinity)
            ?? EndReason(.stopped, "the time is over")
        ErrorOutput.showStatus("")
        blocking { await session.stop(reason) }
        HostReporter.settle(isEnd: true)
        output.ended(reason)
        guard reason.code == .stopped else { throw Complaint(reason) }
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }

    /// Asks the user, and runs the setup program.
    private func prepare(
        _ manifest: ExtensionManifest, _ event: [(String, JSONValue)], _ output: DataOutput
    ) throws -> ExtensionLaunch {
        let application = ApplicationInfo(id: "io.sharekit.share", name: name ?? NSUserName())
        let prompt = ServicePrompt(
            application: application, address: manifest.destination, values: try setupValues())
        let refusal: PairingFailure
        do {
            let setup = try blocking(throwing: { () throws(PairingFailure) in
                try await manifest.description.setup { question in await answer { prompt.ask(question) } }
            })
            let launch = try blocking(throwing: { () throws(EndReason) in
                try await ExtensionLaunch.prepare(manifest, application: application, values: setup)
            })
            if let launch { return launch }
            refusal = .declined
        } catch let error as PairingFailure {
            refusal = error
        } catch let error as EndReason {
            throw Complaint(error)
        }
        output.event("pairing-refused", event + [("reason", .string("\(refusal)")), ("code", .string(refusal.code))])
        throw Complaint(sentence: "\(refusal)", status: refusal.status)
    }
}
