package import EventLoop
package import ICETransport
package import LinuxRuntime
package import MediaCore
import MediaEngine
package import PeerConnection
package import PeerEngine
import RTPWire
package import SessionDescription

/// The viewer's state on the network loop: the connection to the host, through ICE restarts and replacements. Received
/// media goes to an `EncodedMediaSink`, which stays the same for the whole session.
package final class Subscription {
    package let loop: EventLoop
    package let sink: any EncodedMediaSink
    package let emit: @Sendable (ViewerEvent) -> Void
    package private(set) var outcome: OneShot<EndReason>
    /// Called with the requests to signalling during an outage.
    let request: @Sendable (OutageRecovery.Request) -> Void
    private(set) var connection: PeerConnection?
    /// Connections that were replaced and are still closing.
    private var retired: [PeerConnection] = []
    private(set) var isClosed = false
    /// One instant on the wall clock and on the media clock.
    let epoch = (wall: WallClock.now(), media: MonotonicClock.now)
    var recovery = OutageRecovery()
    let recoveryTimer: LoopTimer
    /// This machine's addresses at the beginning of the last attempt to reconnect.
    var addressesAtAttempt: [String] = []
    /// See `ReceiverParameters`.
    package var packetCapacity = 4_096
    /// The user knows that the host sends video packets that are too long, and are left out.
    var hasToldTooLong = false
    /// The highest temporal layer since the last report; nil if no frame came.
    var layer: UInt8?

    /// The silence that is an interruption. The host sends a sender report at least each second.
    private static let interruptionThreshold = MediaDuration.seconds(3)

    package init(
        loop: EventLoop, sink: any EncodedMediaSink, emit: @escaping @Sendable (ViewerEvent) -> Void,
        outcome: OneShot<EndReason>, request: @escaping @Sendable (OutageRecovery.Request) -> Void
    ) {
        self.loop = loop
        self.sink = sink
        self.emit = emit
        self.outcome = outcome
        self.request = request
        let box = WeakBox<Subscription>()
        recoveryTimer = loop.makeTimer { box.value?.recoveryTimeout() }
        box.value = self
    }

    // MARK: Setting up

    /// Opens a transport and starts to gather. Called again, it replaces the connection; the sink stays.
    /// - Parameters:
    ///   - role: whether this peer offers (WHEP) or answers (WHIP).
    ///   - place: that of the other peer, by its address in signalling.
    ///   - socket: the UDP port that all peers share, or that is this offerer's own; nil: an ICE agent of its own.
    ///   - ports: the UDP ports of that agent; nil: any.
    ///   - allowance: limits what the other peer can cause; nil for a peer that this side has chosen.
    /// - Returns: why it failed; nil if it succeeded.
    package func prepare(
        _ identity: SecureTransport.Identity, as role: NegotiationRole = .offerer, expected: [UInt8],
        includesLoopback: Bool, servers: ICEServerResolver.Addresses, usesOnlyRelays: Bool,
        place: CandidatePolicy.Place, socket: LoopBound<ICELiteSocket>? = nil, ports: ClosedRange<UInt16>? = nil,
        allowance: (any TransportAllowance)? = nil
    ) -> EndReason? {
        guard !isClosed else { return EndReason(.stopped, "the session is over") }
        do {
            let path = try PeerConnection.openPath(
                loop: loop,
                .init(
                    isControlling: role == .offerer, includesLoopback: includesLoopback,
                    usesOnlyRelays: usesOnlyRelays, ports: ports),
                socket: socket, place: place, servers: servers, allowance: allowance)
            // An answerer reports its candidates as events, of which a publisher may see only the last.
            let next = try PeerConnection(
                loop: loop, path: path, as: role, identity: identity, fingerprint: expected,
                repeatsCandidates: role == .answerer, interruptionThreshold: Self.interruptionThreshold)
            if let connection { retire(connection) }
            connection = next
            next.delegate = self
            return nil
        } catch {
            return EndReason(.failed, "cannot prepare to receive: \(error)")
        }
    }

    /// Begins anew with another host, as if nothing had been lost. The sink stays. Call `prepare` afterwards.
    package func moveOn(_ outcome: OneShot<EndReason>) {
        guard !isClosed else { return }
        self.outcome = outcome
        if let connection { retire(connection) }
        connection = nil
        recovery = OutageRecovery()
        recoveryTimer.set(nil)
    }

    private func retire(_ connection: PeerConnection) {
        retired.append(connection)
        let box = WeakBox(self)
        connection.close { box.value?.retired.removeAll { $0 === connection } }
    }

    /// Applies the sender's description, an answer or an offer: starts the sink and the connection.
    package func begin(_ remote: some RemoteDescription) {
        guard !isClosed else { return }
        do throws(MediaSinkFailure) {
            try sink.start(
                EncodedMediaFormat(remote),
                requestKeyframe: { [core = LoopBound(loop, WeakBox(self))] request in
                    core.perform { $0.value?.requestKeyframe(request) }
                })
        } catch {
            let reason = EndReason(.failed, "cannot prepare to receive: \(error.message)", remedy: error.remedy)
            return outcome.fulfil(reason)
        }
        let core = LoopBound(loop, WeakBox(self))
        (sink as? any ForwardingSink)?.begin(
            limitBitrate: { limit in core.perform { $0.value?.limitBitrate(limit) } },
            receivedBytes: { core.assumeIsolated { $0.value?.connection?.receivedBytes } ?? 0 })
        hasToldTooLong = false
        let receiver = MediaReceiver(
            parameters(remote), seed: UInt64.random(in: .min ... .max), ntpEpoch: WallClock.now(),
            forwarded: (sink as? any ForwardingSink)?.forwarded?.assumeIsolated { $0 }, now: MonotonicClock.now)
        connection?.begin(remote, receiver: receiver)
    }

    private func parameters(_ remote: some RemoteDescription) -> ReceiverParameters {
        ReceiverParameters(
            video: remote.video.first.map {
                VideoStreamParameters(
                    ssrc: $0.ssrc ?? 0, codec: $0.codec, payloadType: $0.payloadType, rtxSSRC: $0.rtxSSRC,
                    rtxPayloadType: $0.rtxPayloadType, mid: $0.mid)
            },
            audio: remote.audio.map {
                AudioStreamParameters(
                    ssrc: $0.ssrc ?? 0, payloadType: $0.payloadType, redundantPayloadType: $0.redundantPayloadType,
                    mid: $0.mid)
            },
            extensions: remote.extensions, cname: String(UInt64.random(in: .min ... .max), radix: 36),
            localSSRC: UInt32.random(in: 1...UInt32.max),
            usesTransportFeedback: remote.feedback.contains(.transportWide),
            sendsREMB: remote.feedback.contains(.remb), packetCapacity: packetCapacity)
    }

    /// Adds candidates that the host found after its answer. Fragments of another ICE session are ignored.
    package func add(_ fragment: TrickleFragment) { connection?.add(fragment) }

    /// The time since the last authentic packet; nil before the connection is secure.
    package var silence: MediaDuration? { connection.flatMap { $0.isConnected ? $0.silence : nil } }

    /// The candidates of both sides, for the report why there is no connection.
    package var connectivity: ConnectivityReport? { connection?.path.report }

    private func requestKeyframe(_ request: KeyframeRequest) {
        connection?.receiver?.requestKeyframe(request, now: MonotonicClock.now)
        connection?.pump()
    }

    private func limitBitrate(_ limit: Bitrate?) {
        connection?.receiver?.limitBitrate(limit)
        connection?.pump()
    }

    // MARK: Ending

    /// - Parameter done: called on the loop when all sockets and the sink are closed.
    package func close(_ done: @escaping () -> Void) {
        guard !isClosed else { return done() }
        isClosed = true
        recoveryTimer.close()
        // The sink closes on its own threads; the loop does not block on them.
        var closings: [(@escaping () -> Void) -> Void] = [{ self.sink.close(self.onLoop($0)) }]
        for connection in retired + (connection.map { [$0] } ?? []) { closings.append { connection.close($0) } }
        closeAll(closings, with: { $0($1) }, then: done)
    }

    private func onLoop(_ body: @escaping () -> Void) -> @Sendable () -> Void {
        let bound = LoopBound(loop, body)
        return { bound.perform { $0() } }
    }
}

extension EncodedMediaFormat {
    /// Of a sender's offer or answer.
    package init(_ remote: some RemoteDescription) {
        self.init(
            video: remote.video.first?.codec, videoParameters: remote.video.first?.formatParameters,
            audio: remote.audio.map(\.kind))
    }
}
