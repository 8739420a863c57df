/// The audio format of all samples: 48 kHz, two channels, 16 bits, interleaved.
public enum AudioFormat {
    public static let sampleRate = 48_000
    public static let channels = 2
    public static let samplesPerChannelIn10ms = 480
}

/// A source of captured audio: the system's output, a microphone, a test tone.
public protocol AudioSource: AnyObject, Sendable {
    /// A description for people: "what plays on Built-in Audio".
    var summary: String { get }

    /// Starts the capture.
    /// - Parameters:
    ///   - handler: called on the audio thread with 10 ms at a time (960 samples, interleaved) and the instant at which
    ///     the first of them was captured. During silence it need not be called; the gap shows in the instants.
    ///   - ended: called once when the device is gone for good.
    func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void) throws(SourceFailure)

    /// Stops the capture. No handler runs after it has returned.
    func stop()

    /// Stops the capture for a while, or goes on with it, so that a microphone is not open while nobody may hear it.
    /// Samples that were captured just before may follow. From any thread; must not block.
    func setHeld(_ isHeld: Bool)

    /// Reports what happens to the source beside its samples.
    /// - Parameter handler: called on the audio thread. It is set before `start`.
    func observe(_ handler: @escaping @Sendable (AudioSourceChange) -> Void)
}

extension AudioSource {
    /// For sources that may be heard at any time: their samples are dropped.
    public func setHeld(_ isHeld: Bool) {}

    /// A source that is never interrupted has nothing to report.
    public func observe(_ handler: @escaping @Sendable (AudioSourceChange) -> Void) {}
}

/// What happens to an ``AudioSource`` that goes on.
public enum AudioSourceChange: Equatable, Sendable {
    /// Nothing is captured until `resumed`.
    case interrupted(SourceFailure)
    /// It is captured again, or for the first time; the value is its new summary.
    case resumed(String)
    /// A sentence for people.
    case notice(String)
}

/// Encodes audio. Confined to one thread.
public protocol AudioEncoder: AnyObject {
    /// Encodes 10 or 20 ms.
    /// - Parameter samples: 960 or 1,920 samples, interleaved.
    /// - Returns: bytes written; 0 if no packet has to be sent (DTX).
    func encode(_ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableRawBufferPointer) throws(CodecFailure)
        -> Int
    /// - Parameter fraction: expected packet loss, 0...1; turns in-band FEC on and sets its strength.
    func setExpectedLoss(_ fraction: Double)
    /// The average bitrate while there is audio.
    var bitrate: Bitrate { get }
    func setBitrate(_ bitrate: Bitrate)
}

/// Decodes audio. Confined to one thread. Input is hostile.
public protocol AudioDecoder: AnyObject {
    /// Decodes one packet; nil conceals a lost one of `samplesPerChannel`.
    /// - Parameter useFEC: decode the in-band FEC of this packet, which restores the packet before it.
    /// - Returns: frames (of two samples) written, at most 5,760 (120 ms).
    func decode(
        _ packet: UnsafeRawBufferPointer?, useFEC: Bool, samplesPerChannel: Int,
        into samples: UnsafeMutableBufferPointer<Int16>
    )
        throws(CodecFailure) -> Int
}

/// Plays audio.
public protocol AudioSink: AnyObject, Sendable {
    /// Appends frames of interleaved samples; called on the audio thread.
    func play(_ samples: UnsafeBufferPointer<Int16>)
    /// The time until a sample that is given now is heard.
    var latency: MediaDuration { get }
    func close()
}
