import Admission
import ExtensionChannel
import Foundation
import Host
import LinuxRuntime
import MediaCore
import OpusCodec
import PeerConnection
import Signaling
import TestSource
import TestSupport
import Testing
import VPXCodec

@testable import Extensions

/// Broadcasts of the test source to the probe.
@Suite(.serialized, .timeLimit(.minutes(1)))
struct ExtensionBroadcastTests {
    private final class Setting: Sendable {
        let folder: TemporaryFolder
        let broadcast: ExtensionBroadcast
        let ended = Monitor<EndReason?>(nil)
        let reports = Monitor<[ServiceEvent]>([])

        convenience init(_ behaviour: String, framesPerSecond: Int = 30) throws {
            try self.init(
                behaviour,
                screen: TestVideoSource(size: PixelSize(width: 640, height: 480), framesPerSecond: framesPerSecond),
                .applicationAudio, TestTone())
        }

        init(
            _ behaviour: String, screen: sending any ScreenSource, _ kind: MediaTrackKind, _ audio: any AudioSource
        ) throws {
            folder = try TemporaryFolder()
            let (ended, reports) = (ended, reports)
            let tone = AudioInput(kind: kind, source: audio, hasSilenceSuppression: false) {
                () throws(CodecFailure) in try OpusFrameEncoder(.systemAudio)
            }
            broadcast = ExtensionBroadcast(
                .init(
                    program: .init(
                        path: try Program.built("probe-extension"), arguments: [behaviour, folder.file("log")]),
                    name: "Probe",
                    start: ExtensionStart(
                        application: .init(id: "com.example.app", name: "App"), setup: [:], memoryBudget: 50_000_000)),
                source: screen, makeEncoder: { VP8Encoder() }, audio: [tone],
                emit: { event in
                    if case .ended(let reason) = event { ended.change { $0 = reason } }
                }, report: { event in reports.change { $0.append(event) } })
        }

        var log: [String] { folder.lines("log") }

        /// Waits until the log says so; false after 20 s.
        func waitUntil(_ condition: @escaping @Sendable ([String]) -> Bool) async -> Bool {
            await folder.waitForLines("log", condition)
        }

        /// Nil after 20 s.
        func waitForEnd() async -> EndReason? {
            await withCheckedContinuation { continuation in
                _ = NamedThread("wait") { [ended] in
                    continuation.resume(returning: ended.wait(until: MonotonicClock.now + .seconds(20)) { $0 })
                }
            }
        }
    }

    private static func count(_ log: [String], _ beginning: String) -> Int {
        log.filter { $0.hasPrefix(beginning) }.count
    }

