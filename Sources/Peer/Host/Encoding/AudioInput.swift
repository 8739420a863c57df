public import MediaCore

/// One audio track to publish.
public struct AudioInput: Sendable {
    public var kind: MediaTrackKind
    public var source: any AudioSource
    public var makeEncoder: @Sendable () throws(CodecFailure) -> any AudioEncoder
    public var hasSilenceSuppression: Bool

    public init(
        kind: MediaTrackKind, source: any AudioSource, hasSilenceSuppression: Bool,
        makeEncoder: @escaping @Sendable () throws(CodecFailure) -> any AudioEncoder
    ) {
        self.kind = kind
        self.source = source
        self.hasSilenceSuppression = hasSilenceSuppression
        self.makeEncoder = makeEncoder
    }
}
