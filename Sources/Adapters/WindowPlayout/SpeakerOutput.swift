import CSDL
import Glibc
public import MediaCore

/// Plays audio through the sound server or device that SDL chooses.
///
/// The device is open only while there is audio. It is closed after one second of silence, which ends SDL's thread with
/// its 100 wake-ups a second; the next sample opens it again. Opening is slow, so the thread `audio-out` does it.
public final class SpeakerOutput: AudioSink, @unchecked Sendable {
    // SAFETY: all stored properties but the lock and the signal are touched only while `lock` is held; `device` only by the
    // thread `audio-out` once `init` is over.
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let signal = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Playback starts with two packets, so that one late packet is not audible.
    private var ring = AudioRingBuffer(prefill: 2 * callbackFrames * AudioFormat.channels)
    private var device: SDL_AudioDeviceID = 0
    private var isOpen = false
    private var isClosing = false
    /// Whether there is nothing to close, as after a failed `init`.
    private var isClosed = true
    /// Consecutive callbacks without samples.
    private var silentCallbacks = 0
    private var thread: OpaquePointer?

    private static let callbackFrames = AudioFormat.framesPerTenMilliseconds
    private static let silentCallbacksBeforeClosing = 100

    /// - Throws: `.noAudioServer` if there is no audio output.
    public init() throws(SourceFailure) {
        pthread_mutex_init(lock, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(signal, &attributes)
        pthread_condattr_destroy(&attributes)
        guard SDLLibrary.open(UInt32(SDL_INIT_AUDIO)) else { throw Self.noAudioOutput() }
        guard open() else {
            let failure = Self.noAudioOutput()
            SDLLibrary.close(UInt32(SDL_INIT_AUDIO))
            throw failure
        }
        thread = SDL_CreateThread(
            { context in
                guard let context else { return 0 }
                Unmanaged<SpeakerOutput>.fromOpaque(context).takeUnretainedValue().runDeviceLoop()
                return 0
            }, "audio-out", Unmanaged.passUnretained(self).toOpaque())
        guard thread != nil else {
            let failure = Self.noAudioOutput()
            SDL_CloseAudioDevice(device)
            SDLLibrary.close(UInt32(SDL_INIT_AUDIO))
            throw failure
        }
        isClosed = false
    }

    private static func noAudioOutput() -> SourceFailure {
        SourceFailure(
            .noAudioServer, "No sound can be played here: \(SDLLibrary.lastError).",
            remedy: "Start PulseAudio or PipeWire, or go on without sound.")
    }

    deinit {
        close()
        pthread_cond_destroy(signal)
        pthread_mutex_destroy(lock)
        signal.deallocate()
        lock.deallocate()
    }

    /// Appends interleaved samples. The oldest are dropped when more than 200 ms are queued. Never waits for the
    /// device.
    public func play(_ samples: UnsafeBufferPointer<Int16>) {
        pthread_mutex_lock(lock)
        ring.append(samples)
        let isAsleep = !isOpen
        pthread_mutex_unlock(lock)
        if isAsleep { pthread_cond_signal(signal) }
    }

    /// The queued audio and two buffers of the device.
    public var latency: MediaDuration {
        pthread_mutex_lock(lock)
        let frames = ring.count / AudioFormat.channels + 2 * Self.callbackFrames
        pthread_mutex_unlock(lock)
        return MediaDuration(nanoseconds: Int64(frames) * 1_000_000_000 / Int64(AudioFormat.sampleRate))
    }

    /// Samples that were dropped because the queue was full.
    public var droppedSamples: Int {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return ring.dropped
    }

    /// Whether the device is open; it is closed during silence.
    public var isDeviceOpen: Bool {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return isOpen
    }

    /// Stops playback before it returns. A second call does nothing.
    public func close() {
        pthread_mutex_lock(lock)
        let isFirst = !isClosed
        isClosed = true
        isClosing = true
        pthread_mutex_unlock(lock)
        guard isFirst else { return }
        pthread_cond_signal(signal)
        SDL_WaitThread(thread, nil)
        SDLLibrary.close(UInt32(SDL_INIT_AUDIO))
    }

    /// The loop of the thread `audio-out`, which opens and closes the device.
    private func runDeviceLoop() {
        pthread_mutex_lock(lock)
        var isLost = false
        while !isClosing {
            if isOpen {
                if isLost || silentCallbacks >= Self.silentCallbacksBeforeClosing {
                    isLost = false
                    closeDevice()
                } else {
                    // A removed device makes no more callbacks, so its status is polled once a second while it is open.
                    waitOneSecond()
                    isLost = SDL_GetAudioDeviceStatus(device) == SDL_AUDIO_STOPPED
                }
            } else if ring.count == 0 {
                pthread_cond_wait(signal, lock)
            } else {
                pthread_mutex_unlock(lock)
                let isSuccess = open()
                pthread_mutex_lock(lock)
                if !isSuccess {
                    // There is no device: the queue is dropped, and later samples try again.
                    waitOneSecond()
                    ring.clear()
                }
            }
        }
        if isOpen { closeDevice() }
        pthread_mutex_unlock(lock)
    }

    /// Until the signal or a second has passed; with the lock held.
    private func waitOneSecond() {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        time.tv_sec += 1
        pthread_cond_timedwait(signal, lock, &time)
    }

    private func open() -> Bool {
        var wanted = SDL_AudioSpec()
        wanted.freq = Int32(AudioFormat.sampleRate)
        wanted.format = SDL_AudioFormat(AUDIO_S16LSB)
        wanted.channels = UInt8(AudioFormat.channels)
        wanted.samples = UInt16(Self.callbackFrames)
        wanted.userdata = Unmanaged.passUnretained(self).toOpaque()
        wanted.callback = { context, bytes, count in
            guard let context, let bytes else { return }
            Unmanaged<SpeakerOutput>.fromOpaque(context).takeUnretainedValue().fill(bytes, Int(count))
        }
        let device = SDL_OpenAudioDevice(nil, 0, &wanted, nil, 0)
        guard device != 0 else { return false }
        pthread_mutex_lock(lock)
        self.device = device
        isOpen = true
        silentCallbacks = 0
        pthread_mutex_unlock(lock)
        SDL_PauseAudioDevice(device, 0)
        return true
    }

    /// Called with the lock held. It is released meanwhile, as SDL waits for a running callback.
    private func closeDevice() {
        isOpen = false
        pthread_mutex_unlock(lock)
        SDL_CloseAudioDevice(device)
        pthread_mutex_lock(lock)
    }

    /// Fills SDL's buffer; called on SDL's audio thread.
    private func fill(_ bytes: UnsafeMutablePointer<UInt8>, _ count: Int) {
        let samples = UnsafeMutableRawPointer(bytes).assumingMemoryBound(to: Int16.self)
        pthread_mutex_lock(lock)
        let taken = ring.take(UnsafeMutableBufferPointer(start: samples, count: count / 2))
        (samples + taken).update(repeating: 0, count: count / 2 - taken)
        silentCallbacks = taken > 0 ? 0 : silentCallbacks + 1
        let isOver = silentCallbacks == Self.silentCallbacksBeforeClosing
        pthread_mutex_unlock(lock)
        if isOver { pthread_cond_signal(signal) }
    }
}
