import LinuxRuntime
import MediaCore

/// One sound track of a viewer: takes packets from the network thread, decodes them on a thread of its own and plays them.
///
/// Overflow policy: refuse; the gap is concealed.
// SAFETY: decoder and buffer belong to the audio thread alone.
final class PlayoutPipeline: @unchecked Sendable {
    package struct Info: Sendable {
        /// The packet is missing: conceal it, or take the redundancy out of the one that follows.
        var isLost: Bool
        var useFEC: Bool
        package var frames: Int
    }

    private let decoder: any AudioDecoder
    private let sink: any AudioSink
    private let packets = FrameQueue<Info>(capacity: 32, bytes: 2_048)
    private var thread: NamedThread?
    private let samples = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 5_760 * AudioFormat.channels)
    private let isMuted = Monitor(false)
    private let counters = Monitor((frames: 0, peak: 0))

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
    /// Frames (of two samples) played.
    var framesPlayed: Int { counters.with { $0.frames } }

    /// The loudest sample (0...32,768) since the last call.
    func takePeak() -> Int {
        counters.with { counters in
            defer { counters.peak = 0 }
            return counters.peak
        }
    }

    func push(_ bytes: UnsafeRawBufferPointer, _ info: Info) { _ = packets.push(bytes, info) }
    package func setMuted(_ muted: Bool) { isMuted.with { $0 = muted } }

    /// Twice is fine.
    /// - Parameter done: called on the audio thread when that ends: the sink is closed.
    package func close(_ done: @escaping @Sendable () -> Void) {
        packets.close()
        if let thread { thread.whenEnded(done) } else { done() }
    }

    private func play(_ bytes: UnsafeRawBufferPointer, _ info: Info) {
        let packet = info.isLost && !info.useFEC ? nil : bytes
        guard
            let count = try? decoder.decode(packet, useFEC: info.useFEC, frames: info.frames, into: samples), count > 0
        else { return }
        let end = count * AudioFormat.channels
        var peak = 0
        for sample in samples[..<end] { peak = max(peak, abs(Int(sample))) }
        counters.with {
            $0.frames += count
            $0.peak = max($0.peak, peak)
        }
        guard !isMuted.with({ $0 }) else { return }
        sink.play(UnsafeBufferPointer(rebasing: samples[..<end]))
    }
}
