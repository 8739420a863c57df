public import ExtensionChannel
public import Host
import LinuxRuntime
public import MediaCore
public import PeerConnection
public import Signaling

/// A broadcast to the upload program of an extension, and to nobody else: the program runs beside this process and gets
/// the samples in shared memory.
///
/// Call `start` once; events follow until `.ended`. `stop` frees everything and may be called twice.
public final class ExtensionBroadcast: Sendable {
    public struct Configuration: Sendable {
        public var program: ExtensionProcess.Program
        /// The extension's name, for people.
        public var name: String
        public var start: ExtensionStart
        public var framesPerSecond = 60
        /// For programs that ask for encoded samples.
        public var maximumBitrate = Bitrate.kilobits(20_000)
        public var limits = ExtensionLifecycle.Limits()

        public init(program: ExtensionProcess.Program, name: String, start: ExtensionStart) {
            self.program = program
            self.name = name
            self.start = start
        }
    }

    struct State {
        /// Nil after the program has begun.
        var sources: SampleSources?
        var process: ExtensionProcess?
        var uploader: (any SampleUploader)?
        var holding = BroadcastHoldState()
        /// The reason of the end; nil before it.
        var reason: EndReason?
        var isStopping = false
        /// The number of viewers, as the program tells.
        var viewers: Int?
        /// The likes and the newest comment that the program has told.
        var info = ServiceInfo()
    }

    let configuration: Configuration
    let state: Monitor<State>
    let emit: @Sendable (BroadcastEvent) -> Void
    private let report: @Sendable (ServiceEvent) -> Void
    /// Settled with nil when the program takes samples.
    private let beginning = OneShot<EndReason?>()
    private let processEnd = OneShot<ExtensionEnd?>()
    /// Settled when the uploader has started its sources.
    private let captureStart = OneShot<Bool>()

    /// - Parameters:
    ///   - source: used by the video thread from now on.
    ///   - makeEncoder: for programs that ask for encoded samples.
    ///   - emit: called from any thread.
    ///   - report: called from any thread with what the program tells of the broadcast.
    public init(
        _ configuration: Configuration, source: sending any ScreenSource,
        makeEncoder: @escaping @Sendable () throws(CodecFailure) -> any VideoEncoder, audio: [AudioInput],
        emit: @escaping @Sendable (BroadcastEvent) -> Void, report: @escaping @Sendable (ServiceEvent) -> Void
    ) {
        self.configuration = configuration
        self.emit = emit
        self.report = report
        state = Monitor(State(sources: SampleSources(screen: source, makeEncoder: makeEncoder, audio: audio)))
    }

    deinit { state.with { $0.process }?.finish() }

    /// Starts the program. Capture starts when it has answered.
    /// - Throws: why the program takes nothing. Call `stop` afterwards.
    public func start() async throws(EndReason) {
        let name = configuration.name
        do throws(ExtensionFailure) {
            let process = try ExtensionProcess(configuration.program, limits: configuration.limits) {
                [weak self] event in self?.handle(event)
            }
            let reason = state.with { state -> EndReason? in
                if state.reason == nil, state.process == nil {
                    state.process = process
                    return nil
                }
                return state.reason ?? EndReason(.failed, "this broadcast was started before")
            }
            var start = configuration.start
            start.audio = state.with { $0.sources }?.audio.map {
                $0.kind == .microphoneAudio ? .microphone : .application
            }
            if reason == nil { try process.start(start) }
            if let reason { beginning.fulfil(reason) }
        } catch {
            state.with { $0.process = nil }
            beginning.fulfil(EndReason(.failed, "cannot start \(name): \(error.sentence)"))
        }
        if let reason = await beginning.value { throw reason }
    }

    /// Ends the program, frees everything, and emits `.ended`. Returns when the program's process has ended.
    public func stop(_ reason: EndReason) async {
        let (isFirst, process, uploader, sources) = state.with { state in
            defer {
                state.isStopping = true
                state.sources = nil
            }
            state.reason = state.reason ?? reason
            return (!state.isStopping, state.process, state.uploader, state.sources)
        }
        guard isFirst else { return }
        beginning.fulfil(reason)
        if let uploader {
            _ = await captureStart.value
            await uploader.stop()
        }
        sources?.screen.close()
        if let process {
            process.finish()
            _ = await processEnd.value
        }
        emit(.ended(state.with { $0.reason } ?? reason))
    }

    // MARK: The program

    private func handle(_ event: ExtensionProcess.Event) {
        switch event {
        case .began(let readiness): begin(readiness.media)
        case .message(.serviceInfo(let viewers, let likes, let name, let text)):
            let comment = name.flatMap { name in text.flatMap { BroadcastComment(from: name, $0) } }
            noteViewers(viewers.map { min(max($0, 0), ServiceEvent.countLimit) })
            let event = ServiceEvent.serviceInfo(ServiceInfo(viewers: viewers, likes: likes, comment: comment))
            if case .serviceInfo(let info) = event.checked { state.with { $0.info.take(info) } }
            pass(event)
        case .message(.broadcastURL(let url)): pass(.broadcastURL(url))
        case .message(.keyframe): state.with { $0.uploader }?.requestKeyframe()
        case .message(.bitrate(let bits)):
            state.with { $0.uploader }?.setBitrate(
                bits == 0
                    ? nil : min(max(Bitrate(bitsPerSecond: bits), .kilobits(50)), configuration.maximumBitrate))
        case .message: break
        case .ended(let end): self.end(end)
        }
    }

    /// Passes on what a service of the network might say, too.
    private func pass(_ event: ServiceEvent) {
        if let event = event.checked { report(event) }
    }

    private func begin(_ media: ExtensionReadiness.Media) {
        let failure: EndReason? = state.with { state in
            guard state.reason == nil, let process = state.process, let sources = state.sources else { return nil }
            state.sources = nil
            do throws(CodecFailure) {
                let uploader: any SampleUploader =
                    media == .encoded
                    ? try EncodedUploader(sources, process, configuration, fail: { [weak self] in self?.fail($0) })
                    : RawUploader(sources, process, configuration, fail: { [weak self] in self?.fail($0) })
                state.uploader = uploader
                return nil
            } catch {
                return EndReason(.failed, "the encoder cannot be started: \(error.message)")
            }
        }
        if failure == nil, let uploader = state.with({ $0.uploader }) {
            uploader.start(emit)
            captureStart.fulfil(true)
            let program = ViewerDescription(
                name: configuration.name, kind: "extension", address: configuration.program.path, words: "")
            emit(.connected(program, path: "shared memory"))
        }
        beginning.fulfil(failure)
        if let failure { fail(failure) }
    }

    private func end(_ end: ExtensionEnd) {
        let reason = end.reason(of: configuration.name)
        processEnd.fulfil(end)
        beginning.fulfil(reason)
        fail(reason)
    }

    private func fail(_ reason: EndReason) { Task { await self.stop(reason) } }
}

extension ExtensionFailure {
    var sentence: String { "the system has no thread, socket or memory left (error \(code))" }
}
