import Admission
import EventLoop
import ICETransport
import Identifiers
import Identity
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import RTPWire
import SessionDescription

/// Makes the connections of a broadcast's viewers, with their descriptions and senders, within the limits of all
/// viewers. Confined to the network loop.
struct PeerConnectionFactory {
    private let loop: EventLoop
    let settings: Broadcast.Settings
    private let agents: ICEAgentPool
    private let allowances: ViewerAllowances
    private let cname = RandomName.random().text
    /// STUN and TURN servers for sessions that are opened from now on.
    var servers = ICEServerPreparation.Addresses()

    /// - Parameter agents: those of several broadcasts; nil: of this one alone, by `settings`.
    init(loop: EventLoop, settings: Broadcast.Settings, agents: ICEAgentPool?) {
        self.loop = loop
        self.settings = settings
        self.agents = agents ?? ICEAgentPool(settings.agents)
        allowances = ViewerAllowances(viewers: settings.viewers.maximum, now: MonotonicClock.now)
    }

    /// Opens a connection to a peer, within the limits of its place and of its allowance, and starts to gather
    /// candidates.
    /// - Parameter viewer: its `fingerprint` may be empty: the peer's description names it.
    func open(
        to viewer: Viewer, _ description: ViewerDescription, as role: NegotiationRole
    ) throws(OfferRefusal) -> PendingPeer {
        let allowance = allowances.allowance(for: viewer, now: MonotonicClock.now)
        let place = CandidatePolicy.place(of: viewer.address, own: ICEAgent.localInterfaceAddresses())
        var configuration = PeerConnection.Configuration(
            role, identity: settings.identity, fingerprint: viewer.fingerprint, place: place, repeatsCandidates: true,
            interruptionThreshold: ViewerPeer.interruptionThreshold)
        (configuration.servers, configuration.agent) = (servers, settings.agent)
        if !place.gathersLoopback(with: servers) { configuration.agent.includesLoopback = false }
        // A lite agent is always the controlled one (RFC 8445 section 6.1.1).
        if role == .answerer { configuration.socket = settings.socket }
        do {
            let connection = try PeerConnection(loop: loop, configuration, pool: agents, allowance: allowance)
            return PendingPeer(
                viewer: viewer, description: description, connection: connection, allowance: allowance,
                ssrcs: Self.randomSSRCs(4))
        } catch {
            throw OfferRefusal(.busy, "The host cannot open a connection: \(error)")
        }
    }

    private static func randomSSRCs(_ count: Int) -> [UInt32] {
        var numbers = Set<UInt32>()
        while numbers.count < count { numbers.insert(UInt32.random(in: 1...UInt32.max)) }
        return Array(numbers)
    }

    /// Adds the tracks of a broadcast to the description of a connection; nil at its end.
    func description(of pending: PendingPeer, _ found: PeerConnection.LocalCandidates) -> LocalDescription? {
        guard var description = found.description else { return nil }
        let ssrcs = pending.ssrcs
        if settings.capabilities.hasVideo { description.video = [LocalVideoSSRCs(ssrc: ssrcs[0], rtxSSRC: ssrcs[1])] }
        description.audio = settings.audio.enumerated().map { index, track in
            LocalAudioTrack(
                ssrc: ssrcs[2 + index], kind: track.kind, hasSilenceSuppression: track.hasSilenceSuppression)
        }
        (description.cname, description.name) = (cname, settings.name)
        description.sessionID = UInt64.random(in: 1...(1 << 62))
        return description
    }

    /// Makes the sender for the other side's description.
    func makeSender(
        of pending: PendingPeer, _ remote: some RemoteDescription, forwarding media: ForwardedMedia?
    ) -> MediaSender {
        MediaSender(
            parameters(of: pending, remote), forwarding: media, seed: UInt64.random(in: .min ... .max),
            ntpEpoch: WallClock.now(), now: MonotonicClock.now)
    }

    private func parameters(of pending: PendingPeer, _ remote: some RemoteDescription) -> SenderParameters {
        let ssrcs = pending.ssrcs
        let limit = settings.viewers.bitrateLimit?(pending.description)
        let maximum = min(limit ?? settings.maximumBitrate, settings.maximumBitrate)
        var result = SenderParameters(
            video: (settings.capabilities.hasVideo ? remote.video.first : nil).map {
                VideoStreamParameters(
                    ssrc: ssrcs[0], payloadType: $0.payloadType, rtxSSRC: $0.rtxPayloadType == nil ? nil : ssrcs[1],
                    rtxPayloadType: $0.rtxPayloadType, mid: $0.mid)
            },
            audio: zip(remote.audio, settings.audio.indices).map {
                AudioStreamParameters(
                    ssrc: ssrcs[2 + $1], payloadType: $0.payloadType, redundantPayloadType: $0.redundantPayloadType,
                    mid: $0.mid)
            },
            extensions: remote.extensions, cname: cname,
            startBitrate: min(.kilobits(2_500), maximum), maximumBitrate: maximum,
            usesTransportFeedback: remote.feedback.contains(.transportWide),
            usesREMB: remote.feedback.contains(.remb),
            historyCapacity: 2_048)
        // What this side publishes is limited by whom it goes to, such as a relay by its viewers. A viewer's own
        // estimator knows less than transport-wide feedback.
        result.sealsFrames = pending.description.isSealed
        result.obeysREMB = remote is Answer && remote.feedback.contains(.remb)
        return result
    }
}
