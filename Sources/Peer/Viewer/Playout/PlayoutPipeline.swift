import LinuxRuntime
import MediaCore
import Synchronization

/// One audio track of a `PlaybackSink`: takes packets from the network thread, decodes them on a thread of its own and
/// plays them.
///
/// Overflow policy: new packets are refused, and the gap is concealed.
// SAFETY: the decoder and the buffer are used by the audio thread alone.
final class PlayoutPipeline: @unchecked Sendable {
    private struct Info: Sendable {
        /// The bytes of the queue's entry: the packet itself, the packet after a lost one, or none.
        enum Content { case packet, packetAfterLost, nothing }
        var content: Content
        var samplesPerChannel: Int
    }

    private let decoder: any AudioDecoder
    private let sink: any AudioSink
    private let packets = FrameQueue<Info>(capacity: 32, bytes: 2_048)
    private var thread: NamedThread?
    private let samples = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 5_760 * AudioFormat.channels)
    private let isMuted = Mutex(false)
    private let counters = Mutex((frames: 0, peak: 0))

    init(decoder: any AudioDecoder, sink: any AudioSink) {
        self.decoder = decoder
        self.sink = sink
        thread = NamedThread("audio") { [self] in
            while packets.waitAndPop({ play($0, $1) }) {}
            sink.close()
        }
    }

    deinit { samples.deallocate() }

    var latency: MediaDuration { sink.latency }
    /// The number of frames (of two samples) played.
    var framesPlayed: Int { counters.withLock { $0.frames } }

    /// The loudest sample (0...32,768) since the last call.
    func takePeak() -> Int {
        counters.withLock { counters in
            defer { counters.peak = 0 }
            return counters.peak
        }
    }

    /// Queues a packet. Called on the network thread.
    func push(_ packet: EncodedAudioPacket) {
        switch packet.payload {
        case .packet(let bytes):
            _ = packets.push(bytes, Info(content: .packet, samplesPerChannel: packet.samplesPerChannel))
        case .lostBefore(let next):
            _ = packets.push(next, Info(content: .packetAfterLost, samplesPerChannel: packet.samplesPerChannel))
        case .lost:
            _ = packets.push(
                UnsafeRawBufferPointer(start: nil, count: 0),
                Info(content: .nothing, samplesPerChannel: packet.samplesPerChannel))
        }
    }

    func setMuted(_ muted: Bool) { isMuted.withLock { $0 = muted } }

    /// Ends the audio thread. May be called more than once.
    /// - Parameter done: called on the audio thread at its end; the sink is closed then.
    func close(_ done: @escaping @Sendable () -> Void) {
        packets.close()
        if let thread { thread.whenEnded(done) } else { done() }
    }

    private func play(_ bytes: UnsafeRawBufferPointer, _ info: Info) {
        guard
            let count = try? decoder.decode(
                info.content == .nothing ? nil : bytes, useFEC: info.content == .packetAfterLost,
                samplesPerChannel: info.samplesPerChannel,
                into: samples), count > 0
        else { return }
        let end = count * AudioFormat.channels
        var peak = 0
        for sample in samples[..<end] { peak = max(peak, abs(Int(sample))) }
        counters.withLock {
            $0.frames += count
            $0.peak = max($0.peak, peak)
        }
        guard !isMuted.withLock({ $0 }) else { return }
        sink.play(UnsafeBufferPointer(rebasing: samples[..<end]))
    }
}
