import Admission
import MediaCore
import MediaEngine

/// Decides when viewers are told which temporal layers there are: when layers come or go or their size changes, once a
/// second at most; 2 s after that, and then each 10 s, if bitrates have changed. With many viewers, less often.
struct LayerReporter {
    /// One encoding.
    struct Encoding {
        fileprivate var meter = LayerMeter()
        fileprivate(set) var size: PixelSize?
        /// As of the last report.
        fileprivate(set) var layers: [VideoLayer] = []
        /// Counts the reports, from 1; 0: there was none.
        fileprivate(set) var report = 0
        private var refresh: MediaInstant?

        private static let firstRefresh = MediaDuration.seconds(2)
        private static let refreshInterval = MediaDuration.seconds(10)

        /// Frames of layer 1 are rare while there is little to show, so the encoder's target says whether there are
        /// layers.
        /// - Parameters:
        ///   - target: nil if nobody gets this encoding.
        ///   - least: the least time between reports, beside 1 s.
        fileprivate mutating func update(_ target: EncodingTarget?, least: MediaDuration, now: MediaInstant) {
            var found = meter.layers(count: target.map { $0.layering == nil ? 1 : 2 } ?? 0, now: now)
            for index in found.indices {
                found[index].target = index == 0 ? target?.layering?.baseBitrate ?? target?.bitrate : target?.bitrate
            }
            update(found, least: least, now: now)
        }

        /// - Parameters:
        ///   - found: the present layers, without sizes.
        ///   - least: the least time between reports, beside 1 s.
        fileprivate mutating func update(_ found: [VideoLayer], least: MediaDuration, now: MediaInstant) {
            var present = found
            for index in present.indices { present[index].size = size }
            guard present != layers else { return }
            let isSame = present.count == layers.count && present.first?.size == layers.first?.size
            guard !isSame || refresh.map({ now >= $0 }) ?? true else { return }
            layers = present
            // The bitrates of layers that have just come are those of a part of a second.
            refresh = now + max(isSame ? Self.refreshInterval : Self.firstRefresh, least * 4)
            report += 1
        }

        /// - Parameter line: the number of the video's m-line; nil: there is none.
        /// - Returns: the highest temporal layer that is selected; nil: all.
        /// - Throws: `.unprocessable` if there is no such layer.
        func highestLayer(for selection: LayerSelection, line: Int?) throws(OfferRefusal) -> Int? {
            guard let line, selection.mediaId ?? String(line) == String(line) else {
                throw OfferRefusal(.unprocessable, "That m-line has no video.")
            }
            guard selection.rid == nil else {
                throw OfferRefusal(.unprocessable, "There is no simulcast encoding.")
            }
            guard selection.spatialLayerId ?? 0 == 0 else {
                throw OfferRefusal(.unprocessable, "Spatial layers are not chosen: they are one, 0.")
            }
            guard selection.temporalLayerId ?? 0 <= max(layers.count - 1, 0) else {
                throw OfferRefusal(.unprocessable, "There is no such temporal layer now.")
            }
            if let size,
                selection.maxWidth ?? size.width < size.width || selection.maxHeight ?? size.height < size.height
            {
                throw OfferRefusal(.unprocessable, "There is one size, \(size.width) x \(size.height).")
            }
            return selection.highestTemporalLayer
        }

        fileprivate mutating func note(bytes: Int, layer: UInt8, size: PixelSize?, now: MediaInstant) {
            meter.note(bytes: bytes, layer: layer, isFrameStart: true, now: now)
            self.size = size ?? self.size
        }
    }

    private(set) var main = Encoding()
    private(set) var low = Encoding()
    private var due: MediaInstant?

    private static let interval = MediaDuration.seconds(1)

    subscript(encoding: EncodingID) -> Encoding { encoding == .main ? main : low }

    /// Takes in an encoded frame.
    mutating func note(_ frame: UnsafeRawBufferPointer, _ info: FrameInfo, now: MediaInstant) {
        switch info.encoding {
        case .main: main.note(bytes: frame.count, layer: info.layer, size: info.size, now: now)
        case .low: low.note(bytes: frame.count, layer: info.layer, size: info.size, now: now)
        }
    }

    /// Takes in the size of forwarded video.
    mutating func note(size: PixelSize) { main.size = size }

    /// Compares the layers with those of the last report, if it is time.
    /// - Parameters:
    ///   - forwarded: the video, if it is forwarded.
    ///   - least: the least time between reports, beside 1 s.
    /// - Returns: false if it is not time.
    mutating func update(
        _ decision: EncoderPolicy.Decision?, forwarded: ForwardedVideo?, least: MediaDuration, now: MediaInstant
    ) -> Bool {
        guard due.map({ now >= $0 }) ?? true else { return false }
        due = now + max(Self.interval, least)
        if let forwarded {
            main.update(forwarded.layers(now: now), least: least, now: now)
        } else {
            main.update(decision?.main, least: least, now: now)
            low.update(decision?.low, least: least, now: now)
        }
        return true
    }
}
