import MediaCore
import MediaEngine
import RTPWire

/// Decides when viewers are told which temporal layers there are: when layers come or go or their size changes, at most
/// once a second; bitrates that have changed, each 10 s.
struct LayerReporter {
    /// One encoding.
    struct Encoding {
        fileprivate var meter = LayerMeter()
        fileprivate(set) var size: PixelSize?
        /// As of the last report.
        fileprivate(set) var layers: [VideoLayer] = []
        /// Counts the reports, from 1; 0: there was none.
        fileprivate(set) var report = 0
        private var reported: MediaInstant?

        private static let refreshInterval = MediaDuration.seconds(10)

        /// - Parameter present: the present layers.
        fileprivate mutating func update(_ present: [VideoLayer], now: MediaInstant) {
            let isSame = present.count == layers.count && present.first?.size == layers.first?.size
            guard !isSame || reported.map({ now - $0 >= Self.refreshInterval }) ?? true, present != layers else {
                return
            }
            layers = present
            reported = now
            report += 1
        }
    }

    private(set) var main = Encoding()
    private(set) var low = Encoding()
    private var due: MediaInstant?

    private static let interval = MediaDuration.seconds(1)

    subscript(encoding: EncodingID) -> Encoding { encoding == .main ? main : low }

    /// Takes in an encoded frame.
    mutating func note(_ frame: UnsafeRawBufferPointer, _ info: FrameInfo, now: MediaInstant) {
        let size = info.isKeyframe ? (try? VP8FrameHeader(frame))?.size : nil
        if info.encoding == .main {
            main.meter.note(bytes: frame.count, layer: info.layer, isFrameStart: true, now: now)
            main.size = size ?? main.size
        } else {
            low.meter.note(bytes: frame.count, layer: info.layer, isFrameStart: true, now: now)
            low.size = size ?? low.size
        }
    }

    /// Takes in the size of forwarded video.
    mutating func note(size: PixelSize) { main.size = size }

    /// - Returns: whether there may be something to tell.
    mutating func isDue(now: MediaInstant) -> Bool {
        guard due.map({ now >= $0 }) ?? true else { return false }
        due = now + Self.interval
        return true
    }

    /// Compares the layers with those of the last report.
    mutating func update(_ decision: EncoderPolicy.Decision?, now: MediaInstant) {
        main.update(Self.layers(main.meter.layers(now: now), main.size, decision?.main), now: now)
        low.update(Self.layers(low.meter.layers(now: now), low.size, decision?.low), now: now)
    }

    /// Compares the layers of forwarded video with those of the last report.
    mutating func update(forwarded: ForwardedVideo, now: MediaInstant) {
        main.update(Self.layers(forwarded.layers(now: now), main.size, nil), now: now)
    }

    private static func layers(_ found: [VideoLayer], _ size: PixelSize?, _ target: EncodingTarget?) -> [VideoLayer] {
        found.map { layer in
            var layer = layer
            layer.size = size
            layer.target = layer.temporalLayer == 0 ? target?.layering?.baseBitrate ?? target?.bitrate : target?.bitrate
            return layer
        }
    }
}
