package import EventLoop
import ICETransport
import LinuxRuntime
package import MediaCore
import RTPWire
package import SessionDescription
package import Transport

/// The viewer's state on the network loop: the connection to the host, through ICE restarts and replacements. What is
/// received goes to an `EncodedMediaSink`, which stays the same for the whole session.
package final class ViewerSession {
    package let loop: EventLoop
    package let sink: any EncodedMediaSink
    package let emit: @Sendable (WatchEvent) -> Void
    package let outcome: Outcome
    /// Called when an interruption begins.
    package let interrupted: @Sendable () -> Void
    let gathering: CandidateGathering
    private(set) var connection: ReceivingPeer?
    /// Replaced, and not closed yet.
    private var retired: [ReceivingPeer] = []
    private(set) var isClosed = false
    private var hostCredentials: ICECredentials?
    /// One instant on the wall clock and on the media clock.
    let epoch = (wall: WallClock.now(), media: MonotonicClock.now)
    /// The last sign of the host before an interruption; nil while there is none.
    var lastSign: MediaInstant?
    /// Reports the length of an interruption each second.
    var outageTimer: LoopTimer?
    /// The highest temporal layer since the last report; nil if no frame came.
    var layer: UInt8?

    package init(
        loop: EventLoop, sink: any EncodedMediaSink, emit: @escaping @Sendable (WatchEvent) -> Void,
        outcome: Outcome, interrupted: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.sink = sink
        self.emit = emit
        self.outcome = outcome
        self.interrupted = interrupted
        gathering = CandidateGathering(loop: loop)
    }

    // MARK: Setting up

    /// Opens a transport and starts to gather. Called again, it replaces the connection; the sink stays.
    /// - Returns: why it cannot be done; nil if all is well.
    package func prepare(
        _ identity: SecureTransport.Identity, expected: [UInt8], includesLoopback: Bool,
        servers: ICEServerResolver.Addresses,
        usesOnlyRelays: Bool, policy: CandidatePolicy
    ) -> EndReason? {
        guard !isClosed else { return EndReason(.stopped, "the session is over") }
        do {
            let path = try ICEPath(
                loop: loop,
                configuration: .init(
                    isControlling: true, stunServers: servers.stun, turnServers: servers.turn,
                    includesLoopback: includesLoopback, usesOnlyRelays: usesOnlyRelays),
                limits: .init(policy: policy))
            path.servers = servers.urls
            let transport = try SecureTransport(
                loop: loop, isServer: false, identity: identity, expectedFingerprint: expected, path: path)
            if let connection { retire(connection) }
            connection = ReceivingPeer(loop: loop, path: path, transport: transport, delegate: self)
            gathering.begin(path)
            try path.gather()
            return nil
        } catch {
            return EndReason(.failed, "cannot prepare to receive: \(error)")
        }
    }

    private func retire(_ connection: ReceivingPeer) {
        retired.append(connection)
        let box = WeakBox(self)
        connection.close { box.value?.retired.removeAll { $0 === connection } }
    }

    /// The host has answered: the sink is started, and the connection begins.
    package func begin(_ answer: Answer) {
        guard !isClosed else { return }
        do throws(MediaSinkFailure) {
            try sink.start(
                EncodedMediaFormat(video: answer.video.first?.codec, audio: answer.audio.map(\.kind)),
                requestKeyframe: { [core = LoopBound(loop, WeakBox(self))] in
                    core.perform { $0.value?.connection?.requestKeyframe() }
                })
        } catch {
            let reason = EndReason(.failed, "cannot prepare to receive: \(error.message)", remedy: error.remedy)
            return outcome.settle(reason)
        }
        hostCredentials = answer.credentials
        connection?.begin(answer)
    }

    /// What the host found after its answer. Fragments of another ICE session are ignored.
    package func add(_ fragment: TrickleFragment) {
        guard let credentials = fragment.credentials, credentials == hostCredentials else { return }
        connection?.add(fragment.candidates, ended: fragment.endsCandidates)
    }

    // MARK: Coming back

    /// How long nothing has come; nil while all is well.
    package var outage: MediaDuration? { lastSign.map { MonotonicClock.now - $0 } }

    /// What there is to find a way with.
    package var route: ConnectivityReport? { connection?.path.report }

    /// Nothing came for a second or more.
    package var isSilent: Bool { outage != nil || (connection?.silence ?? .seconds(2)) > .seconds(1) }

    /// Begins an ICE restart; then ask for `gathering.whenGathered`.
    /// - Returns: false if this machine has no address.
    package func restart() -> Bool {
        guard !isClosed, let connection else { return false }
        do throws(ICEFailure) {
            try connection.path.restart()
            gathering.begin(connection.path)
            try connection.path.gather()
            return true
        } catch {
            return false
        }
    }

    package func resume(_ credentials: ICECredentials, _ candidates: CandidateList, ended: Bool) {
        hostCredentials = credentials
        connection?.resume(credentials, candidates, ended: ended)
    }

    package func dropUnansweredRestart() { connection?.path.dropUnansweredRestart() }

    // MARK: Ending

    /// - Parameter done: called on the loop when every socket and the sink are closed.
    package func close(_ done: @escaping () -> Void) {
        guard !isClosed else { return done() }
        isClosed = true
        gathering.close()
        outageTimer?.close()
        // The sink's threads end in their own time, for which the loop does not wait.
        var closings: [(@escaping () -> Void) -> Void] = [{ self.sink.close(self.onLoop($0)) }]
        for connection in retired + (connection.map { [$0] } ?? []) { closings.append { connection.close($0) } }
        closeAll(closings, with: { $0($1) }, then: done)
    }

    private func onLoop(_ body: @escaping () -> Void) -> @Sendable () -> Void {
        let bound = LoopBound(loop, body)
        return { bound.perform { $0() } }
    }
}
