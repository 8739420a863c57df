import Host
import Identifiers
import MediaCore
import PeerConnection

/// What `share status` and `share stop` see of a host whose user has not agreed yet: nothing is captured.
final class PendingBroadcast: ControllableBroadcast {
    let summary: String

    init(service: String) { summary = "nothing yet: asks whether to broadcast to \(service)" }

    func set(_ hold: BroadcastHold, _ isOn: Bool) async -> Bool { false }
    func holds() async -> Set<BroadcastHold> { [] }
    var audioTracks: [AudioTrackState] { [] }
    func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool { false }
    func viewers() async -> [ViewerSessionInfo] { [] }
    func remove(viewer id: SessionID) async -> Int? { nil }
    func add(_ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool) async throws(MediaSinkFailure) {}
    func remove(_ sink: any EncodedMediaSink) async {}
    func statistics() async -> HostStatistics? { .asking }
    func stop(_ reason: EndReason) async {}
}
