import Foundation
import Glibc
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import ExtensionChannel

/// Programs that behave well, and programs that do not. Each ends with a reason, and leaves nothing behind.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct ExtensionProcessTests {
    private func isGone(_ process: Int32?) -> Bool {
        guard let process else { return false }
        return kill(process, 0) != 0 && errno == ESRCH
    }

    @Test func samplesReachTheProgramAndSlotsComeBack() async throws {
        let host = try ProbeHost("record")
        try host.start()
        #expect(await host.waitForBeginning())
        for count in 1...20 {
            #expect(host.sendAudio())
            #expect(host.sendFrame())
            #expect(await host.folder.waitForLines("log") { $0.filter { $0.hasPrefix("video") }.count == count })
        }
        host.process.send(.paused)
        host.process.send(.resumed)
        host.process.send(.annotated(.init(id: "com.example.other", name: "Other")))
        #expect(await host.waitForLine("annotated com.example.other"))
        host.process.finish()
        #expect(await host.waitForEnd() == .finished)
        #expect(host.log.contains(#"started com.example.app ["title=T"]"#))
        #expect(host.log.filter { $0 == "video 8x8 seen" }.count == 20)
        #expect(host.log.filter { $0 == "pcm application 1920" }.count == 20)
        #expect(host.log.suffix(4) == ["paused", "resumed", "annotated com.example.other", "finished"])
        #expect(isGone(host.number("process")))
        #expect(!host.sendFrame())
    }

    @Test func aLargerFrameGetsLargerMemory() async throws {
        let host = try ProbeHost("record")
        try host.start()
        #expect(await host.waitForBeginning())
        #expect(host.sendFrame())
        let size = 640 * 480
        let isTaken = host.process.send(
            .video, byteCount: size * 3 / 2, format: .i420(width: 640, height: 480, strideY: 640, strideC: 320),
            time: MonotonicClock.now
        ) { $0.initializeMemory(as: UInt8.self, repeating: 9) }
        #expect(isTaken)
        #expect(await host.waitForLine("video 640x480 seen"))
        host.process.finish()
        #expect(await host.waitForEnd() == .finished)
    }

    @Test(arguments: [
        ("exit-at-start", ExtensionEnd.exited(code: 3)), ("crash-at-start", .crashed(signal: SIGSEGV)),
        ("other-version", .otherVersion(2)), ("nonsense", .malformed), ("long-message", .malformed),
        ("false-release", .malformed), ("flood", .flooding),
        ("fail", .reported(reason: "The account is closed.", nextStep: "Sign in again.")),
    ])
    func aBadProgramEndsWithAReason(_ behaviour: String, _ end: ExtensionEnd) async throws {
        let host = try ProbeHost(behaviour)
        try host.start()
        #expect(await host.waitForEnd() == end)
        #expect(isGone(host.number("process")))
    }

    @Test func oneThatAnswersNothingIsEnded() async throws {
        for behaviour in ["silent", "ignore-everything"] {
            let host = try ProbeHost(behaviour) {
                $0.start = .seconds(1)
                $0.termination = .milliseconds(200)
            }
            try host.start()
            #expect(await host.waitForEnd() == .noAnswer)
            #expect(isGone(host.number("process")))
        }
    }

    @Test func oneThatCrashesAtASampleOrAtItsEndIsReaped() async throws {
        let first = try ProbeHost("crash-at-sample")
        try first.start()
        #expect(await first.waitForBeginning())
        first.sendFrame()
        #expect(await first.waitForEnd() == .crashed(signal: SIGSEGV))

        let second = try ProbeHost("crash-at-finish")
        try second.start()
        #expect(await second.waitForBeginning())
        second.process.finish()
        // It was to end anyway.
        #expect(await second.waitForEnd() == .finished)
        #expect(isGone(second.number("process")))
    }

    @Test func oneThatHangsLosesFramesButNoAudioAndIsEnded() async throws {
        let host = try ProbeHost("hang") {
            $0.stall = .seconds(1)
            $0.termination = .milliseconds(200)
        }
        try host.start()
        #expect(await host.waitForBeginning())
        let frames = (0..<10).filter { _ in host.sendFrame() }.count
        #expect(frames == 4)
        let audio = (0..<200).filter { _ in host.sendAudio() }.count
        #expect(audio == 200)
        #expect(await host.waitForEnd() == .unresponsive)
        #expect(isGone(host.number("process")))
    }

    @Test func oneThatKeepsAllSlotsIsEnded() async throws {
        let host = try ProbeHost("keep") { $0.stall = .milliseconds(600) }
        try host.start()
        #expect(await host.waitForBeginning())
        for _ in 0..<4 { #expect(host.sendFrame()) }
        #expect(await host.waitForEnd() == .unresponsive)
    }

    @Test func oneThatHangsAtItsEndIsKilled() async throws {
        let host = try ProbeHost("hang-at-finish") {
            $0.finish = .milliseconds(300)
            $0.termination = .milliseconds(200)
        }
        try host.start()
        #expect(await host.waitForBeginning())
        host.process.finish()
        #expect(await host.waitForEnd() == .finished)
        #expect(isGone(host.number("process")))
    }

    @Test func oneThatLeaksIsEnded() async throws {
        let host = try ProbeHost("leak")
        try host.start()
        #expect(await host.waitForBeginning())
        let feeding = Task { [host] in
            while !Task.isCancelled {
                host.sendFrame()
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        defer { feeding.cancel() }
        guard case .overMemoryBudget(let used, let budget)? = await host.waitForEnd() else {
            Issue.record("it was not ended for its memory")
            return
        }
        #expect(used > budget && budget == 50_000_000)
    }

    /// In its process group, and in a session of its own.
    @Test(arguments: ["orphan", "orphan-session"])
    func whatItLeavesBehindIsEnded(_ behaviour: String) async throws {
        let host = try ProbeHost(behaviour)
        try host.start()
        _ = await host.waitForEnd()
        let child = try #require(host.number("child"))
        // Until the process that adopts orphans has reaped it, it is a zombie. Nothing tells of the end of a process
        // that is not one's own child, so it is looked at.
        let isOver = await onThread {
            let deadline = MonotonicClock.now + .seconds(20)
            while MonotonicClock.now < deadline {
                let state = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
                if state?.contains(") Z") ?? true { return true }
                poll(nil, 0, 5)
            }
            return false
        }
        #expect(isOver)
    }

    @Test func aProgramThatCannotBeStartedSaysSo() async throws {
        let end = Monitor<ExtensionEnd?>(nil)
        let process = try ExtensionProcess(.init(path: "/nonexistent/program")) { event in
            if case .ended(let why) = event { end.change { $0 = why } }
        }
        try process.start(ExtensionStart(application: .init(id: "a", name: "a"), setup: [:], memoryBudget: 1))
        let why = await onThread { end.wait(until: MonotonicClock.now + .seconds(20)) { $0 } }
        #expect(why == .notStarted(ENOENT))
    }

    @Test func nothingStaysOpen() async throws {
        for behaviour in ["record", "crash-at-sample", "nonsense"] {
            let host = try ProbeHost(behaviour)
            try host.start()
            _ = await host.waitForBeginning()
            host.sendFrame()
            host.sendAudio()
            host.process.finish()
            _ = await host.waitForEnd()
        }
        #expect(extensionDescriptors() == [])
    }

    @Test func feedbackIsPassedOn() async throws {
        let host = try ProbeHost("feedback")
        try host.start()
        let messages = await host.waitForMessages(2)
        #expect(
            messages.first == .serviceInfo(viewers: 7, likes: 3, commentName: "Ada", commentText: "hello"))
        #expect(messages.dropFirst().first == .broadcastURL("https://example.com/live"))
        host.process.finish()
        #expect(await host.waitForEnd() == .finished)
    }

    @Test func aSetupProgramAnswersOrCancels() async throws {
        let first = try ProbeHost("setup", isSetup: true)
        try first.start()
        #expect(await first.waitForEnd() == .finished)
        let second = try ProbeHost("cancel", isSetup: true)
        try second.start()
        #expect(await second.waitForEnd() == .cancelled)
    }
}
