import Foundation
import LinuxRuntime
import MediaCore
import TestSupport
import Testing

@testable import ShareKit

/// The trigger of clips, with a program in the place of `share`, which reads the controllers.
@Suite(.timeLimit(.minutes(1)))
struct ControllerTriggerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// - Parameter text: of the shell script in the place of `share`.
    private func trigger(
        _ text: String, onPress: @escaping @Sendable () async -> Void = {}
    ) throws -> ControllerTrigger {
        let path = folder.file("share")
        try "#!/bin/sh\n\(text)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return ControllerTrigger(
            program: path, environment: ProcessInfo.processInfo.environment, onPress: onPress)
    }

    /// Waits 20 s at most, on a thread of its own.
    private func wait(_ presses: Monitor<Int>, until count: Int) async -> Bool {
        await withCheckedContinuation { continuation in
            _ = NamedThread("wait") {
                continuation.resume(
                    returning: presses.wait(until: MonotonicClock.now + .seconds(20)) { $0 >= count ? () : nil } != nil)
            }
        }
    }

    @Test func eachPressCallsTheAppUntilTheEnd() async throws {
        let presses = Monitor(0)
        // A press for each line of the pipe.
        let pipe = folder.file("pipe")
        #expect(try Program("mkfifo", [pipe]).exitCode(seconds: 30) == 0)
        let trigger = try trigger(
            "echo \"$1\" > '\(folder.file("argument"))'; echo ready; exec 3<>'\(pipe)'; cat <&3 & cat > /dev/null; kill $!; touch '\(folder.file("ended"))'"
        ) { presses.change { $0 += 1 } }
        #expect(!trigger.isRunning)
        try await trigger.start()
        #expect(trigger.isRunning && folder.lines("argument") == ["controller"])
        await #expect { try await trigger.start() } throws: { ($0 as? ShareKitError)?.code == .alreadyStarted }
        let writer = try #require(FileHandle(forWritingAtPath: pipe))
        for count in 1...3 {
            try writer.write(contentsOf: Data("nonsense\npressed\n".utf8))
            #expect(await wait(presses, until: count))
            #expect(eventually { !trigger.isPressing })
        }
        trigger.stop()
        #expect(!trigger.isRunning && folder.waitForFile("ended", seconds: 20))
        trigger.stop()
        #expect(presses.with { $0 } == 3)
    }

    /// One that is pressed while a clip is saved would save nearly the same.
    @Test func pressesWhileTheAppIsBusyAreIgnored() async throws {
        let (presses, isOver) = (Monitor(0), Monitor(false))
        // What follows does not fit into the pipe, so that the presses were read when the file is there.
        let trigger = try trigger(
            "printf 'ready\\npressed\\npressed\\npressed\\n'; yes nonsense | head -c 300000; touch '\(folder.file("read"))'; cat > /dev/null"
        ) {
            presses.change { $0 += 1 }
            await withCheckedContinuation { continuation in
                _ = NamedThread("busy") {
                    isOver.wait { $0 ? () : nil }
                    continuation.resume()
                }
            }
        }
        try await trigger.start()
        #expect(await wait(presses, until: 1))
        #expect(folder.waitForFile("read", seconds: 20))
        isOver.change { $0 = true }
        trigger.stop()
        #expect(presses.with { $0 } == 1)
    }

    @Test func aProgramThatEndsOrIsMissingIsSaid() async throws {
        let failing = try trigger("echo 'share: controllers cannot be read: no memory' >&2; exit 70")
        await #expect { try await failing.start() } throws: {
            let error = $0 as? ShareKitError
            return error?.code == .failed && error?.message.contains("no memory") == true
        }
        #expect(!failing.isRunning)
        let missing = ControllerTrigger(
            program: folder.file("nothing"), environment: ProcessInfo.processInfo.environment, onPress: {})
        await #expect { try await missing.start() } throws: { ($0 as? ShareKitError)?.code == .noProgram }
        // One that ends later can be started again.
        let ending = try trigger("echo ready")
        try await ending.start()
        while ending.isRunning { await Task.yield() }
        try await ending.start()
    }
}
