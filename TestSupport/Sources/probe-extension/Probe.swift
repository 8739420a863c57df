import ExtensionChannel
import Foundation
import Glibc

/// The program of the tests of extensions, which behaves as its first argument says. It writes what it gets to the file
/// that its second argument names, a line each.
@main
struct Probe {
    private let behaviour: String
    private let log: FileHandle?
    private let host: ProgramConnection
    private var kept: [ReceivedSample] = []
    private var leaked: [UnsafeMutableRawPointer] = []
    private var samples = 0
    private var encodedFrames = 0

    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        let behaviour = arguments.first ?? "record"
        let log = arguments.dropFirst().first.flatMap { path -> FileHandle? in
            FileManager.default.createFile(atPath: path, contents: nil) ? FileHandle(forWritingAtPath: path) : nil
        }
        log?.write(Data("process \(getpid())\n".utf8))
        switch behaviour {
        case "exit-at-start": exit(3)
        case "crash-at-start": crash()
        case "ignore-everything": hang()
        default: break
        }
        guard let host = ProgramConnection.inherited() else {
            FileHandle.standardError.write(Data("probe-extension: no host has started it\n".utf8))
            exit(64)
        }
        var probe = Probe(behaviour: behaviour, log: log, host: host)
        if host.run({ probe.handle($0) }) == .lost { probe.note("lost") }
    }

    private init(behaviour: String, log: FileHandle?, host: ProgramConnection) {
        self.behaviour = behaviour
        self.log = log
        self.host = host
    }

    private func note(_ line: String) { log?.write(Data((line + "\n").utf8)) }

    private mutating func handle(_ event: ProgramConnection.Event) {
        switch event {
        case .started(let value):
            let setup = value.setup.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            note("started \(value.application.id) \(setup)")
            answer()
            begin()
        case .sample(let sample): take(sample)
        case .paused: note("paused")
        case .resumed: note("resumed")
        case .annotated(let application): note("annotated \(application.id)")
        case .finished:
            note("finished")
            if behaviour == "crash-at-finish" { Self.crash() }
            if behaviour == "hang-at-finish" { Self.hang() }
        }
    }

    private func answer() {
        switch behaviour {
        case "silent": break
        case "other-version": Self.write(frame: #"{"type":"ready","version":2,"media":"raw"}"#)
        case "encoded": host.send(.ready(ExtensionReadiness(media: .encoded)))
        case "setup", "cancel": host.send(.ready(ExtensionReadiness(media: .none)))
        default: host.send(.ready(ExtensionReadiness(media: .raw)))
        }
    }

    private func begin() {
        switch behaviour {
        case "setup": host.send(.setup(["title": "From the setup"]))
        case "cancel": host.send(.cancelled)
        case "fail": host.send(.failed(reason: "The account is closed.", nextStep: "Sign in again."))
        case "nonsense": Self.write(frame: #"{"type":"no such type"}"#)
        case "long-message": Self.write([0x7F, 0xFF, 0xFF, 0xFF])
        case "flood":
            for count in 0..<10_000 {
                host.send(.serviceInfo(viewers: count, likes: nil, commentName: nil, commentText: nil))
            }
        case "false-release": host.send(.release(memory: 1, slot: 2))
        case "feedback":
            host.send(.serviceInfo(viewers: 7, likes: 3, commentName: "Ada", commentText: "hello"))
            host.send(.broadcastURL("https://example.com/live"))
            host.send(.broadcastURL("javascript:alert(1)"))
        case "orphan", "orphan-session":
            if let child = Self.startChild(inSession: behaviour == "orphan-session") { note("child \(child)") }
            exit(0)
        default: break
        }
    }

    private mutating func take(_ sample: ReceivedSample) {
        samples += 1
        switch sample.description.format {
        case .i420(let width, let height, _, _):
            let isSeen = stride(from: 0, to: sample.bytes.count, by: 64).contains { sample.bytes[$0] != 0 }
            // The grey of a blanked broadcast.
            let isBlank = (0..<width).allSatisfy { sample.bytes[$0] == 52 }
            note("video \(width)x\(height) \(isBlank ? "blank" : isSeen ? "seen" : "empty")")
        case .vp8(let bytes, let isKeyframe, _, let width, let height):
            note("vp8 \(width)x\(height) \(isKeyframe ? "key" : "delta") \(bytes > 0)")
            encodedFrames += 1
            if encodedFrames == 5 { host.send(.keyframe) }
        case .pcm(let track, let bytes): note("pcm \(track) \(bytes)")
        case .opus(let track, _): note("opus \(track)")
        }
        switch behaviour {
        case "crash-at-sample": Self.crash()
        case "hang": Self.hang()
        case "keep": kept.append(sample)
        case "leak":
            let size = 4_000_000
            guard let memory = malloc(size) else { return }
            memset(memory, Int32(samples & 0xFF), size)
            leaked.append(memory)
        default: break
        }
    }

    // MARK: Bad behaviour

    private static func crash() -> Never {
        // Swift's runtime would write a backtrace.
        signal(SIGSEGV, SIG_DFL)
        raise(SIGSEGV)
        exit(1)
    }

    private static func hang() -> Never {
        signal(SIGTERM, SIG_IGN)
        while true { pause() }
    }

    private static func write(frame json: String) {
        let length = UInt32(json.utf8.count)
        write([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) } + Array(json.utf8))
    }

    /// Writes bytes to the host without the library.
    private static func write(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { Glibc.write(3, $0.baseAddress, $0.count) }
    }

    /// Starts a process that the program leaves behind.
    private static func startChild(inSession: Bool) -> pid_t? {
        var child: pid_t = 0
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        // POSIX_SPAWN_SETSID, which glibc declares for _GNU_SOURCE only.
        if inSession { posix_spawnattr_setflags(&attributes, 0x80) }
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("1000"), nil]
        return posix_spawnp(&child, "sleep", nil, &attributes, &arguments, environ) == 0 ? child : nil
    }
}
