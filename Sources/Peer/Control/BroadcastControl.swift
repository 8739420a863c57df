import ControlSocket
import Glibc
public import Host
public import Identifiers
import MediaCore
public import PeerConnection

/// Meets the requests of other programs of the user to a running broadcast. Safe from any thread.
public final class BroadcastControl: Sendable {
    /// The values of a broadcast for the answers to requests.
    public struct Description: Sendable {
        public var id: BroadcastID
        /// The name that viewers see.
        public var name: String?
        /// The captured source, for people.
        public var source: String
        /// The name of the service that receives it alone; nil for viewers with the link.
        public var service: String?
        /// The link for viewers, which is the key to the broadcast; nil: it has none of its own.
        public var link: String?
        /// Says whether a removed viewer can come back, and how.
        public var readmission: String
        /// Saves clips; nil if none are kept.
        public var clips: ClipControl?
        /// Changes the camera; nil if none is shown.
        public var camera: CameraControl?
        /// Why viewers cannot control what is shared, in a sentence without a full stop; nil: nothing more is known.
        public var controlRefusal: String?

        public init(
            id: BroadcastID, name: String?, source: String, service: String?, link: String? = nil, readmission: String,
            clips: ClipControl? = nil, camera: CameraControl? = nil, controlRefusal: String? = nil
        ) {
            self.controlRefusal = controlRefusal
            self.clips = clips
            self.camera = camera
            self.id = id
            self.name = name
            self.source = source
            self.service = service
            self.link = link
            self.readmission = readmission
        }
    }

    private let broadcast: any ControllableBroadcast
    private let description: Description
    private let stop: @Sendable (EndReason) -> Void
    private let begin = ContinuousClock.now

    /// - Parameter stop: called when a program asks for the end; it returns at once.
    public init(
        _ broadcast: any ControllableBroadcast, _ description: Description,
        stop: @escaping @Sendable (EndReason) -> Void
    ) {
        self.broadcast = broadcast
        self.description = description
        self.stop = stop
    }

    /// Answers one line of a control socket.
    public func answer(_ line: String) async -> String {
        do throws(ControlError) {
            return try await answer(ControlRequest(parsing: line)).text
        } catch {
            return ControlAnswer(error).text
        }
    }

    /// Answers a request of this process.
    public func answer(_ request: ControlRequest) async throws(ControlError) -> ControlAnswer {
        var answer = ControlAnswer()
        switch request.command {
        case .status: break
        case .stop:
            stop(EndReason(.stopped, "ended by share stop"))
            answer.changed = true
        case .hold(let hold, let isOn): answer.changed = await broadcast.set(hold, isOn)
        case .setMuted(let tracks, let isMuted): answer.changed = try setMuted(tracks, isMuted)
        case .viewers: answer.viewers = await broadcast.viewers().map { ViewerStatus($0) }
        case .remove(let viewer): answer = try await remove(viewer)
        case .setRight(let right, let isGranted, let viewer):
            answer = try await set(right, isGranted, viewer)
        case .say(let text):
            guard await broadcast.say(text) else {
                throw ControlError(.failed, "nothing was said: the text is empty, or this broadcast has no comments")
            }
            answer.changed = true
        case .camera(let request):
            guard let camera = description.camera else {
                throw ControlError(.unknown, "this broadcast shows no camera: start it with --camera")
            }
            if request.isChange { answer.changed = try camera.apply(request) }
        case .clip(let request):
            guard let clips = description.clips else {
                throw ControlError(.failed, "this host keeps no clips: start it with --clips")
            }
            answer.clip = try await clips.save(request)
        }
        answer.clips = description.clips?.state
        answer.camera = description.camera?.status()
        answer.broadcast = try await status()
        return answer
    }

