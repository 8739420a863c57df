import LinuxRuntime
import MediaCore
import Testing
import Wording

@testable import Viewer

/// The sink of a viewer, without a session.
@Suite(.timeLimit(.minutes(1))) struct PlaybackSinkTests {
    private final class GreyDecoder: VideoDecoder {
        private let canvas = I420Buffer(PixelSize(width: 32, height: 16))
        func decode(_ frame: UnsafeRawBufferPointer, colorSpace: ColorSpace?) throws(CodecFailure) -> I420Frame? {
            if frame[0] == 0 { throw CodecFailure(code: 1, message: "no frame") }
            return canvas.frame
        }
    }

    /// Decodes each packet to one sample.
    private final class ClickDecoder: AudioDecoder {
        func decode(
            _ packet: UnsafeRawBufferPointer?, useFEC: Bool, samplesPerChannel: Int,
            into samples: UnsafeMutableBufferPointer<Int16>
        ) throws(CodecFailure) -> Int {
            samples[0] = useFEC ? 300 : packet == nil ? 200 : 100
            samples[1] = 0
            return 1
        }
    }

    private final class Output: VideoSink, AudioSink {
        struct State {
            var showTimes: [MediaInstant?] = []
            var samples: [Int16] = []
            var closings = 0
        }

        let state = Monitor(State())
        let latency: MediaDuration

        init(latency: MediaDuration = .zero) { self.latency = latency }

        func show(_ frame: I420Frame, at time: MediaInstant?) { state.change { $0.showTimes.append(time) } }
        func play(_ samples: UnsafeBufferPointer<Int16>) { state.change { $0.samples.append(samples[0]) } }
        func close() { state.change { $0.closings += 1 } }
    }

    private final class Stage {
        let output: Output
        let events = Monitor<[PlaybackEvent]>([])
        let speakers = Monitor(0)
        let sink: PlaybackSink

        init(_ output: Output, failure: SourceFailure? = nil) throws(MediaSinkFailure) {
            self.output = output
            let (events, speakers) = (events, speakers)
            sink = PlaybackSink(
                decoders: VideoDecoders([.vp8]) { _ throws(CodecFailure) in GreyDecoder() }, videoSink: output,
                audioDecoder: { () throws(CodecFailure) in ClickDecoder() },
                makeSpeaker: { () throws(SourceFailure) in
                    speakers.change { $0 += 1 }
                    if let failure { throw failure }
                    return output
                }, emit: { event in events.change { $0.append(event) } })
            try sink.start(EncodedMediaFormat(video: .vp8, audio: [nil]), requestKeyframe: { _ in })
        }

        deinit { sink.close {} }

        func video(captured: MediaInstant? = nil, _ bytes: [UInt8] = [1, 2, 3]) {
            bytes.withUnsafeBytes { bytes in
                sink.receive(
                    EncodedVideoFrame(
                        bytes: EncodedFrameBytes(bytes), codec: .vp8, isKeyframe: true, captured: captured))
            }
        }

        func audio(captured: MediaInstant? = nil, _ payload: (UnsafeRawBufferPointer) -> EncodedAudioPacket.Payload) {
            [4, 5].withUnsafeBytes { bytes in
                sink.receive(
                    EncodedAudioPacket(track: 0, payload: payload(bytes), samplesPerChannel: 480, captured: captured))
            }
        }
    }

    @Test func videoWaitsForAudioThatLagsAndForNothingElse() throws {
        var holds: [MediaDuration] = []
        // On a busy machine the frame may be late for another reason, so the shortest of several times counts.
        repeat {
            let stage = try Stage(Output(latency: .milliseconds(300)))
            stage.video(captured: MonotonicClock.now)
            stage.output.state.wait { $0.showTimes.count == 1 ? () : nil }
            let begin = MonotonicClock.now
            stage.audio(captured: begin) { .packet($0) }
            stage.video(captured: begin)
            stage.video(captured: nil)
            let times = stage.output.state.wait { $0.showTimes.count == 3 ? $0.showTimes : nil }
            #expect(times[0] == nil && times[2] == nil)
            holds.append(try #require(times[1]) - begin)
            let size = stage.events.wait { events in
                events.lazy.compactMap { if case .firstFrame(let size) = $0 { size } else { nil } }.first
            }
            #expect(size == PixelSize(width: 32, height: 16))
        } while holds.count < 5 && holds.allSatisfy { $0 >= .milliseconds(300) }
        // A lag of 100 ms is not noticed.
        #expect(holds.allSatisfy { $0 >= .milliseconds(199) } && holds.contains { $0 < .milliseconds(300) })
    }

    /// The session at one server has handed the sink to that at another one.
    @Test func aFrameThatCannotBeDecodedIsTheMatterOfTheSessionThatSendsNow() throws {
        let stage = try Stage(Output())
        let requests = Monitor(0)
        try stage.sink.start(
            EncodedMediaFormat(video: .vp8, audio: [nil]), requestKeyframe: { _ in requests.change { $0 += 1 } })
        stage.video([0])
        requests.wait { $0 == 1 ? () : nil }
    }

    @Test func lostPacketsAreRestoredOrConcealed() throws {
        let stage = try Stage(Output())
        stage.audio { .packet($0) }
        stage.audio { .lostBefore($0) }
        stage.audio { _ in .lost }
        let samples = stage.output.state.wait { $0.samples.count == 3 ? $0.samples : nil }
        #expect(samples == [100, 300, 200])
        let statistics = stage.sink.takeStatistics()
        #expect(statistics.audioFramesPlayed == 3 && statistics.audioPeak == 300)
    }

    @Test func whileMutedNoDeviceIsOpened() throws {
        let stage = try Stage(Output())
        stage.sink.setMuted(true)
        stage.audio { .packet($0) }
        #expect(stage.speakers.with { $0 } == 0)
        stage.sink.setMuted(false)
        stage.audio { .packet($0) }
        stage.output.state.wait { $0.samples == [100] ? () : nil }
        #expect(stage.speakers.with { $0 } == 1)
    }

    @Test func aTrackWithoutADeviceIsReportedOnce() throws {
        let stage = try Stage(Output(), failure: SourceFailure(.noAudioServer, "No device.", remedy: "Plug one in."))
        stage.audio { .packet($0) }
        stage.audio { .packet($0) }
        #expect(stage.speakers.with { $0 } == 1)
        let warnings = stage.events.with { events in
            events.compactMap { event -> String? in
                guard case .notice(let notice) = event else { return nil }
                let text = notice.words.sentence
                return text
            }
        }
        #expect(warnings == ["no sound: No device. Plug one in."])
    }

    @Test func aClosedSinkHasReleasedItsDevice() async throws {
        let stage = try Stage(Output())
        stage.audio { .packet($0) }
        await withCheckedContinuation { continuation in stage.sink.close { continuation.resume() } }
        #expect(stage.output.state.with { $0.closings } == 1)
        await withCheckedContinuation { continuation in stage.sink.close { continuation.resume() } }
        #expect(stage.output.state.with { $0.closings } == 1)
    }

    /// Where video was negotiated, a frame is waited for.
    @Test func audioAloneIsNoticedOnce() {
        let start = MonotonicClock.now
        var alone = AudioAloneDetector()
        alone.hasVideo = false
        let first = [alone.notePacket(now: start), alone.notePacket(now: start + .seconds(9))]
        #expect(first == [true, false])
        var silent = AudioAloneDetector()
        let later = [0, 4_900, 5_000, 5_020].map { silent.notePacket(now: start + .milliseconds($0)) }
        #expect(later == [false, false, true, false])
        var shown = AudioAloneDetector()
        _ = shown.notePacket(now: start)
        shown.noteFrame()
        let never = shown.notePacket(now: start + .seconds(60))
        #expect(!never)
    }
}
