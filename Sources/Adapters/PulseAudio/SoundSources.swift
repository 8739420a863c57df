import CPulse
public import MediaCore

/// What the sound server has that could be shared: applications that play, outputs, and microphones.
public struct SoundSources: Sendable, Equatable {
    /// An application with streams; those of viewers (`OwnPlayback`) are left out.
    public struct Application: Sendable, Equatable {
        /// For people: "Firefox".
        public var name: String
        /// The name of its executable; nil if the server does not know it.
        public var program: String?
        public var processID: Int?
        /// The titles of what it plays, in the server's order.
        public var titles: [String]
        /// False if all its streams are paused.
        public var isPlaying: Bool

        /// What ``ApplicationAudio`` takes.
        public var identifier: String { program ?? name }
    }

    /// An output or a microphone.
    public struct Device: Sendable, Equatable {
        /// The server's name of it, which ``Microphone`` takes.
        public var name: String
        /// For people.
        public var description: String
        public var isDefault: Bool
    }

    public var applications: [Application]
    public var outputs: [Device]
    public var microphones: [Device]

    /// Asks the server. Blocks for 5 s at most.
    /// - Parameter server: a PulseAudio server string; nil is the user's default (PULSE_SERVER).
    /// - Throws: `.noAudioServer`.
    public init(server: String? = nil) throws(SourceFailure) {
        self.init(try ServerInquiry().snapshot(of: server))
    }

    init(_ server: ServerSnapshot) {
        applications = []
        for playback in server.playbacks where !playback.isOwn {
            let process = playback.application.process.flatMap { Int($0) }
            let same = applications.firstIndex {
                $0.name == playback.application.title && $0.processID == process
            }
            let index = same ?? applications.count
            if same == nil {
                applications.append(
                    Application(
                        name: playback.application.title, program: playback.application.program, processID: process,
                        titles: [], isPlaying: false))
            }
            if let title = playback.title { applications[index].titles.append(title) }
            applications[index].isPlaying = applications[index].isPlaying || !playback.isCorked
        }
        outputs = server.sinks.map {
            Device(name: $0.name, description: $0.description, isDefault: $0.name == server.defaultSink)
        }
        microphones = server.microphones.map {
            Device(name: $0.name, description: $0.description, isDefault: $0.name == server.defaultSource)
        }
    }
}

/// One connection for one snapshot, on the calling thread.
private final class ServerInquiry {
    private var result: ServerSnapshot?

    /// Blocks for 5 s at most.
    func snapshot(of server: String?) throws(SourceFailure) -> ServerSnapshot {
        guard let loop = pa_mainloop_new() else { throw PulseCapture.noServer("out of memory") }
        defer { pa_mainloop_free(loop) }
        guard let context = pa_context_new(pa_mainloop_get_api(loop), "share") else {
            throw PulseCapture.noServer("out of memory")
        }
        defer {
            pa_context_disconnect(context)
            pa_context_unref(context)
        }
        let query = ServerQuery { self.result = $0 }
        defer { query.cancel() }
        let deadline = pa_rtclock_now() + 5_000_000
        var isAsked = false
        guard pa_context_connect(context, server, PA_CONTEXT_NOAUTOSPAWN, nil) >= 0 else {
            throw Self.failure(context)
        }
        while result == nil {
            let state = pa_context_get_state(context)
            if state == PA_CONTEXT_FAILED || state == PA_CONTEXT_TERMINATED { throw Self.failure(context) }
            if state == PA_CONTEXT_READY, !isAsked {
                isAsked = true
                query.run(context)
            }
            let now = pa_rtclock_now()
            guard now < deadline else { throw PulseCapture.noServer("it did not answer for 5 seconds") }
            // Microseconds.
            guard pa_mainloop_prepare(loop, Int32(deadline - now)) >= 0, pa_mainloop_poll(loop) >= 0,
                pa_mainloop_dispatch(loop) >= 0
            else { throw PulseCapture.noServer("the connection broke") }
        }
        return result ?? ServerSnapshot()
    }

    private static func failure(_ context: OpaquePointer) -> SourceFailure {
        PulseCapture.noServer(String(cString: pa_strerror(pa_context_errno(context))))
    }
}
