import Admission
import Identifiers
import LinuxRuntime
import MediaCore
import MediaEngine
import PeerConnection
import PeerEngine
import SessionDescription

/// The host's side of one viewer: its connection, and the selection of what is sent over it. Confined to the network
/// loop.
final class ViewerPeer {
    let id: SessionID
    /// The number of the video's m-line in the viewer's offer; nil: it gets no video, or has not offered.
    let videoLine: Int?
    let viewer: Viewer
    let description: ViewerDescription
    let connection: PeerConnection
    /// Those of the connection: the threads of the fan-out use them without it.
    let sender: MediaSender
    let transport: SecureTransport
    private let allowance: ViewerAllowance
    var frames = FrameSelection()
    /// The last report of layers that the viewer got.
    private var layerReport: (number: Int, encoding: EncodingID)?
    /// The viewer has connected or is heard again, and its key frame has not been requested yet.
    private(set) var needsKeyframe = false
    private(set) weak var broadcast: Broadcast?
    /// The host's user has removed the viewer.
    var isRemoved = false
    /// The host has sent this viewer to a relay.
    var isMoved = false
    /// The viewer is a relay: what the slowest of its viewers can get, as it tells; nil: as much as the others.
    var slowestBehind: Bitrate?

    /// The silence that is an interruption. A viewer sends a receiver report at least each second, also without video.
    static let interruptionThreshold = MediaDuration.seconds(4)

    /// Applies the viewer's description.
    init(
        _ pending: PendingPeer, _ remote: some RemoteDescription, videoLine: Int?, sender: MediaSender,
        broadcast: Broadcast
    ) {
        id = pending.id
        self.videoLine = videoLine
        viewer = pending.viewer
        description = pending.description
        connection = pending.connection
        transport = pending.connection.transport
        self.sender = sender
        allowance = pending.allowance
        self.broadcast = broadcast
        connection.delegate = self
        connection.begin(remote, sender: sender)
    }

    /// What is sent to it is encrypted for its viewers.
    var isSealed: Bool { description.isSealed }
    var isConnected: Bool { connection.isConnected }
    /// Whether the viewer is connected and not silent.
    var isReceiving: Bool { connection.isReceiving }
    var pathSummary: String { connection.path.summary }

    /// Whether the first key frame may have been lost: the viewer acknowledges frames, but has acknowledged none yet.
    var lacksFirstFrame: Bool {
        guard let connected = connection.liveness.connected, sender.hasReferences, !sender.hasAcknowledged else {
            return false
        }
        return MonotonicClock.now - connected < .seconds(3)
    }

    /// Sends what was forwarded since the last key frame to a viewer that has got nothing yet.
    /// - Returns: false if it needs a key frame.
    func rewind() -> Bool {
        guard isReceiving, needsKeyframe, sender.rewindForwarded(now: MonotonicClock.now) else { return false }
        needsKeyframe = false
        connection.pump()
        return true
    }

    /// Whether a requested key frame or recovery frame is made. Always true if the sender has dropped frames of this
    /// viewer.
    /// - Parameter isShared: other viewers get the same encoding, so the frame uses their bandwidth, too.
    func allows(_ frame: KeyframeRequestLimiter.Frame, isShared: Bool, now: MediaInstant) -> Bool {
        let hasLostFirst = lacksFirstFrame && !needsKeyframe
        guard
            sender.hasGap
                || allowance.keyframes.allows(frame, isShared: isShared, hasShownNoFrame: hasLostFirst, now: now)
        else { return false }
        needsKeyframe = false
        return true
    }

    /// - Returns: whether the viewer has not had this report of layers yet. It has it from then on.
    func takeReport(_ number: Int, of encoding: EncodingID) -> Bool {
        if let layerReport, layerReport == (number, encoding) { return false }
        layerReport = (number, encoding)
        return true
    }

    /// Whether `newcomer` replaces this viewer: it has the same proven identity or, with the fixed token, which proves
    /// no identity, the same certificate. Two programs of one person share an identity, but have different client
    /// instances.
    func isReplaced(by newcomer: Viewer) -> Bool {
        guard newcomer.identity == viewer.identity, newcomer.fingerprint == viewer.fingerprint,
            newcomer.clientInstance == viewer.clientInstance
        else { return false }
        return viewer.clientInstance != nil || !isReceiving && (isConnected || viewer.knock != nil)
    }
}

extension ViewerPeer: PeerConnectionDelegate {
    func connection(reported event: PeerConnection.Event) {
        switch event {
        case .frameSent(let now):
            return frames.freezeMeter.noteFrameSent(hasMore: sender.hasFramesWaiting, now: now)
        case .skipFrameDue: return sendSkipFrame(now: MonotonicClock.now)
        case .connected, .resumed: needsKeyframe = true
        case .interrupted:
            frames.layerFilter.reset()
            sender.resetForwarded()
        default: break
        }
        broadcast?.handle(event, of: self)
    }
}
