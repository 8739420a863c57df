public import Admission
public import Identifiers
public import MediaCore
public import PeerConnection

/// A running broadcast as its user controls it, whoever receives it. From any thread; after the end everything returns
/// nil, false or nothing.
public protocol ControllableBroadcast: AnyObject, Sendable {
    /// Begins to hold something back, or ends that. Who receives the broadcast is told.
    /// - Returns: false if that is so already, or the broadcast has ended.
    @discardableResult func set(_ hold: BroadcastHold, _ isOn: Bool) async -> Bool
    /// The holds; none after the end.
    func holds() async -> Set<BroadcastHold>

    /// The audio tracks, in their order.
    var audioTracks: [AudioTrackState] { get }
    /// - Returns: false if the broadcast has no track of this kind.
    @discardableResult func setAudioMuted(_ kind: MediaTrackKind, _ isMuted: Bool) -> Bool

    /// Tells who receives the broadcast which application it shows now. The newest one is told, also to who comes
    /// later.
    func annotate(_ application: ApplicationInfo) async

    /// The viewers, in the order in which they came; none for a broadcast to a service.
    func viewers() async -> [ViewerSessionInfo]
    /// - Returns: how many sessions ended; nil if there is no such viewer.
    @discardableResult func remove(viewer id: SessionID) async -> Int?

    /// Tells all viewers something, as a comment of the host's user.
    /// - Returns: false if nothing of it is visible, or viewers are told nothing.
    func say(_ text: String) async -> Bool
    /// The rights that viewers can have at all: what is shared may not be controlled, for example.
    var possibleRights: Set<ViewerRight> { get }
    /// Grants a viewer a right, or takes it back.
    /// - Returns: whether something changed; nil if there is no such viewer, or it can have no rights.
    func set(_ right: ViewerRight, to state: RightState, of viewer: SessionID) async -> Bool?
    /// Takes the control of the screen back from the viewer that has it.
    /// - Returns: false if nobody has it.
    @discardableResult func takeControlBack() async -> Bool
    /// Drops the input of the viewer that controls, as long as the host's user is asked something.
    func holdControl(_ isHeld: Bool)

    /// Passes what is encoded to a sink of this process too, from the next key frame on. The end closes it.
    /// - Parameters:
    ///   - demandsMedia: the screen is captured and encoded for it also while nobody watches.
    ///   - records: the viewers are told of a recorder.
    /// - Throws: if there is nothing encoded that the sink can take.
    func add(_ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool) async throws(MediaSinkFailure)
    /// Ends what a sink gets, and closes it.
    func remove(_ sink: any EncodedMediaSink) async

    /// Nil after the end.
    func statistics() async -> HostStatistics?

    /// Ends the broadcast and frees everything. May be called twice.
    func stop(_ reason: EndReason) async
}

extension HostSession: ControllableBroadcast {}

extension ControllableBroadcast {
    /// Stops capturing and encoding: nothing that is captured from now on is sent. The viewers keep the last frame,
    /// their sessions and their reports.
    /// - Returns: false if it is paused already, or has ended.
    @discardableResult public func pause() async -> Bool { await set(.pause, true) }

    /// The viewers get the next change of the screen, or a key frame.
    /// - Returns: false if it is not paused, or has ended.
    @discardableResult public func resume() async -> Bool { await set(.pause, false) }

    public func isPaused() async -> Bool { await holds().contains(.pause) }

    public func annotate(_ application: ApplicationInfo) async {}

    public var possibleRights: Set<ViewerRight> { [] }
    public func say(_ text: String) async -> Bool { false }
    public func set(_ right: ViewerRight, to state: RightState, of viewer: SessionID) async -> Bool? { nil }
    @discardableResult public func takeControlBack() async -> Bool { false }
    public func holdControl(_ isHeld: Bool) {}
}
