/// Sound is 48 kHz, two channels, interleaved 16-bit samples throughout.
public enum AudioFormat {
    public static let sampleRate = 48_000
    public static let channels = 2
    /// Frames (of two samples) in 10 ms.
    public static let framesPerTenMilliseconds = 480
}

/// Where sound comes from: the system's output, a microphone, a test tone.
public protocol AudioSource: AnyObject, Sendable {
    /// In words: "what plays on Built-in Audio".
    var summary: String { get }

    /// Calls `handler` on the audio thread with 10 ms at a time (960 samples, interleaved) and the moment at which the first of them was
    /// captured. In silence nothing has to be delivered; the gap shows in the moments.
    /// - Parameter ended: called once when the device is gone for good.
    func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void) throws(SourceFailure)

    /// No handler runs after it has returned.
    func stop()
}

/// Confined to one thread.
public protocol AudioEncoder: AnyObject {
    /// Encodes 10 or 20 ms.
    /// - Parameter samples: 960 or 1,920 samples, interleaved.
    /// - Returns: bytes written; 0 if nothing has to be sent (DTX).
    func encode(_ samples: UnsafeBufferPointer<Int16>, into bytes: UnsafeMutableRawBufferPointer) throws(CodecFailure)
        -> Int
    /// 0...1; turns in-band FEC on and sizes it.
    func setExpectedLoss(_ fraction: Double)
    /// What it spends on average where there is sound.
    var bitrate: Bitrate { get }
    func setBitrate(_ bitrate: Bitrate)
}

/// Confined to one thread. Input is hostile.
public protocol AudioDecoder: AnyObject {
    /// Decodes one packet; nil conceals a lost one of `frames` length.
    /// - Parameter useFEC: take the previous packet's redundancy out of this one.
    /// - Returns: frames (of two samples) written, at most 5,760 (120 ms).
    func decode(
        _ packet: UnsafeRawBufferPointer?, useFEC: Bool, frames: Int, into samples: UnsafeMutableBufferPointer<Int16>
    )
        throws(CodecFailure) -> Int
}

/// Where sound goes to.
public protocol AudioSink: AnyObject, Sendable {
    /// Appends frames of interleaved samples; from the audio thread.
    func play(_ samples: UnsafeBufferPointer<Int16>)
    /// How long it takes until a sample given now is heard.
    var latency: MediaDuration { get }
    func close()
}
