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

    /// The progress of writing an audio track.
    struct AudioProgress {
        /// The end of the last packet, in milliseconds; nil before the first.
        private(set) var end: Int64?
        /// In samples since the last packet that came, so that gaps of whole frames add up.
        private var toc: UInt8 = 0
        private var endSamples: Int64 = 0

        /// Shorter gaps are rounding and corrections of the clock.
        private static let shortest: Int64 = 10
        /// A day, in samples.
        static let longestGap: Int64 = 86_400 * 48_000

        mutating func note(toc: UInt8, time: Int64, samples: Int) {
            self.toc = toc & 0xFC
            endSamples = time * 48 + Int64(max(samples, 0))
            // Packets that follow may be some milliseconds early, by corrections of the clock.
            end = time
        }

        /// The next packet of silence between the end and `time`; nil when the gap is filled.
        /// - Parameter longest: how much is filled, in samples; the time before it remains a gap.
        mutating func nextGapPacket(
            until time: Int64, longest: Int64 = longestGap
        ) -> (bytes: [UInt8], time: Int64, samples: Int64)? {
            guard end != nil, time - endSamples / 48 >= Self.shortest else { return nil }
            endSamples = max(endSamples, time * 48 - max(longest, 0))
            guard let packet = OpusGap.packet(like: toc, samples: Int(clamping: time * 48 - endSamples)) else {
                return nil
            }
            let start = endSamples / 48
            endSamples += Int64(packet.samples)
            end = start
            return (packet.bytes, start, Int64(packet.samples))
        }
    }
}
