public import ControlSocket
import MediaCore

/// A broadcast that runs on this machine, reached at its control socket. Its calls block.
public struct RunningBroadcast: Sendable {
    public let path: String
    public let status: BroadcastStatus

    /// Asks every control socket of this user; sockets that nobody listens at are removed.
    /// - Returns: the broadcasts in the order of their identifiers, and why others could not be asked.
    public static func all(
        in folder: ControlSocketFolder
    ) -> (running: [RunningBroadcast], failures: [ControlSocketFailure]) {
        folder.removeStale()
        var running: [RunningBroadcast] = []
        var failures: [ControlSocketFailure] = []
        for path in folder.sockets {
            do throws(ControlSocketFailure) {
                let answer = try ask(ControlRequest(.status), at: ControlSocketClient(path: path), path)
                // A broadcast that is ending has no state any more.
                if let status = answer.broadcast { running.append(RunningBroadcast(path: path, status: status)) }
            } catch {
                if error.code != .notListening { failures.append(error) }
            }
        }
        return (running.sorted { $0.status.id < $1.status.id }, failures)
    }

    public func ask(_ request: ControlRequest) throws(ControlSocketFailure) -> ControlAnswer {
        try Self.ask(request, at: ControlSocketClient(path: path), path)
    }

    /// Ends the broadcast, and waits until its host has ended it for its viewers.
    /// - Returns: false if it has not ended within 10 s.
    public func stop() throws(ControlSocketFailure) -> Bool {
        let client = try ControlSocketClient(path: path)
        _ = try Self.ask(ControlRequest(.stop), at: client, path)
        return client.waitForEnd(timeout: .seconds(10))
    }

    static func ask(
        _ request: ControlRequest, at client: ControlSocketClient, _ path: String
    ) throws(ControlSocketFailure) -> ControlAnswer {
        guard let answer = ControlAnswer(parsing: try client.ask(request.text)) else {
            throw ControlSocketFailure(.noAnswer, "the host at \(path) answers with something else")
        }
        return answer
    }
}

/// A session that runs on this machine and keeps clips: a broadcast or a viewer, reached at its control socket. Its
/// calls block.
public struct RunningClips: Sendable {
    public let path: String
    /// The broadcast's identifier, or one of the viewer's own.
    public let id: String
    public let status: ClipStatus

    /// Asks every control socket of this user.
    /// - Returns: the sessions that keep clips, and why others could not be asked.
    public static func all(in folder: ControlSocketFolder) -> (
        running: [RunningClips], failures: [ControlSocketFailure]
    ) {
        folder.removeStale()
        var running: [RunningClips] = []
        var failures: [ControlSocketFailure] = []
        for path in folder.sockets {
            do throws(ControlSocketFailure) {
                let answer = try RunningBroadcast.ask(
                    ControlRequest(.status), at: ControlSocketClient(path: path), path)
                guard let status = answer.clips else { continue }
                running.append(RunningClips(path: path, id: ControlSocketFolder.name(ofSocket: path), status: status))
            } catch {
                if error.code != .notListening { failures.append(error) }
            }
        }
        return (running, failures)
    }

    public func ask(_ request: ControlRequest) throws(ControlSocketFailure) -> ControlAnswer {
        try RunningBroadcast.ask(request, at: ControlSocketClient(path: path), path)
    }
}
