public import MediaCore

/// What decodes and plays a broadcast here.
public struct Playback: Sendable {
    public var decoder: @Sendable () throws(CodecFailure) -> any VideoDecoder
    public var sink: any VideoSink
    public var audioDecoder: @Sendable () throws(CodecFailure) -> any AudioDecoder
    /// Makes the output for one sound track when its first packet comes; nil: no sound here.
    public var makeSpeaker: @Sendable () throws(SourceFailure) -> (any AudioSink)?

    public init(
        decoder: @escaping @Sendable () throws(CodecFailure) -> any VideoDecoder, sink: any VideoSink,
        audioDecoder: @escaping @Sendable () throws(CodecFailure) -> any AudioDecoder,
        makeSpeaker: @escaping @Sendable () throws(SourceFailure) -> (any AudioSink)?
    ) {
        self.decoder = decoder
        self.sink = sink
        self.audioDecoder = audioDecoder
        self.makeSpeaker = makeSpeaker
    }
}
