import LinuxRuntime
import MediaCore

/// An item that the network thread hands to the disk thread.
struct RecordedItem: Sendable {
    enum Kind: Sendable {
        case video(VideoCodec, isKeyframe: Bool, size: PixelSize?, isDiscardable: Bool, colorSpace: ColorSpace?)
        case audio(track: Int, samplesPerChannel: Int)
        /// A session starts, or another one replaces a lost one.
        case start(EncodedMediaFormat)
    }

    var kind: Kind
    var arrival: MediaInstant
    var rtpTimestamp: UInt32 = 0
    var captured: MediaInstant?
    /// Place of the payload in the batch.
    var payload: Range<Int> = 0..<0
}

/// Passes media from the network thread to the disk thread, which takes all that waits at once, a few times a second.
///
/// Overflow policy: video is dropped to the next key frame, audio packet by packet.
final class RecordingQueue: Sendable {
    /// Items with their payloads, one behind the other.
    struct Batch: Sendable {
        var items: [RecordedItem] = []
        var payloads: [UInt8] = []
    }

    /// The capacity, in bytes and in items: a disk may stand still for some seconds.
    static let videoBytes = 12 << 20
    static let bytes = 16 << 20
    static let items = 16_384

    fileprivate struct State {
        var batch = Batch()
        var isClosed = false
        var waitsForKeyframe = false
        var dropped = 0
    }

    enum Push { case taken, dropped, needsKeyframe }

    private let state = Monitor(State())

    /// Frames and packets that were dropped since the beginning.
    var dropped: Int { state.with { $0.dropped } }

    func start(_ format: EncodedMediaFormat, now: MediaInstant) {
        state.with { state in
            // Formats are few: a session that is joined again each time.
            guard !state.isClosed, state.batch.items.count < Self.items * 2 else { return }
            state.batch.items.append(RecordedItem(kind: .start(format), arrival: now))
            state.waitsForKeyframe = false
        }
    }

    /// Copies a frame into the queue.
    func push(_ frame: EncodedVideoFrame, now: MediaInstant) -> Push {
        state.with { state in
            guard !state.isClosed else { return .dropped }
            if frame.isKeyframe { state.waitsForKeyframe = false }
            guard !state.waitsForKeyframe else {
                state.dropped += 1
                return .dropped
            }
            guard state.hasRoom(for: frame.bytes.count, below: Self.videoBytes) else {
                state.dropped += 1
                state.waitsForKeyframe = true
                return .needsKeyframe
            }
            let item = RecordedItem(
                kind: .video(
                    frame.codec, isKeyframe: frame.isKeyframe, size: frame.size, isDiscardable: frame.isDiscardable,
                    colorSpace: frame.colorSpace),
                arrival: now, rtpTimestamp: frame.rtpTimestamp, captured: frame.captured)
            state.append(item) { payloads in
                frame.bytes.forEachSegment { payloads.append(contentsOf: $0) }
            }
            return .taken
        }
    }

    /// Copies a packet into the queue.
    func push(_ bytes: UnsafeRawBufferPointer, _ packet: EncodedAudioPacket, now: MediaInstant) {
        state.with { state in
            guard !state.isClosed else { return }
            guard state.hasRoom(for: bytes.count, below: Self.bytes) else {
                state.dropped += 1
                return
            }
            let item = RecordedItem(
                kind: .audio(track: packet.track, samplesPerChannel: packet.samplesPerChannel), arrival: now,
                rtpTimestamp: packet.rtpTimestamp, captured: packet.captured)
            state.append(item) { $0.append(contentsOf: bytes) }
        }
    }

    /// Wakes the disk thread for the last time.
    func close() { state.change { $0.isClosed = true } }

    /// Sleeps until `deadline`, or until the queue is closed, and takes what waits.
    /// - Parameter empty: an empty batch whose memory is used again.
    func take(at deadline: MediaInstant, empty: consuming Batch) -> (batch: Batch, isClosed: Bool) {
        _ = state.wait(until: deadline) { $0.isClosed ? () : nil }
        var batch = empty
        batch.items.removeAll(keepingCapacity: batch.items.capacity <= 1_024)
        batch.payloads.removeAll(keepingCapacity: batch.payloads.capacity <= 1 << 19)
        let isClosed = state.with { state in
            swap(&state.batch, &batch)
            return state.isClosed
        }
        return (batch, isClosed)
    }
}

extension RecordingQueue.State {
    fileprivate func hasRoom(for count: Int, below limit: Int) -> Bool {
        batch.items.count < RecordingQueue.items && batch.payloads.count + count <= limit
    }

    fileprivate mutating func append(_ item: RecordedItem, _ write: (inout [UInt8]) -> Void) {
        var item = item
        let start = batch.payloads.count
        write(&batch.payloads)
        item.payload = start..<batch.payloads.count
        batch.items.append(item)
    }
}

extension EncodedVideoFrame {
    /// No other frame refers to it: of VP8, which has two layers here, that is known.
    var isDiscardable: Bool { codec == .vp8 && layer > 0 }
}
