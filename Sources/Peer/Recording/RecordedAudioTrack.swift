import Matroska

/// An Opus track of a recording.
struct RecordedAudioTrack: Equatable {
    /// As players show it; nil for none.
    let name: String?
    /// OpusHead (RFC 7845 section 5.1); empty for that of this program's own recordings.
    var head: [UInt8] = []
    var channels = 2

    var track: MatroskaTrack { .opus(name: name, head: head, channels: channels) }

    /// Packets of both can be in one track.
    func continues(_ other: RecordedAudioTrack) -> Bool { channels == other.channels && layout == other.layout }

    /// The packets have one stream each: a packet of silence needs no others beside it.
    var hasOneStream: Bool { layout.first == 0 }

    /// The mapping family and, beyond family 0, the streams and channels.
    private var layout: ArraySlice<UInt8> { head.count < 19 ? [0] : head[18...] }
}
