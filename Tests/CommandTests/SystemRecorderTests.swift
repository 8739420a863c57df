import Foundation
import TestSupport
import Testing

@testable import ShareKit

/// ShareKit's `SystemRecorder`, which runs `share record --screen`.
@Suite(.serialized, .timeLimit(.minutes(2)))
struct SystemRecorderTests {
    private let folder: TemporaryFolder
    private let display: VirtualDisplay

    init() throws {
        folder = try TemporaryFolder()
        display = try VirtualDisplay(width: 320, height: 240)
    }

    private func recorder(
        _ program: String? = nil, confirm: @escaping @Sendable (SystemRecorder.Request) async -> Bool = { _ in true }
    ) throws -> SystemRecorder {
        var environment = ProcessInfo.processInfo.environment.merging(folder.environment) { $1 }
        for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "WAYLAND_DISPLAY", "XDG_SESSION_TYPE"] {
            environment[name] = nil
        }
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = ""
        environment["DISPLAY"] = display.name
        return SystemRecorder(program: try program ?? Program.share(), environment: environment, confirm: confirm)
    }

    /// - Parameter text: of the shell script in the place of `share`.
    private func script(_ text: String) throws -> String {
        let path = folder.file("share-script")
        try "#!/bin/sh\n\(text)\n".write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return path
    }

    /// Waits until the program says that it records.
    private func waitForRecording() throws {
        let isRecording = try (0..<200).contains { _ in
            let status = try ShareProcess(["status"], in: folder)
            return status.exitCode() == 0 && status.lines.first?.contains("to a file") == true
        }
        #expect(isRecording)
    }

    @Test func theScreenIsRecordedByTheProgram() async throws {
        let recorder = try recorder { request in request == .init(source: "region:160x120+0+0", withMicrophone: false) }
        let file = folder.file("a.webm")
        #expect(!recorder.isRecording)
        try await recorder.startRecording(to: file, source: "region:160x120+0+0")
        #expect(recorder.isRecording)
        await #expect { try await recorder.startRecording() } throws: {
            ($0 as? ShareKitError)?.code == .alreadyStarted
        }
        try waitForRecording()
        let recording = try await recorder.stopRecording()
        #expect(!recorder.isRecording)
        #expect(recording.path == file && recording.byteCount > 0)
        let media = try MediaProbe(file)
        #expect(media.streams.first == "vp8")
        #expect(try media.decodingErrors() == "")
        await #expect { try await recorder.stopRecording() } throws: { ($0 as? ShareKitError)?.code == .notRunning }
    }

    /// `share stop`, or the tray.
    @Test func oneThatWasStoppedElsewhereIsThere() async throws {
        let recorder = try recorder()
        try await recorder.startRecording(to: folder.file("a.webm"))
        try waitForRecording()
        let stop = try ShareProcess(["stop"], in: folder)
        #expect(stop.exitCode() == 0)
        #expect(try await recorder.stopRecording().path == folder.file("a.webm"))
        // The next one, which is discarded.
        try await recorder.startRecording(to: folder.file("b.webm"))
        try waitForRecording()
        await recorder.discardRecording()
        #expect(!FileManager.default.fileExists(atPath: folder.file("b.webm")))
        #expect(FileManager.default.fileExists(atPath: folder.file("a.webm")))
    }

    @Test func theUserIsAskedEachTimeAndNothingStartsAfterARefusal() async throws {
        let recorder = try recorder(script("touch '\(folder.file("started"))'")) { _ in false }
        for _ in 0..<2 {
            await #expect { try await recorder.startRecording(withMicrophone: true) } throws: {
                ($0 as? ShareKitError)?.code == .declined
            }
        }
        #expect(!recorder.isRecording && !FileManager.default.fileExists(atPath: folder.file("started")))
    }

    @Test func optionsAreOneArgumentEach() async throws {
        let arguments = folder.file("arguments")
        let recorder = try recorder(
            script("for each; do echo \"$each\"; done > '\(arguments).new'; mv '\(arguments).new' '\(arguments)'"))
        try await recorder.startRecording(to: "--a b", source: "--for 1", withMicrophone: true)
        #expect(folder.waitForFile("arguments", seconds: 20))
        #expect(folder.lines("arguments") == ["record", "--screen", "--output=--a b", "--source=--for 1", "--mic"])
        await recorder.discardRecording()
    }

    @Test func whyThereIsNoneIsSaid() async throws {
        let busy = try recorder(
            script("echo 'share: the screen is being recorded already' >&2; echo '  share stop ends it.' >&2; exit 79"))
        try await busy.startRecording(to: folder.file("a.webm"))
        while busy.isRecording { await Task.yield() }
        await #expect {
            try await busy.stopRecording()
        } throws: {
            let error = $0 as? ShareKitError
            return error?.code == .alreadyBroadcasting && error?.remedy == "share stop ends it."
        }
        let missing = try recorder(folder.file("nothing"))
        await #expect { try await missing.startRecording(to: folder.file("a.webm")) } throws: {
            ($0 as? ShareKitError)?.code == .noProgram
        }
        // It may be tried again.
        await #expect { try await missing.startRecording(to: folder.file("a.webm")) } throws: {
            ($0 as? ShareKitError)?.code == .noProgram
        }
    }
}
