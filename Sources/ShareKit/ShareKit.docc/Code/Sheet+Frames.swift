import ShareKit

extension Sheet {
    /// Hands in a whole frame that the app has drawn elsewhere.
    func show(_ pixels: UnsafeRawPointer, stride: Int) throws(ShareKitError) {
        try source.submit(pixels: pixels, stride: stride, width: Self.width, height: Self.height)
    }

    /// Hands in a frame in shared memory, which is read there.
    func show(_ memory: SharedMemory, at offset: Int) throws(ShareKitError) {
        try source.submit(memory, offset: offset, stride: Self.width * 4, width: Self.width, height: Self.height)
    }

    /// Hands in 10 ms of audio, here silence.
    func playSilence() {
        let samples = [Int16](repeating: 0, count: 960)
        samples.withUnsafeBufferPointer { source.submitAudio($0) }
    }
}
