import EventLoop
package import MediaCore
package import MediaEngine
import RTPWire

/// A sink of this process that gets what the viewers of the main encoding get: a recorder, or a buffer for clips.
/// Confined to the network loop.
package final class LocalReceiver {
    package let sink: any EncodedMediaSink
    /// Media is captured and encoded for it also while nobody watches.
    let demandsMedia: Bool
    /// It records, as the viewers are told.
    let records: Bool
    private var isFollowing = false
    /// For each audio track: the RTP timestamp that follows its last packet.
    private var nextTimestamps: [UInt32?]

    package init(_ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool, audioTracks: Int) {
        self.sink = sink
        self.demandsMedia = demandsMedia
        self.records = records
        nextTimestamps = Array(repeating: nil, count: audioTracks)
    }

    /// The frames from the next key frame on can be decoded, and none before it.
    func waitForKeyframe() { isFollowing = false }

    /// Takes the next frame of the main encoding.
    package func receive(_ bytes: UnsafeRawBufferPointer, _ info: FrameInfo) {
        if info.isKeyframe { isFollowing = true }
        guard isFollowing, !bytes.isEmpty else { return }
        sink.receive(
            EncodedVideoFrame(
                bytes: EncodedFrameBytes(bytes), codec: .vp8, isKeyframe: info.isKeyframe,
                size: info.size, layer: info.layer,
                rtpTimestamp: Self.timestamp(info.captured, rate: 90_000), captured: info.captured))
    }

    /// Takes the next packet of a track. Within a talk spurt the RTP timestamp advances by the packet's samples, as in
    /// what viewers get; after a gap it follows the capture clock.
    package func receive(_ packet: UnsafeRawBufferPointer, _ info: AudioPacketInfo) {
        guard nextTimestamps.indices.contains(info.track) else { return }
        let samples = OpusPacket.samplesPerChannel(packet)
        var timestamp = Self.timestamp(info.captured, rate: 48_000)
        if let next = nextTimestamps[info.track], abs(Int32(bitPattern: timestamp &- next)) < 48_000 / 25 {
            timestamp = next
        }
        nextTimestamps[info.track] = timestamp &+ UInt32(samples)
        sink.receive(
            EncodedAudioPacket(
                track: info.track, payload: .packet(packet), samplesPerChannel: samples, rtpTimestamp: timestamp,
                captured: info.captured))
    }

    private static func timestamp(_ instant: MediaInstant, rate: Int64) -> UInt32 {
        let (seconds, rest) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return UInt32(truncatingIfNeeded: seconds &* rate &+ rest &* rate / 1_000_000_000)
    }
}

/// The recorders and clip buffers of this process.
extension Broadcast {
    /// Adds a sink, which gets all media from the next key frame on. Whoever adds it closes it after the end.
    /// - Parameters:
    ///   - demandsMedia: media is captured and encoded for it also while nobody watches.
    ///   - records: the viewers are told of a recorder.
    /// - Throws: if the sink takes no VP8. It is not added then.
    package func add(_ sink: any EncodedMediaSink, demandsMedia: Bool, records: Bool) throws(MediaSinkFailure) {
        guard !isEnded else { return }
        let (loop, source) = (loop, source)
        try sink.start(EncodedMediaFormat(video: .vp8, audio: settings.audio.map(\.kind))) { _ in
            loop.perform { source.requestKeyframe(.main, isFirst: false) }
        }
        receivers.append(
            LocalReceiver(
                sink, demandsMedia: demandsMedia, records: records, audioTracks: settings.audio.count))
        if records { delegate?.handle(.audience(audience)) }
        updateEncoders()
        source.requestKeyframe(.main, isFirst: true)
    }

    /// Removes a sink; it gets nothing from now on.
    package func remove(_ sink: any EncodedMediaSink) {
        receivers.removeAll { $0.sink === sink }
        guard !isEnded else { return }
        delegate?.handle(.audience(audience))
        updateEncoders()
    }

    var hasDemandingReceiver: Bool { receivers.contains { $0.demandsMedia } }
}
