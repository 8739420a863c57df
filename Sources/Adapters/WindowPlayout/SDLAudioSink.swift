import CSDL
import LinuxRuntime
public import MediaCore

/// Plays audio through the sound server or device that SDL chooses. It lives until `close()`.
///
/// The device is open only while there is audio. It is closed after one second of silence, which ends SDL's thread with
/// its 100 wake-ups a second; the next sample opens it again. Opening is slow, so the thread `audio-out` does it.
public final class SDLAudioSink: AudioSink, @unchecked Sendable {
    // SAFETY: `device` and `thread` are set in `init`; after that `device` is touched by the thread `audio-out` alone
    // and `thread` by the first `close()`.
    private struct State: ~Copyable {
        /// Playback starts with two packets, so that one late packet is not audible.
        var ring = AudioRingBuffer(prefill: 2 * callbackFrames * AudioFormat.channels)
        var isOpen = false
        /// Whether there is nothing to close, as after a failed `init`.
        var isClosed = true
        /// Consecutive callbacks without samples.
        var silentCallbacks = 0

        var isSilent: Bool { silentCallbacks >= silentCallbacksBeforeClosing }
    }

    private let state = Monitor(State())
    private var device: SDL_AudioDeviceID = 0
    private var thread: NamedThread?

    private static let callbackFrames = AudioFormat.samplesPerChannelIn10ms
    private static let silentCallbacksBeforeClosing = 100

    /// - Throws: `.noAudioServer` if there is no audio output.
    public init() throws(SourceFailure) {
        guard SDLLibrary.open(UInt32(SDL_INIT_AUDIO)) else { throw Self.noAudioOutput() }
        guard openDevice() else {
            let failure = Self.noAudioOutput()
            SDLLibrary.close(UInt32(SDL_INIT_AUDIO))
            throw failure
        }
        state.with { $0.isClosed = false }
        do throws(NamedThread.Failure) {
            thread = try NamedThread.start("audio-out") { self.runDeviceLoop() }
        } catch {
            state.with { $0.isClosed = true }
            closeDevice()
            SDLLibrary.close(UInt32(SDL_INIT_AUDIO))
            throw SourceFailure(.unsupported, "No thread is left to play sound (error \(error.code)).")
        }
    }

    private static func noAudioOutput() -> SourceFailure {
        SourceFailure(
            .noAudioServer, "No sound can be played here: \(SDLLibrary.lastError).",
            remedy: "Start PulseAudio or PipeWire, or go on without sound.")
    }

    /// Appends interleaved samples. The oldest are dropped when more than 200 ms are queued. Never waits for the
    /// device.
    public func play(_ samples: UnsafeBufferPointer<Int16>) {
        let isAsleep = state.with { state in
            state.ring.append(samples)
            return !state.isOpen
        }
        // The thread of an open device has nothing to do.
        if isAsleep { state.change { _ in } }
    }

    /// The queued audio and two buffers of the device.
    public var latency: MediaDuration {
        let frames = state.with { $0.ring.count / AudioFormat.channels } + 2 * Self.callbackFrames
        return MediaDuration(nanoseconds: Int64(frames) * 1_000_000_000 / Int64(AudioFormat.sampleRate))
    }

    /// Samples that were dropped because the queue was full.
    public var droppedSamples: Int { state.with { $0.ring.dropped } }

    /// Whether the device is open; it is closed during silence.
    public var isDeviceOpen: Bool { state.with { $0.isOpen } }

    /// Stops playback before it returns. A second call does nothing.
    public func close() {
        let isFirst = state.change { $0.isClosed.setOnce() }
        guard isFirst else { return }
        thread?.join()
        SDLLibrary.close(UInt32(SDL_INIT_AUDIO))
    }

    /// The loop of the thread `audio-out`, which opens and closes the device. It is open at first.
    private func runDeviceLoop() {
        repeat {
            if state.with({ $0.isOpen }) || openDevice() {
                waitForSilence()
                closeDevice()
            } else {
                // There is no device: the queue is dropped, and later samples try again.
                _ = state.wait(until: MonotonicClock.now + .seconds(1)) { $0.isClosed ? () : nil }
                state.with { $0.ring.clear() }
            }
        } while waitForSamples()
    }

    /// Returns when the device is to be closed.
    private func waitForSilence() {
        repeat {
            let isOver = state.wait(until: MonotonicClock.now + .seconds(1)) { $0.isClosed || $0.isSilent ? true : nil }
            if isOver == true { return }
            // A removed device makes no more callbacks, so its status is polled once a second while it is open.
        } while SDL_GetAudioDeviceStatus(device) != SDL_AUDIO_STOPPED
    }

    /// - Returns: false if there will be none.
    private func waitForSamples() -> Bool {
        state.wait { state in
            if state.isClosed { return false }
            return state.ring.count > 0 ? true : nil
        }
    }

    private func openDevice() -> Bool {
        var wanted = SDL_AudioSpec()
        wanted.freq = Int32(AudioFormat.sampleRate)
        wanted.format = SDL_AudioFormat(AUDIO_S16LSB)
        wanted.channels = UInt8(AudioFormat.channels)
        wanted.samples = UInt16(Self.callbackFrames)
        wanted.userdata = Unmanaged.passUnretained(self).toOpaque()
        wanted.callback = { context, bytes, count in
            guard let context, let bytes else { return }
            Unmanaged<SDLAudioSink>.fromOpaque(context).takeUnretainedValue().fill(bytes, Int(count))
        }
        device = SDL_OpenAudioDevice(nil, 0, &wanted, nil, 0)
        guard device != 0 else { return false }
        state.with { state in
            state.isOpen = true
            state.silentCallbacks = 0
        }
        SDL_PauseAudioDevice(device, 0)
        return true
    }

    /// Not with the state held, as SDL waits for a running callback.
    private func closeDevice() {
        state.with { $0.isOpen = false }
        SDL_CloseAudioDevice(device)
    }

    /// Fills SDL's buffer; called on SDL's audio thread.
    private func fill(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) {
        let samples = UnsafeMutableRawPointer(bytes).assumingMemoryBound(to: Int16.self)
        let isOver = state.with { state in
            let taken = state.ring.take(UnsafeMutableBufferPointer(start: samples, count: count / 2))
            (samples + taken).update(repeating: 0, count: count / 2 - taken)
            state.silentCallbacks = taken > 0 ? 0 : state.silentCallbacks + 1
            return state.silentCallbacks == Self.silentCallbacksBeforeClosing
        }
        if isOver { state.change { _ in } }
    }
}
