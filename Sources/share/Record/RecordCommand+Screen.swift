import Admission
import ArgumentParser
import CommandSupport
import Host
import Identity
import LinuxRuntime
import MediaCore
import PeerConnection
import Recording
import ShareKit
import VPXCodec

/// What `share record --screen` records.
struct ScreenRecordingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("What to record, as for share host; the screen if omitted.", valueName: "source"),
        transform: HostCommand.captureSource)
    var source: CaptureSource?

    @Option(
        help: ArgumentHelp(
            "Audio to record: system, app:NAME or none; system if omitted.", valueName: "audio"))
    var audio: AudioChoice?

    @Option(
        defaultAsFlag: "",
        help: ArgumentHelp("Also record the microphone: the default one, or this source.", valueName: "source"))
    var mic: String? = nil

    @Option(help: ArgumentHelp("X display to record; $DISPLAY if omitted.", valueName: ":N"))
    var display: String?

    @Option(help: "Show the cursor: yes, no, or only while it moves and for two seconds afterwards.")
    var cursor: CursorChoice?

    @Option(help: ArgumentHelp("Maximum frame rate on average, in frames per second, to 2 %.", valueName: "max"))
    var fps: Int?

    @Option(help: ArgumentHelp("Count down this many seconds before anything is captured.", valueName: "seconds"))
    var countdown: Int?

    /// - Throws: if one is given without `--screen`.
    func refuse() throws {
        let given: [(Bool, String)] = [
            (source != nil, "--source"), (audio != nil, "--audio"), (mic != nil, "--mic"),
            (display != nil, "--display"),
            (cursor != nil, "--cursor"), (fps != nil, "--fps"), (countdown != nil, "--countdown"),
        ]
        if let (_, name) = given.first(where: \.0) { throw ValidationError("\(name) is for --screen.") }
    }

    /// The host that captures the same.
    fileprivate func host(json: Bool, duration: Timespan?) throws -> HostCommand {
        var host = try HostCommand.parse(["--accept", "any"])
        host.source = source
        host.audio = audio ?? .system
        host.mic = mic
        host.screen.display = display
        host.screen.cursor = cursor ?? .yes
        if let fps { host.screen.fps = fps }
        host.screen.countdown = countdown ?? 0
        host.json = json
        host.duration = duration
        try host.validate()
        return host
    }
}

/// A recording of the own screen.
extension RecordCommand {
    func recordScreen() throws {
        let host = try screenOptions.host(json: json, duration: duration)
        let output = DataOutput(isJSON: json)
        let ending = Monitor<EndReason?>(nil)
        Signals.handle { name in ending.change { $0 = $0 ?? EndReason(.stopped, "ended by \(name)") } }
        CutOffRecordings.report()
        try host.checkSystemBroadcast()
        var keep = try KeepOptions.parse([])
        keep.record = self.output ?? "."
        let files = Monitor<[RecordedFile]>([])
        let kept = try RecordingOutputs(
            keep, name: host.ownName, output, split: split?.split, onFile: { file in files.with { $0.append(file) } })
        let run = HostRun(output: output, ending: ending, kept: kept, camera: nil)
        defer { run.system.with { $0 }?.close() }
        try host.claimSystemBroadcast(run)
        let media = try host.makeMedia(run)
        let recording: ScreenRecording
        do throws(CodecFailure) {
            recording = try ScreenRecording(
                source: media.takeScreen(), encoder: VP8Encoder(), audio: media.audio, framesPerSecond: host.screen.fps,
                maximumBitrate: .kilobits(host.screen.bitrate), emit: { run.handle($0) })
        } catch {
            throw CommandError(sentence: "the encoder cannot be started: \(error.message)", status: .failed)
        }
        HostCommand.countDown(host.screen.countdown, until: ending, output)
        guard ending.with({ $0 }) == nil else { return try run.end(recording) }
        defer { if let file = files.with({ $0.last }) { RecordingNotifier.show(file) } }
        try host.serve(
            recording, id: .random(), media.summary, service: nil, Prompt(notify: { _ in }), run,
            announce: { recording.start() })
    }
}
