package import EventLoop
import ICETransport
import LinuxRuntime
package import MediaCore
package import MediaEngine
import PeerEngine
import RTPWire
package import SessionDescription
package import Transport

/// The viewer's state on the network loop.
package final class ViewerSession: ReceivingPeerDelegate {
    package struct Gathered: Sendable {
        package var credentials: ICECredentials?
        package var candidates: [ICECandidate]
        package var isComplete: Bool
    }

    private let loop: EventLoop
    private let playback: Playback
    private let emit: @Sendable (WatchEvent) -> Void
    private let outcome: Outcome
    private let interrupted: @Sendable () -> Void
    private var connection: ReceivingPeer?
    /// Replaced, and not closed yet.
    private var retired: [ReceivingPeer] = []
    private var decoding: DecodePipeline?
    private var speakers: [Int: PlayoutPipeline] = [:]
    private var silentTracks: Set<Int> = []
    private var isMuted = false
    private var isClosed = false
    private var candidates: [ICECandidate] { connection?.transport.localCandidates ?? [] }
    private var hasGathered: Bool { connection?.transport.hasGathered ?? false }
    private var onGathered: (() -> Void)?
    private var onMore: (known: Int, body: (More?) -> Void)?
    private var hostCredentials: ICECredentials?
    private var patience: LoopTimer?
    private let ntpEpoch: NTPTimestamp
    private let epoch: MediaInstant
    private var lipSync = LipSync()
    /// The last sign of the host before an interruption; nil while there is none.
    private var lastSign: MediaInstant?
    private var ticker: LoopTimer?
    private var layer: UInt8?

    package init(
        loop: EventLoop, playback: Playback, emit: @escaping @Sendable (WatchEvent) -> Void,
        outcome: Outcome, interrupted: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.playback = playback
        self.emit = emit
        self.outcome = outcome
        self.interrupted = interrupted
        ntpEpoch = WallClock.now()
        epoch = MonotonicClock.now
    }

    // MARK: Setting up

    /// Opens a transport and starts to gather. Again, it replaces the connection: what was decoded stays.
    /// - Returns: why it cannot be done; nil if all is well.
    package func prepare(
        _ identity: SecureTransport.Identity, expected: [UInt8], includesLoopback: Bool,
        servers: ICEServerResolver.Addresses,
        usesOnlyRelays: Bool, policy: CandidatePolicy
    ) -> EndReason? {
        do {
            let transport = try SecureTransport(
                loop: loop, isServer: false, identity: identity, expectedFingerprint: expected,
                ice: .init(
                    isControlling: true, stunServers: servers.stun, turnServers: servers.turn,
                    includesLoopback: includesLoopback, usesOnlyRelays: usesOnlyRelays),
                limits: .init(policy: policy))
            transport.servers = servers.urls
            if let connection { retire(connection) }
            connection = ReceivingPeer(loop: loop, transport: transport, delegate: self)
            lipSync = LipSync()
            if decoding == nil { decoding = try makeDecoding() }
            beginGathering()
            try transport.gather()
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

    private func makeDecoding() throws(CodecFailure) -> DecodePipeline {
        DecodePipeline(
            decoder: try playback.decoder(), sink: playback.sink, clock: { MonotonicClock.now },
            keyframeWanted: { [core = LoopBound(loop, WeakBox(self))] in
                core.perform { $0.value?.connection?.requestKeyframe() }
            }, firstPicture: { [emit] in emit(.firstPicture($0)) })
    }

    private func beginGathering() {
        onMore?.body(nil)
        onMore = nil
        let box = WeakBox(self)
        patience?.close()
        patience = loop.makeTimer { box.value?.finishGathering() }
        patience?.set(MonotonicClock.now + .milliseconds(100))
    }

    /// Calls back once: at once if there is nothing to wait for; without credentials at the end of the session.
    func whenGathered(_ body: @escaping (Gathered) -> Void) {
        let report = { [weak self] in
            guard let self, !isClosed else {
                return body(Gathered(credentials: nil, candidates: [], isComplete: false))
            }
            body(
                Gathered(
                    credentials: connection?.transport.localCredentials, candidates: candidates, isComplete: hasGathered
                ))
        }
        if hasGathered || patience == nil { return report() }
        onGathered = report
    }

    /// Calls back once, when there are more than `known` candidates or there will be no more; nil at the end of the session.
    func whenMore(than known: Int, _ body: @escaping (More?) -> Void) {
        onMore?.body(nil)
        onMore = isClosed ? nil : (known, body)
        if isClosed { body(nil) } else { tellMore() }
    }

    package struct More: Sendable {
        package var candidates: [ICECandidate]
        package var isComplete: Bool
    }

    private func tellMore() {
        guard let (known, body) = onMore, hasGathered || candidates.count > known else { return }
        onMore = nil
        body(More(candidates: Array(candidates.dropFirst(known)), isComplete: hasGathered))
    }

    /// What the host found after its answer. A fragment of another ICE session is none of ours.
    package func add(_ fragment: TrickleFragment) {
        guard let credentials = fragment.credentials, credentials == hostCredentials else { return }
        connection?.add(fragment.candidates, ended: fragment.endsCandidates)
    }

    private func finishGathering() {
        patience?.close()
        patience = nil
        let body = onGathered
        onGathered = nil
        body?()
    }

    package func begin(_ answer: Answer) {
        hostCredentials = answer.credentials
        connection?.begin(answer)
    }

    // MARK: Coming back

    /// How long nothing has come; nil while all is well.
    package var outage: MediaDuration? { lastSign.map { MonotonicClock.now - $0 } }

    /// What there is to find a way with.
    package var route: ConnectivityReport? { connection?.transport.route }

    /// Nothing came for a second or more.
    package var isSilent: Bool { outage != nil || (connection?.silence ?? .seconds(2)) > .seconds(1) }

    /// Begins an ICE restart; then ask for `whenGathered`.
    /// - Returns: false if this machine has no address.
    package func restart() -> Bool {
        guard !isClosed, let connection else { return false }
        do throws(ICEFailure) {
            try connection.transport.restart()
            beginGathering()
            try connection.transport.gather()
            return true
        } catch {
            return false
        }
    }

    package func resume(_ credentials: ICECredentials, _ candidates: CandidateList, ended: Bool) {
        hostCredentials = credentials
        connection?.resume(credentials, candidates, ended: ended)
    }

    package func dropUnansweredRestart() { connection?.transport.dropUnansweredRestart() }

    private func tick() {
        guard let outage, !isClosed else { return }
        guard outage < ConsentFreshness.limit else { return outcome.settle(.hostIsSilent) }
        emit(.waiting(outage))
        // On the second, as it is shown in seconds.
        ticker?.set(MonotonicClock.now + .milliseconds(1_000 - Int(outage.nanoseconds / 1_000_000 % 1_000)))
    }

    // MARK: Playing

    package func host(sent frame: UnsafeRawBufferPointer, _ info: ReceivedFrame) {
        let now = MonotonicClock.now
        layer = max(layer ?? 0, info.layer)
        var arrived = ArrivedFrame(isKeyframe: info.isKeyframe, captured: nil, holdUntil: nil)
        if let captured = info.captured {
            arrived.captured = epoch + ntpEpoch.duration(to: captured)
            let hold = lipSync.hold(captured: captured, local: wallClock(now), now: now)
            if hold > .zero { arrived.holdUntil = now + hold }
        }
        decoding?.push(frame, arrived)
    }

    package func host(sentAudio packet: UnsafeRawBufferPointer?, _ info: ReceivedAudio) {
        guard let speaker = speaker(info.track) else { return }
        speaker.push(
            packet ?? UnsafeRawBufferPointer(start: nil, count: 0),
            PlayoutPipeline.Info(isLost: info.isLost, useFEC: info.useFEC, frames: info.frames))
        if let captured = info.captured {
            let now = MonotonicClock.now
            lipSync.noteAudio(captured: captured, local: wallClock(now), latency: speaker.latency, now: now)
        }
    }

    private func wallClock(_ now: MediaInstant) -> NTPTimestamp { ntpEpoch.advanced(by: now - epoch) }

    private func speaker(_ track: Int) -> PlayoutPipeline? {
        if let speaker = speakers[track] { return speaker }
        // Who does not want sound opens no device.
        guard !isMuted, !silentTracks.contains(track) else { return nil }
        do {
            guard let sink = try playback.makeSpeaker() else {
                silentTracks.insert(track)
                return nil
            }
            let speaker = PlayoutPipeline(decoder: try playback.audioDecoder(), sink: sink)
            speaker.setMuted(isMuted)
            speakers[track] = speaker
            return speaker
        } catch let failure as SourceFailure {
            silentTracks.insert(track)
            emit(.warning("no sound: \(failure.message) \(failure.remedy)"))
        } catch {
            silentTracks.insert(track)
            emit(.warning("no sound: \(error)"))
        }
        return nil
    }

    package func setMuted(_ muted: Bool) {
        isMuted = muted
        for speaker in speakers.values { speaker.setMuted(muted) }
    }

    // MARK: News

    func hostIsConnected(_ connection: ReceivingPeer) {
        if let outage {
            hostIsBack(connection, after: outage)
        } else {
            emit(.connected(path: connection.transport.path))
        }
    }

    func hostIsInterrupted(_ connection: ReceivingPeer) {
        guard lastSign == nil else { return }
        lastSign = MonotonicClock.now - connection.silence
        emit(.interrupted)
        let box = WeakBox(self)
        ticker = loop.makeTimer { box.value?.tick() }
        tick()
        interrupted()
    }

    func hostIsBack(_ connection: ReceivingPeer, after silence: MediaDuration) {
        guard lastSign != nil else { return }
        lastSign = nil
        ticker?.close()
        ticker = nil
        emit(.resumed(path: connection.transport.path, after: silence))
    }

    package func hostEnded(_ reason: EndReason) {
        // Of a session that was to replace the lost one: the next attempt may do better.
        guard lastSign == nil || reason.code != .noRoute else { return }
        outcome.settle(reason)
    }

    func hostFoundCandidate() { tellMore() }

    func hostFinishedGathering() {
        finishGathering()
        tellMore()
    }

    private func takeLayer() -> Int? {
        defer { layer = nil }
        return layer.map { Int($0) }
    }

    package var statistics: WatchStatistics? {
        guard let decoding else { return nil }
        let received = connection?.statistics
        return WatchStatistics(
            decode: decoding.takeStatistics(), packetsReceived: received?.packets ?? 0,
            bytesReceived: received?.bytes ?? 0,
            packetsLost: received?.lost ?? 0, nacks: received?.nacks ?? 0,
            keyframeRequests: received?.keyframeRequests ?? 0, roundTrip: connection?.roundTripTime,
            estimate: connection?.estimate, recoveries: received?.recoveries ?? 0, queue: received?.audioDelay,
            repaired: received?.repaired ?? 0, freezes: received?.freezes ?? 0,
            freezeTime: received?.freezeTime ?? .zero, route: connection?.transport.path ?? "no path",
            layer: takeLayer(),
            audioFramesPlayed: speakers.values.reduce(0) { $0 + $1.framesPlayed },
            audioPeak: speakers.values.reduce(0) { max($0, $1.takePeak()) },
            badPackets: connection?.transport.badPackets ?? 0)
    }

    /// - Parameter done: called on the loop when every socket is closed and every thread has ended.
    package func close(_ done: @escaping () -> Void) {
        guard !isClosed else { return done() }
        isClosed = true
        finishGathering()
        onMore?.body(nil)
        onMore = nil
        ticker?.close()
        // Threads end in their own time, for which the loop does not wait.
        var closings: [(@escaping () -> Void) -> Void] = []
        if let decoding { closings.append { decoding.close(self.onLoop($0)) } }
        for speaker in speakers.values { closings.append { speaker.close(self.onLoop($0)) } }
        for connection in retired + (connection.map { [$0] } ?? []) { closings.append { connection.close($0) } }
        closeAll(closings, with: { $0($1) }, then: done)
    }

    private func onLoop(_ body: @escaping () -> Void) -> @Sendable () -> Void {
        let bound = LoopBound(loop, body)
        return { bound.perform { $0() } }
    }
}

extension LoopBound<ViewerSession> {
    package func more(than known: Int) async -> ViewerSession.More? {
        await withCheckedContinuation { continuation in
            let isRunning = perform { $0.whenMore(than: known) { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: nil) }
        }
    }

    package func gathered() async -> ViewerSession.Gathered {
        await withCheckedContinuation { continuation in
            let isRunning = perform { $0.whenGathered { continuation.resume(returning: $0) } }
            if !isRunning { continuation.resume(returning: .init(credentials: nil, candidates: [], isComplete: false)) }
        }
    }
}