    @Test func framesAndAudioReachTheProgramUntilTheEnd() async throws {
        let setting = try Setting("record")
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { Self.count($0, "video 640x480 seen") > 10 })
        #expect(await setting.waitUntil { Self.count($0, "pcm application") > 20 })
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
        #expect(setting.ended.with { $0?.sentence } == "enough")
        #expect(setting.log.last == "finished")
    }

    @Test func aPauseIsToldAndSendsNothing() async throws {
        let setting = try Setting("record")
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { Self.count($0, "video") > 3 })
        #expect(await setting.broadcast.pause())
        #expect(await !setting.broadcast.pause())
        #expect(await setting.waitUntil { $0.contains("paused") })
        // A sample that was under way may follow.
        let before = setting.log.count
        #expect(await setting.broadcast.resume())
        #expect(await setting.waitUntil { Self.count($0, "resumed") == 1 && $0.last?.hasPrefix("video") == true })
        let log = setting.log
        let between = log[..<(log.firstIndex(of: "resumed") ?? 0)].count
        #expect(between - before < 4)
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
    }

    @Test func aStillPictureComesOnce() async throws {
        let setting = try Setting("record", framesPerSecond: 0)
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { Self.count($0, "pcm") > 50 })
        #expect(Self.count(setting.log, "video") == 1)
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
    }

    /// The program gets a blank frame, and then the screen's again, although that has not changed.
    @Test(arguments: ["record", "encoded"]) func aStillPictureIsBlankedAndShownAgain(_ behaviour: String) async throws {
        let setting = try Setting(behaviour, framesPerSecond: 0)
        @Sendable func frames(_ log: [String]) -> Int { log.count { $0.hasPrefix("v") } }
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { frames($0) > 0 && Self.count($0, "pcm") + Self.count($0, "opus") > 3 })
        let shown = frames(setting.log)
        #expect(await setting.broadcast.set(.blank, true))
        #expect(await setting.waitUntil { frames($0) > shown })
        #expect(await setting.broadcast.holds() == [.blank])
        #expect(await setting.broadcast.pause())
        #expect(await setting.broadcast.resume())
        #expect(!setting.log.contains("paused"))
        let blank = frames(setting.log)
        #expect(await setting.broadcast.set(.blank, false))
        #expect(await setting.waitUntil { frames($0) > blank })
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
    }

    /// A frame that was read just before the screen was blanked goes to nobody.
    @Test(arguments: ["record", "encoded"])
    func aFrameInWorkWhenTheScreenIsBlankedIsNotPassedOn(_ behaviour: String) async throws {
        let screen = GatedScreen()
        let setting = try Setting(behaviour, screen: screen, .applicationAudio, TestTone())
        @Sendable func frames(_ log: [String]) -> [String] { log.filter { $0.hasPrefix("v") } }
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { !frames($0).isEmpty })
        screen.gate()
        #expect(await screen.isReading())
        // What was sent before is in the log.
        await setting.broadcast.annotate(ApplicationInfo(id: "com.example.mark", name: "Mark"))
        #expect(await setting.waitUntil { $0.contains("annotated com.example.mark") })
        let count = frames(setting.log).count
        #expect(await setting.broadcast.set(.blank, true))
        screen.open()
        #expect(await setting.waitUntil { frames($0).count > count })
        #expect(frames(setting.log)[count] == (behaviour == "record" ? "video 64x64 blank" : "vp8 64x64 key true"))
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
    }

    /// A program that has all slots takes no blank frame, and keeps it from nobody else.
    @Test func aRecorderGetsTheBlankFrameThatTheProgramDoesNotTake() async throws {
        let setting = try Setting("keep")
        try await setting.broadcast.start()
        let sink = CountingSink()
        try await setting.broadcast.add(sink, demandsMedia: true, records: true)
        #expect(await sink.waitUntil { !$0.sizes.isEmpty })
        while await setting.broadcast.statistics()?.video.skipped == 0 { try await Task.sleep(for: .milliseconds(5)) }
        let keyframes = sink.state.with { $0.sizes.count }
        #expect(await setting.broadcast.set(.blank, true))
        #expect(await sink.waitUntil { $0.sizes.count > keyframes })
        // One who comes now gets it, too.
        let late = CountingSink()
        try await setting.broadcast.add(late, demandsMedia: true, records: true)
        #expect(await late.waitUntil { !$0.sizes.isEmpty })
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
    }

    @Test(arguments: ["record", "encoded"])
    func theMicrophoneIsClosedWhileItIsHeldBack(_ behaviour: String) async throws {
        let microphone = SilentMicrophone()
        let setting = try Setting(behaviour, screen: GatedScreen(), .microphoneAudio, microphone)
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { log in log.contains { $0.hasPrefix("v") } })
        for hold in [BroadcastHold.freeze, .pause, .blank] {
            #expect(await setting.broadcast.set(hold, true))
            #expect(microphone.isHeld.with { $0 } == hold.includesAudio)
        }
        #expect(await setting.broadcast.set(.blank, false))
        #expect(microphone.isHeld.with { $0 })
        #expect(await setting.broadcast.set(.pause, false))
        #expect(!microphone.isHeld.with { $0 })
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
    }

    @Test func encodedSamplesBeginWithAKeyframeAndAnotherComesWhenItIsAskedFor() async throws {
        let setting = try Setting("encoded")
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { Self.count($0, "vp8 640x480 key") > 1 })
        #expect(await setting.waitUntil { Self.count($0, "opus application") > 3 })
        let video = setting.log.filter { $0.hasPrefix("vp8") }
        #expect(video.first == "vp8 640x480 key true")
        #expect(video.contains("vp8 640x480 delta true"))
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
    }

    /// Counts what it gets.
    private final class CountingSink: EncodedMediaSink {
        struct State {
            var sizes: [PixelSize] = []
            var frames = 0
            var packets = 0
            var closings = 0
        }
        let state = Monitor(State())

        func start(_ format: EncodedMediaFormat, requestKeyframe: @escaping @Sendable (KeyframeRequest) -> Void) {}

        func receive(_ frame: EncodedVideoFrame) {
            state.change { state in
                state.frames += 1
                if let size = frame.size { state.sizes.append(size) }
            }
        }

        func receive(_ packet: EncodedAudioPacket) { state.change { $0.packets += 1 } }

        func close(_ done: @escaping @Sendable () -> Void) {
            state.change { $0.closings += 1 }
            done()
        }

        /// False after 20 s.
        func waitUntil(_ condition: @escaping @Sendable (State) -> Bool) async -> Bool {
            await withCheckedContinuation { continuation in
                _ = NamedThread("wait") { [state] in
                    continuation.resume(
                        returning: state.wait(until: MonotonicClock.now + .seconds(20)) { condition($0) ? true : nil }
                            ?? false)
                }
            }
        }
    }

    /// Whatever the program takes, a recorder gets encoded media, and ends with the broadcast.
    @Test(arguments: ["record", "encoded"])
    func aBroadcastToAProgramIsRecordedAsWell(_ behaviour: String) async throws {
        let setting = try Setting(behaviour)
        try await setting.broadcast.start()
        let sink = CountingSink()
        let other = CountingSink()
        try await setting.broadcast.add(sink, demandsMedia: true, records: true)
        try await setting.broadcast.add(other, demandsMedia: true, records: false)
        #expect(await sink.waitUntil { $0.frames > 10 && $0.packets > 10 })
        #expect(await other.waitUntil { $0.frames > 10 && $0.packets > 10 })
        #expect(sink.state.with { $0.sizes.first } == PixelSize(width: 640, height: 480))
        await setting.broadcast.remove(other)
        #expect(other.state.with { $0.closings } == 1)
        #expect(await setting.broadcast.pause())
        #expect(await setting.broadcast.resume())
        let before = sink.state.with { $0.frames }
        #expect(await sink.waitUntil { $0.frames > before + 5 })
        // The program gets what it got without a recorder.
        let samples = setting.log.count
        #expect(await setting.waitUntil { $0.count > samples + 10 })
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
        #expect(sink.state.with { $0.closings } == 1)
        let late = CountingSink()
        try await setting.broadcast.add(late, demandsMedia: true, records: true)
        #expect(late.state.with { $0.closings } == 1)
    }

    @Test(arguments: ["record", "encoded"])
    func aRecorderThatJoinsAStillPictureGetsIt(_ behaviour: String) async throws {
        let setting = try Setting(behaviour, framesPerSecond: 0)
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { log in log.contains { $0.hasPrefix("v") } })
        let first = CountingSink()
        try await setting.broadcast.add(first, demandsMedia: true, records: true)
        #expect(await first.waitUntil { !$0.sizes.isEmpty })
        // The encoder ends with its last sink, and another one begins anew.
        await setting.broadcast.remove(first)
        let second = CountingSink()
        try await setting.broadcast.add(second, demandsMedia: true, records: true)
        #expect(await second.waitUntil { !$0.sizes.isEmpty })
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
        #expect(second.state.with { $0.closings } == 1)
    }

    @Test func feedbackIsCleanedAndPassedOn() async throws {
        let setting = try Setting("feedback")
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { Self.count($0, "video") > 3 })
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
        let info = ServiceInfo(viewers: 7, likes: 3, comment: BroadcastComment(from: "Ada", "hello"))
        #expect(
            setting.reports.with { $0 } == [.serviceInfo(info), .broadcastURL("https://example.com/live")])
    }

    /// `broadcastAnnotated` of the program, at the start and on each change.
    @Test func theApplicationInFrontIsToldToTheProgram() async throws {
        let setting = try Setting("record")
        try await setting.broadcast.start()
        #expect(await setting.waitUntil { Self.count($0, "video") > 3 })
        for name in ["Editor", "Navigator", "Editor"] {
            await setting.broadcast.annotate(ApplicationInfo(id: "com.example.\(name)", name: name))
        }
        #expect(await setting.waitUntil { Self.count($0, "annotated") == 3 })
        #expect(
            setting.log.filter { $0.hasPrefix("annotated") } == [
                "annotated com.example.Editor", "annotated com.example.Navigator", "annotated com.example.Editor",
            ])
        await setting.broadcast.stop(EndReason(.stopped, "enough"))
        // There is nobody to tell any more.
        await setting.broadcast.annotate(ApplicationInfo(id: "com.example.late", name: "Late"))
        #expect(!setting.log.contains("annotated com.example.late"))
    }

    @Test func theProgramsReasonIsTheUsers() async throws {
        let setting = try Setting("fail")
        try await setting.broadcast.start()
        let reason = await setting.waitForEnd()
        #expect(reason?.code == .serviceEnded)
        #expect(reason?.sentence.contains("The account is closed.") == true)
        #expect(reason?.remedy == "Sign in again.")
    }

    @Test(arguments: ["exit-at-start", "crash-at-start", "other-version"])
    func aProgramThatDoesNotStartFailsTheStart(_ behaviour: String) async throws {
        let setting = try Setting(behaviour)
        let error = await #expect(throws: EndReason.self) { try await setting.broadcast.start() }
        #expect(error?.sentence.contains("Probe") == true)
        await setting.broadcast.stop(EndReason(.failed, "over"))
    }

    @Test func aCrashInTheMiddleEndsTheBroadcastOnly() async throws {
        let setting = try Setting("crash-at-sample")
        try await setting.broadcast.start()
        let reason = await setting.waitForEnd()
        #expect(reason?.sentence.contains("crashed") == true)
        #expect(await !setting.broadcast.pause())
    }

    @Test func aSetupProgramGivesItsValuesOrNothing() async throws {
        let start = ExtensionStart(application: .init(id: "a", name: "a"), setup: [:], memoryBudget: 50_000_000)
        let path = try Program.built("probe-extension")
        let values = try await ExtensionSetup.run(
            .init(path: path, arguments: ["setup"], isSetup: true), name: "Probe", start: start)
        #expect(values == ["title": "From the setup"])
        let nothing = try await ExtensionSetup.run(
            .init(path: path, arguments: ["cancel"], isSetup: true), name: "Probe", start: start)
        #expect(nothing == nil)
        await #expect(throws: EndReason.self) {
            try await ExtensionSetup.run(
                .init(path: path, arguments: ["crash-at-start"], isSetup: true), name: "Probe", start: start)
        }
    }
}