    private func status() async throws(ControlError) -> BroadcastStatus {
        guard let statistics = await broadcast.statistics() else {
            throw ControlError(.ended, "the broadcast has ended")
        }
        return BroadcastStatus(
            id: description.id.text, process: Int(getpid()), name: description.name, source: description.source,
            service: description.service, link: statistics.link ?? description.link,
            paused: statistics.isPaused, holds: BroadcastHold.allCases.filter(statistics.holds.contains),
            asking: statistics.isAsking ? true : nil,
            elapsedSeconds: Int((ContinuousClock.now - begin) / .seconds(1)),
            viewers: statistics.viewers, connected: statistics.connected, destination: statistics.destination,
            audio: statistics.audio.compactMap { state in
                AudioTrackName(rawValue: state.kind.rawValue).map {
                    .init(
                        track: $0, muted: state.isMuted, captured: state.isCaptured,
                        level: state.level.map { ($0 * 10).rounded() / 10 })
                }
            })
    }

    /// - Parameter tracks: nil for all that the broadcast has.
    private func setMuted(_ tracks: [AudioTrackName]?, _ isMuted: Bool) throws(ControlError) -> Bool {
        let all = broadcast.audioTracks
        guard !all.isEmpty else { throw ControlError(.unknown, "this broadcast has no audio") }
        var hasChanged = false
        for name in tracks ?? AudioTrackName.allCases {
            guard let state = all.first(where: { $0.kind.rawValue == name.rawValue }) else {
                guard tracks != nil else { continue }
                throw ControlError(.unknown, "this broadcast has no \(name == .system ? "system audio" : "microphone")")
            }
            broadcast.setAudioMuted(state.kind, isMuted)
            hasChanged = hasChanged || state.isMuted != isMuted
        }
        return hasChanged
    }

    private func set(
        _ right: ViewerRight, _ isGranted: Bool, _ text: String
    ) async throws(ControlError) -> ControlAnswer {
        let shown = Self.shown(text)
        switch ViewerSelection.find(text, in: await broadcast.viewers()) {
        case .none: throw Self.unknown(shown)
        case .several(let viewers): return Self.ambiguous(viewers, shown)
        case .one(let viewer):
            guard let isNew = await broadcast.set(right, to: isGranted ? .yes : .no, of: viewer.id) else {
                let reason =
                    viewer.rights == nil
                    ? "\(shown) can have no rights: it has joined without a knock, or with --relay-may-watch"
                    : "what is shared cannot be controlled" + (description.controlRefusal.map { ": \($0)" } ?? "")
                throw ControlError(.failed, reason)
            }
            var answer = ControlAnswer()
            answer.changed = isNew
            return answer
        }
    }

    private static func shown(_ text: String) -> String { UntrustedText.quote(UntrustedText.clean(text, fallback: "")) }

    private static func unknown(_ shown: String) -> ControlError {
        ControlError(.unknown, "nobody watches as \(shown)")
    }

    /// With those that may be meant.
    private static func ambiguous(_ viewers: [ViewerSessionInfo], _ shown: String) -> ControlAnswer {
        var answer = ControlAnswer(ControlError(.ambiguous, "more than one viewer is meant by \(shown)"))
        answer.viewers = viewers.map { ViewerStatus($0) }
        return answer
    }

    private func remove(_ text: String) async throws(ControlError) -> ControlAnswer {
        let shown = Self.shown(text)
        switch ViewerSelection.find(text, in: await broadcast.viewers()) {
        case .none: throw Self.unknown(shown)
        case .several(let viewers): return Self.ambiguous(viewers, shown)
        case .one(let viewer):
            guard let sessions = await broadcast.remove(viewer: viewer.id) else {
                throw ControlError(.unknown, "\(shown) has left just now")
            }
            var answer = ControlAnswer()
            answer.changed = true
            answer.removed = RemovedViewer(
                name: viewer.description.name, kind: viewer.description.kind, address: viewer.description.address,
                sessions: sessions,
                readmission: viewer.identity == nil
                    ? "This player is refused until the broadcast ends, but with the token it can join under another certificate."
                    : description.readmission)
            return answer
        }
    }
}
