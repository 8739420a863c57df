import Foundation
import LinuxRuntime
import MediaCore
import TestSupport

@testable import ExtensionChannel

/// Starts the probe and records what it says, and what the process reports.
final class ProbeHost: Sendable {
    let process: ExtensionProcess
    let events = Monitor<[ExtensionProcess.Event]>([])
    let folder: TemporaryFolder
    private let end = Monitor<ExtensionEnd?>(nil)

    init(_ behaviour: String, isSetup: Bool = false, _ change: (inout ExtensionLifecycle.Limits) -> Void = { _ in })
        throws
    {
        folder = try TemporaryFolder()
        var limits = ExtensionLifecycle.Limits()
        limits.start = .seconds(10)
        change(&limits)
        let (events, end) = (events, end)
        process = try ExtensionProcess(
            .init(
                path: try Program.built("probe-extension"), arguments: [behaviour, folder.file("log")],
                isSetup: isSetup), limits: limits
        ) { event in
            events.change { $0.append(event) }
            if case .ended(let why) = event { end.change { $0 = why } }
        }
    }

    func start() throws {
        try process.start(
            ExtensionStart(
                application: .init(id: "com.example.app", name: "App"), setup: ["title": "T"],
                memoryBudget: 50_000_000))
    }

    /// Nil if it does not come within 20 s.
    func waitForEnd() async -> ExtensionEnd? {
        await onThread { [end] in end.wait(until: MonotonicClock.now + .seconds(20)) { $0 } }
    }

    func waitForBeginning() async -> Bool {
        await onThread { [events] in
            events.wait(until: MonotonicClock.now + .seconds(20)) { events in
                events.contains { if case .began = $0 { true } else { false } } ? true : nil
            } ?? false
        }
    }

    /// Waits for so many messages; fewer after 20 s.
    func waitForMessages(_ count: Int) async -> [ExtensionMessage] {
        await onThread { [events] in
            func messages(_ events: [ExtensionProcess.Event]) -> [ExtensionMessage] {
                events.compactMap { if case .message(let message) = $0 { message } else { nil } }
            }
            return events.wait(until: MonotonicClock.now + .seconds(20)) { events in
                messages(events).count >= count ? messages(events) : nil
            } ?? messages(events.with { $0 })
        }
    }

    /// False after 20 s.
    func waitForLine(_ line: String) async -> Bool { await folder.waitForLines("log") { $0.contains(line) } }

    var log: [String] { folder.lines("log") }

    /// The number in a line such as "process 12".
    func number(_ name: String) -> Int32? {
        log.first { $0.hasPrefix(name + " ") }.flatMap { Int32($0.dropFirst(name.count + 1)) }
    }

    @discardableResult
    func sendFrame(_ value: UInt8 = 7) -> Bool {
        process.send(
            .video, byteCount: 96, format: .i420(width: 8, height: 8, strideY: 8, strideC: 4), time: MonotonicClock.now
        ) { $0.initializeMemory(as: UInt8.self, repeating: value) }
    }

    @discardableResult
    func sendAudio() -> Bool {
        process.send(
            .audio, byteCount: 1_920, format: .pcm(track: .application, bytes: 1_920), time: MonotonicClock.now
        ) {
            $0.initializeMemory(as: UInt8.self, repeating: 1)
        }
    }
}

func onThread<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        _ = NamedThread("wait") { continuation.resume(returning: body()) }
    }
}

/// The open descriptors of this process that have to do with extensions.
func extensionDescriptors() -> [String] {
    let folder = "/proc/self/fd"
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: folder + "/" + $0)
    }.filter { $0.contains("memfd:share") || $0.contains("pidfd") }
}
