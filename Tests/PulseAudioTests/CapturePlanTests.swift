import MediaCore
import Testing

@testable import PulseAudio

struct CapturePlanTests {
    private func playback(
        _ index: UInt32, _ name: String, sink: UInt32 = 1, isCorked: Bool = false, title: String? = nil,
        isOwn: Bool = false
    ) -> ServerSnapshot.Playback {
        ServerSnapshot.Playback(
            index: index, sink: sink, isCorked: isCorked,
            application: ApplicationIdentity(
                name: name, program: name.lowercased(), identifier: "org.\(name)", process: "4\(index)"),
            title: title, isOwn: isOwn)
    }

    private func server(_ playbacks: [ServerSnapshot.Playback]) -> ServerSnapshot {
        ServerSnapshot(
            defaultSink: "screen", defaultSource: "mic",
            sinks: [
                .init(index: 1, name: "screen", description: "Screen", monitor: "screen.monitor"),
                .init(index: 2, name: "other", description: "Other", monitor: "other.monitor"),
            ],
            sources: [
                .init(name: "screen.monitor", description: "Monitor", isMonitor: true),
                .init(name: "mic", description: "Desk Microphone", isMonitor: false),
                .init(name: "mic2", description: "Headset", isMonitor: false),
            ],
            playbacks: playbacks)
    }

    // MARK: System audio

    @Test func theMonitorRecordsEverythingWhileNoViewerPlays() {
        let plan = CapturePlan(.systemAudio, server([playback(7, "Firefox"), playback(8, "mpv")]))
        #expect(plan.streams == [.init(origin: .init(source: "screen.monitor"), isPlaying: true)])
        #expect(plan.summary == "what plays on Screen")
    }

    @Test func theMonitorIsCorkedWhileNothingPlaysOnItsSink() {
        let plan = CapturePlan(
            .systemAudio, server([playback(7, "Firefox", isCorked: true), playback(8, "mpv", sink: 2)]))
        #expect(plan.streams == [.init(origin: .init(source: "screen.monitor"), isPlaying: false)])
    }

    @Test(arguments: [true, false])
    func aViewerIsLeftOut(isCorked: Bool) {
        let plan = CapturePlan(
            .systemAudio,
            server([playback(7, "Firefox"), playback(8, "share", isCorked: isCorked, isOwn: true)]))
        #expect(plan.streams == [.init(origin: .init(source: "screen.monitor", playback: 7), isPlaying: true)])
        #expect(CapturePlan(.systemAudio, server([playback(8, "share", isOwn: true)])).streams.isEmpty)
    }

    @Test func withoutASinkThereIsNothingToRecord() {
        var server = server([])
        server.sinks = []
        let plan = CapturePlan(.systemAudio, server)
        #expect(plan.streams.isEmpty && plan.failure == nil)
    }

    // MARK: One application

    @Test(arguments: ["Firefox", "FIREFOX", "org.firefox", "47", "fire song"])
    func anApplicationIsFoundByEachOfItsNames(_ name: String) {
        let plan = CapturePlan(
            .application(name), server([playback(7, "Firefox", title: "Fire Song"), playback(8, "mpv")]))
        #expect(plan.streams == [.init(origin: .init(source: "screen.monitor", playback: 7), isPlaying: true)])
        #expect(plan.summary == "what Firefox plays" && plan.notice == nil)
    }

    @Test func allStreamsOfAnApplicationAreRecordedOnEverySink() {
        let plan = CapturePlan(
            .application("mpv"),
            server([playback(7, "mpv", isCorked: true), playback(8, "mpv", sink: 2), playback(9, "Firefox")]))
        #expect(
            plan.streams == [
                .init(origin: .init(source: "other.monitor", playback: 8), isPlaying: true),
                .init(origin: .init(source: "screen.monitor", playback: 7), isPlaying: false),
            ])
    }

    @Test func wholeWordsAtTheBeginningOfANameAreEnough() {
        let application = ApplicationIdentity(name: "VLC media player", program: "vlc-bin")
        #expect(application.matches("vlc") && application.matches("VLC Media"))
        #expect(!application.matches("vl") && !application.matches("media player") && !application.matches(""))
    }

    @Test func anApplicationThatPlaysNothingIsExplained() {
        let plan = CapturePlan(
            .application("spotify"),
            server([playback(7, "mpv"), playback(8, "mpv"), playback(9, "share", isOwn: true)]))
        #expect(plan.streams.isEmpty && plan.failure == nil)
        #expect(
            plan.notice
                == "\"spotify\" plays nothing at present; its audio is shared as soon as it plays. These play now: mpv."
        )
        #expect(CapturePlan(.application("x"), server([])).notice?.hasSuffix("No application plays now.") == true)
    }

    @Test func aViewerIsNoApplication() {
        #expect(CapturePlan(.application("share"), server([playback(7, "share", isOwn: true)])).streams.isEmpty)
    }

    @Test func anApplicationWithHundredsOfStreamsIsLimited() {
        let many = (0..<300).map { playback(UInt32($0), "game", isCorked: $0 < 290) }
        let plan = CapturePlan(.application("game"), server(many))
        #expect(plan.streams.count == CapturePlan.maximumStreams)
        #expect(plan.streams.filter(\.isPlaying).count == 10)
    }

    // MARK: Microphones

    @Test func aMicrophoneIsFoundByNameOrDescription() {
        let server = server([])
        #expect(CapturePlan(.microphone(nil), server).streams.first?.origin.source == "mic")
        #expect(CapturePlan(.microphone("mic2"), server).streams.first?.origin.source == "mic2")
        #expect(CapturePlan(.microphone("HEADSET"), server).streams.first?.origin.source == "mic2")
        let failure = CapturePlan(.microphone("camera"), server).failure
        #expect(failure?.code == .noSuchDevice && failure?.remedy.contains("Desk Microphone") == true)
    }

    // MARK: The list

    @Test func theListHasApplicationsOutputsAndMicrophones() {
        let sources = SoundSources(
            server([
                playback(7, "Firefox", isCorked: true, title: "One"), playback(8, "share", isOwn: true),
            ]))
        #expect(sources.applications.map(\.name) == ["Firefox"])
        #expect(sources.applications.first?.titles == ["One"] && sources.applications.first?.isPlaying == false)
        #expect(sources.applications.first?.processID == 47 && sources.applications.first?.identifier == "firefox")
        #expect(sources.outputs.map(\.isDefault) == [true, false])
        #expect(sources.microphones.map(\.description) == ["Desk Microphone", "Headset"])
    }
}
