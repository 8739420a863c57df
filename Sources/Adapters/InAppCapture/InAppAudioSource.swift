internal import LinuxRuntime
public import MediaCore
import Synchronization

/// An app's audio for one consumer.
public final class InAppAudioSource: AudioSource, Sendable {
    private let audio: InAppAudio
    private let capacity: MediaDuration
    private let buffer: Monitor<InAppAudioBuffer>
    private let thread = Mutex<NamedThread?>(nil)
    public let summary: String

    init(_ audio: InAppAudio, summary: String, capacity: MediaDuration) {
        self.audio = audio
        self.summary = summary
        self.capacity = capacity
        buffer = Monitor(InAppAudioBuffer(capacity: capacity))
    }

    deinit { stop() }

    public func start(
        handler: @escaping @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void,
        ended: @escaping @Sendable (SourceFailure) -> Void
    ) throws(SourceFailure) {
        let failure = thread.withLock { thread -> NamedThread.Failure? in
            guard thread == nil else { return nil }
            buffer.with { $0 = InAppAudioBuffer(capacity: capacity) }
            do throws(NamedThread.Failure) {
                thread = try NamedThread.start("audio") { [buffer] in Self.run(buffer, handler) }
                audio.add(buffer)
                return nil
            } catch {
                return error
            }
        }
        if let failure {
            throw SourceFailure(.unsupported, "no thread is left for the app's audio (error \(failure.code))")
        }
    }

    private static func run(
        _ buffer: Monitor<InAppAudioBuffer>, _ handler: @Sendable (UnsafeBufferPointer<Int16>, MediaInstant) -> Void
    ) {
        var packet = [Int16](repeating: 0, count: InAppAudioBuffer.packet)
        while true {
            let since: MediaInstant? = buffer.wait { buffer -> MediaInstant?? in
                if buffer.isStopped { return .some(nil) }
                return buffer.take(&packet).map { .some($0) }
            }
            guard let since else { return }
            packet.withUnsafeBufferPointer { handler($0, since) }
        }
    }

    public func stop() {
        audio.remove(buffer)
        let ending = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        buffer.change { $0.isStopped = true }
        ending?.join()
    }
}
