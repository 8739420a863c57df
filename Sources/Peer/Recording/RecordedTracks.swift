import Matroska
import MediaCore

/// The tracks of a recording: the video's number is 1, and the audio tracks follow.
struct RecordedTracks {
    /// Nil before the first session.
    let format: EncodedMediaFormat?
    var audio: [AudioProgress]

    init() {
        format = nil
        audio = []
    }

    init(_ format: EncodedMediaFormat) {
        self.format = format
        audio = format.audio.prefix(RecordingTimeline.trackLimit).map { _ in AudioProgress() }
    }

    var hasOnlyAudio: Bool { format?.video == nil }

    func number(ofAudio track: Int) -> UInt8 { UInt8(track + (hasOnlyAudio ? 1 : 2)) }

    /// Of the audio tracks, as players show them.
    var names: [String?] {
        (format?.audio ?? []).prefix(audio.count).map { kind in
            switch kind {
            case .applicationAudio: "Application"
            case .microphoneAudio: "Microphone"
            case .video, nil: nil
            }
        }
    }

    func matroska(_ video: RecordedVideo?) -> [MatroskaTrack] {
        (video.map { [$0.track] } ?? []) + names.map { .opus(name: $0) }
    }

    /// How far an audio track is written.
    struct AudioProgress {
        /// The end of the last packet, in milliseconds; nil before the first.
        private(set) var end: Int64?
        /// In samples since the last packet that came, so that gaps of whole frames add up.
        private var toc: UInt8 = 0
        private var endSamples: Int64 = 0

        /// Shorter gaps are rounding and corrections of the clock.
        private static let shortest: Int64 = 10

        mutating func note(toc: UInt8, time: Int64, samples: Int) {
            self.toc = toc & 0xFC
            endSamples = time * 48 + Int64(max(samples, 0))
            // Packets that follow may be some milliseconds early, by corrections of the clock.
            end = time
        }

        /// Fills the time between the end and `time` with packets of silence.
        mutating func gap(until time: Int64) -> [(bytes: [UInt8], time: Int64)] {
            guard end != nil, time - endSamples / 48 >= Self.shortest else { return [] }
            let missing = time * 48 - endSamples
            return OpusGap.packets(like: toc, samples: Int(clamping: missing)).map { packet in
                defer { endSamples += Int64(packet.samples) }
                let start = endSamples / 48
                end = start
                return (packet.bytes, start)
            }
        }
    }
}
