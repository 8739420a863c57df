public import MediaCore

/// A track of a file. Its number in the file is its index plus one.
public enum MatroskaTrack: Equatable, Sendable {
    /// - Parameters:
    ///   - size: of the first frame, in pixels; later frames may have another one.
    ///   - record: the codec's decoder configuration record; empty for codecs without one.
    ///   - appearance: further elements of the Video element, as `RecordedHeader.Track.appearance`.
    case video(VideoCodec, size: PixelSize, record: [UInt8] = [], appearance: [UInt8] = [])
    /// Opus, 48 kHz.
    /// - Parameters:
    ///   - name: as players show it; nil for none.
    ///   - head: OpusHead (RFC 7845 section 5.1), which says how many channels the packets have; empty for stereo.
    case opus(name: String?, head: [UInt8] = [], channels: Int = 2)

    public var isWebM: Bool {
        switch self {
        case .video(let codec, _, _, _): codec.properties.isInWebM
        case .opus: true
        }
    }

    var isVideo: Bool {
        if case .video = self { true } else { false }
    }

    /// The delay that an Opus encoder adds, at 48 kHz: libopus's lookahead (RFC 7845 section 4.2).
    static let opusPreSkip: UInt16 = 312

    func write(to writer: inout ElementWriter, number: UInt64, isDefault: Bool) {
        writer.master(.trackEntry) { entry in
            entry.unsigned(.trackNumber, number)
            entry.unsigned(.trackUID, number)
            entry.unsigned(.flagLacing, 0)
            entry.unsigned(.flagDefault, isDefault ? 1 : 0)
            switch self {
            case .video(let codec, let size, let record, let appearance):
                entry.unsigned(.trackType, 1)
                entry.text(.codecID, codec.properties.matroskaID)
                if !record.isEmpty { entry.binary(.codecPrivate, record) }
                entry.master(.video) { video in
                    video.unsigned(.pixelWidth, UInt64(clamping: max(size.width, 1)))
                    video.unsigned(.pixelHeight, UInt64(clamping: max(size.height, 1)))
                    video.append(appearance)
                }
            case .opus(let name, let head, let channels):
                entry.unsigned(.trackType, 2)
                if let name { entry.text(.name, name) }
                entry.text(.codecID, "A_OPUS")
                let head = head.count >= 19 ? head : Self.opusHead
                entry.binary(.codecPrivate, head)
                entry.unsigned(.codecDelay, (UInt64(head[10]) | UInt64(head[11]) << 8) * 1_000_000_000 / 48_000)
                entry.unsigned(.seekPreRoll, 80_000_000)
                entry.master(.audio) { audio in
                    audio.float(.samplingFrequency, 48_000)
                    audio.unsigned(.channels, UInt64(clamping: max(channels, 1)))
                }
            }
        }
    }

    /// OpusHead (RFC 7845 section 5.1), little-endian: version 1, two channels, pre-skip, 48 kHz, no gain, mapping
    /// family 0.
    private static var opusHead: [UInt8] {
        Array("OpusHead".utf8) + [1, 2, UInt8(opusPreSkip & 0xFF), UInt8(opusPreSkip >> 8), 0x80, 0xBB, 0, 0, 0, 0, 0]
    }
}
