import LinuxRuntime
import MediaCore

/// A screen that does not change.
final class StillScreen: ScreenSource, Sendable {
    let size = PixelSize(width: 64, height: 64)
    let summary = "a still screen"
    let limitations: [String] = []
    let reads = Monitor(0)
    let suspensions = Monitor(0)
    /// How often the source, suspended, was to wait.
    let waits = Monitor(0)
    let onRead = Monitor<(@Sendable () -> Void)?>(nil)
    /// As after `resume`.
    private let isDamaged = Monitor(true)
    private let isWoken = Monitor(false)

    func wait(until deadline: MediaInstant?) -> ScreenEvent {
        if isDamaged.with({ $0 }) { return .damaged }
        _ = isWoken.wait(until: deadline ?? .distantFuture) { isWoken in
            defer { isWoken = false }
            return isWoken ? () : nil
        }
        return .woken
    }

    func read(into canvas: I420Buffer, changed: inout BlockMap) -> MediaInstant {
        reads.change { $0 += 1 }
        isDamaged.with { $0 = false }
        onRead.with { $0 }?()
        return MonotonicClock.now
    }

    func suspend() { suspensions.change { $0 += 1 } }
    func resume() { isDamaged.with { $0 = true } }
    func waitSuspended() -> Bool {
        waits.change { $0 += 1 }
        isWoken.wait { isWoken in
            defer { isWoken = false }
            return isWoken ? () : nil
        }
        return true
    }
    func damageEverything() {}
    func wake() { isWoken.change { $0 = true } }
    func close() {}
}

/// Makes frames of minimum size; a key frame only on request.
final class PlainEncoder: VideoEncoder {
    var contentHint = ContentHint.text
    var unrefined: BlockMap? { nil }
    var hasUncodedChanges: Bool { false }
    let requests = Monitor<[VideoEncodeRequest]>([])
    let prepared = Monitor<[PixelSize]>([])
    private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 16, alignment: 16)

    deinit { bytes.deallocate() }

    func prepare(_ size: PixelSize) { prepared.change { $0.append(size) } }

    func encode(
        _ canvas: I420Buffer, changed: BlockMap, at instant: MediaInstant, _ request: VideoEncodeRequest
    ) throws(CodecFailure) -> EncodedFrame? {
        requests.change { $0.append(request) }
        return EncodedFrame(
            bytes: UnsafeRawBufferPointer(bytes), isKeyframe: request.isKeyframeRequested, quantizer: 0)
    }

    func makeAnother() -> any VideoEncoder { PlainEncoder() }
}
