import ArgumentParser
import CommandSupport
import HTTP
import Identifiers
import LinuxRuntime
import PeerConnection
import RecordingPage
import Signaling
import Viewer

/// `share join LINK --browser`: the page of the link, from this machine.
extension JoinCommand {
    /// - Throws: `ValidationError` for an option of the window or of what this program itself receives.
    func validateBrowser() throws {
        guard browser else { return }
        let others: [(isGiven: Bool, name: String)] = [
            (headless, "--headless"), (fullscreen, "--fullscreen"), (mute, "--mute"), (snapshot != nil, "--snapshot"),
            (duration != nil, "--for"), (stats, "--stats"), (maxLayer != nil, "--max-layer"),
            (keep.record != nil, "--record"), (keep.clips != nil, "--clips"), (!serverOptions.stun.isEmpty, "--stun"),
            (!serverOptions.turn.isEmpty, "--turn"), (serverOptions.relayOnly, "--relay-only"),
        ]
        guard let other = others.first(where: \.isGiven) else { return }
        throw ValidationError("With --browser the browser watches, and not this program: \(other.name) has no effect.")
    }

    func showInBrowser(_ link: Link) throws(CommandError) {
        let output = DataOutput(isJSON: json)
        let ending = Monitor<EndReason?>(nil)
        let end: @Sendable (EndReason) -> Void = { reason in ending.change { $0 = $0 ?? reason } }
        try requireServer(of: link)
        Signals.handle { end(EndReason(.stopped, "ended by \($0)")) }
        let launch = Monitor<LaunchFile?>(nil)
        let failures = FailureLines()
        let server = try start(link) { event in
            switch event {
            case .opened: launch.with { $0.take() }?.remove()
            case .left: end(EndReason(.stopped, "the page was closed"))
            case .failed(let error): failures.write(error)
            }
        }
        defer {
            launch.with { $0.take() }?.remove()
            blocking { await server.stop() }
        }
        try output.link(server.address)
        ErrorOutput.writeLine("share: the page is at the address above, for this machine alone; Ctrl-C ends it")
        let address = server.address
        launch.with { file in
            file = DesktopBrowser.open { (folder) throws(LaunchFile.Failure) in
                try LaunchFile(in: folder, forwardingTo: address, title: "share")
            }
        }
        let reason = ending.wait { $0 }
        output.ended(reason)
        ErrorOutput.writeLine("share: \(reason.sentence)")
    }

    /// Says what is wrong with the link before a browser is opened. Nobody is asked.
    private func requireServer(of link: Link) throws(CommandError) {
        do throws(SignalingError) {
            try blocking(throwing: { () throws(SignalingError) in
                let client = try SignalingClient(link: link)
                let status: Int
                do throws(SignalingError) {
                    status = try await client.pageStatus()
                } catch {
                    await client.close()
                    throw error
                }
                await client.close()
                if status == 404 { throw .oldLink }
            })
        } catch {
            throw CommandError(EndReason(error))
        }
    }

    private func start(
        _ link: Link, report: @escaping @Sendable (LocalPageServer.Event) -> Void
    ) throws(CommandError) -> LocalPageServer {
        let viewer = name ?? DefaultName.text
        let started: Result<LocalPageServer, any Error> = blocking {
            do {
                return .success(try await LocalPageServer.start(for: link, viewer: viewer, report: report))
            } catch {
                return .failure(error)
            }
        }
        switch started {
        case .success(let server): return server
        case .failure(let error as SignalingError): throw CommandError(EndReason(error))
        case .failure: throw CommandError(sentence: "no port can be opened for the page", status: .portUnavailable)
        }
    }
}

/// Says why requests of the page fail: each reason once, until there is another.
private final class FailureLines: Sendable {
    private let last = Monitor("")

    func write(_ error: SignalingError) {
        let isNew = last.with { last in
            defer { last = error.description }
            return last != error.description
        }
        guard isNew else { return }
        ErrorOutput.writeLine("share: \(error.description)")
        if !error.remedy.isEmpty { ErrorOutput.writeLine("       \(error.remedy)") }
    }
}
