import BusSupport
import Foundation
import SessionBus
import TestSupport
import Testing

@testable import ShareKit

/// Starting and stopping the system broadcast, with a program in the place of `share` and the broadcast's object on a
/// bus of the test's own.
@Suite(.timeLimit(.minutes(2)))
struct SystemBroadcastPickerTests {
    private let folder: TemporaryFolder
    private let bus: TestBus

    init() throws {
        folder = try TemporaryFolder()
        bus = try TestBus()
    }

    /// - Parameter script: what `share` does, as a shell script; its arguments are in the file "arguments".
    private func picker(
        _ service: String? = nil, _ script: String,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> SystemBroadcastPicker {
        let path = folder.file("share")
        let text =
            "#!/bin/sh\necho \"$@\" > '\(folder.file("new"))'\nmv '\(folder.file("new"))' '\(folder.file("arguments"))'\n\(script)\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        return SystemBroadcastPicker(
            preferredExtension: service, program: path, monitor: SystemBroadcastMonitor(busAddress: bus.address),
            environment: environment)
    }

    private func object(
        _ handler: @escaping BroadcastObject.Handler = { _ in .done }
    ) throws -> BroadcastObject {
        var state = BroadcastObject.State()
        (state.isBroadcasting, state.isCaptured) = (true, true)
        return try BroadcastObject(address: bus.address, state, handler: handler)
    }

    @Test func aBroadcastIsStartedAndGoesOnWithoutTheApp() async throws {
        var described = try picker("com.example.conference", "exec sleep 60")
        described.sharesMicrophone = true
        let picker = described
        #expect(!picker.isBroadcasting)
        async let started: Void = picker.startBroadcast()
        #expect(folder.waitForFile("arguments", seconds: 20))
        let arguments = try String(contentsOfFile: folder.file("arguments"), encoding: .utf8)
        #expect(arguments == "host --preferred-extension com.example.conference --mic\n")
        let object = try object()
        try await started
        #expect(picker.isBroadcasting)
        await #expect(throws: SystemBroadcastPicker.alreadyBroadcasting) { try await picker.startBroadcast() }
        object.close()
    }

    @Test func theSourcesAreListedAndOneIsBroadcast() async throws {
        let display = try VirtualDisplay(width: 800, height: 600)
        var listing = try picker("com.example.conference", "exit 1", environment: ["DISPLAY": display.name])
        let pictures = folder.file("p q")
        let monitor = try #require(try await listing.sources(pictures: pictures).first)
        #expect(monitor.id == "monitor:1" && monitor.kind == .monitor && monitor.application == nil)
        #expect(monitor.width == 800 && monitor.height == 600)
        #expect(monitor.picture == pictures + "/monitor-1.png")
        #expect(try Data(contentsOf: URL(fileURLWithPath: pictures + "/monitor-1.png")).starts(with: [0x89, 0x50]))
        // No program was needed for that.
        #expect(!FileManager.default.fileExists(atPath: folder.file("arguments")))
        listing.source = monitor.id
        try? await listing.startBroadcast()
        let started = try String(contentsOfFile: folder.file("arguments"), encoding: .utf8)
        #expect(started == "host --preferred-extension com.example.conference --source=monitor:1\n")
    }

    @Test func aListThatFailsSaysWhy() async throws {
        let nowhere = try picker(nil, "exit 1", environment: [:])
        await #expect { try await nowhere.sources() } throws: {
            let error = $0 as? ShareKitError
            return error?.code == .sourceGone && error?.message.isEmpty == false && error?.remedy.isEmpty == false
        }
        let display = try VirtualDisplay(width: 64, height: 64)
        let shown = try picker(nil, "exit 1", environment: ["DISPLAY": display.name])
        await #expect(throws: ShareKitError(.failed, "the folder /dev/null/x cannot be made")) {
            try await shown.sources(pictures: "/dev/null/x")
        }
    }

    @Test(arguments: [
        (67, ShareKitError.Code.unknownService), (71, .busy), (75, .unanswered), (77, .refused), (78, .declined),
        (79, .alreadyBroadcasting), (1, .failed), (0, .failed),
    ])
    func whyItDoesNotBeginIsSaid(_ status: Int, _ code: ShareKitError.Code) async throws {
        let picker = try picker(
            nil, "echo 'share: asking' >&2\necho 'share: no luck' >&2\necho '       Try it' >&2\nexit \(status)")
        await #expect(throws: ShareKitError(code, "no luck", remedy: "Try it")) { try await picker.startBroadcast() }
        #expect(try String(contentsOfFile: folder.file("arguments"), encoding: .utf8) == "host --preferred-extension\n")
    }

    @Test func aProgramThatIsMissingOrSaysNothingIsAnError() async throws {
        var picker = try picker(nil, "kill -9 $$")
        await #expect(throws: ShareKitError(.failed, "share host has ended with 137")) {
            try await picker.startBroadcast()
        }
        picker.program = folder.file("nothing")
        await #expect { try await picker.startBroadcast() } throws: { ($0 as? ShareKitError)?.code == .noProgram }
        picker.preferredExtension = "--source=test"
        await #expect { try await picker.startBroadcast() } throws: { ($0 as? ShareKitError)?.code == .unknownService }
        let alone = SystemBroadcastPicker(
            preferredExtension: nil, program: "true", monitor: SystemBroadcastMonitor(busAddress: nil))
        await #expect { try await alone.startBroadcast() } throws: { ($0 as? ShareKitError)?.code == .noDesktop }
    }

    @Test func aCancelledStartEndsTheProgram() async throws {
        let ended = folder.file("ended")
        let picker = try picker(nil, "trap 'touch \(ended); exit 0' TERM\nwhile true; do sleep 0.05; done")
        let task = Task { try await picker.startBroadcast() }
        #expect(folder.waitForFile("arguments", seconds: 20))
        // The trap may not be set yet; without it the signal ends the program, too.
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? ShareKitError)?.code == .declined }
    }

    @Test func aBroadcastIsStoppedWhoeverHasStartedIt() async throws {
        let picker = try picker(nil, "exit 1")
        await #expect { try await picker.stopBroadcast() } throws: { ($0 as? ShareKitError)?.code == .notRunning }
        let (stops, feed) = AsyncStream.makeStream(of: BroadcastObject.Command.self)
        let object = try object { command in
            feed.yield(command)
            return .done
        }
        var changes = picker.changes.makeAsyncIterator()
        while await changes.next() != true {}
        async let stopped: Void = picker.stopBroadcast()
        var commands = stops.makeAsyncIterator()
        #expect(await commands.next() == .stop)
        object.close()
        try await stopped
        #expect(!picker.isBroadcasting)
    }
}
