internal import VideoBitstream

/// A copy of libvpx's last frame, and the bytes of a frame that is made without libvpx. The memory is allocated with
/// the first one. Either has the last frame, and it is copied to the other when it is needed there.
final class ReferenceCopies {
    lazy var picture = allocate()
    lazy var scratch = allocate()
    /// `picture` is the last frame.
    var isCurrent = false
    /// libvpx has the last frame.
    var isLibraryCurrent = true
    private let columns: Int
    private let rows: Int
    private var pictures: [UnsafeMutablePointer<UInt8>] = []
    private var bytes = UnsafeMutableRawBufferPointer(start: nil, count: 0)

    init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }

    deinit {
        for picture in pictures { picture.deallocate() }
        bytes.deallocate()
    }

    /// - Returns: the bytes, valid until the next call.
    func keep(_ frame: [UInt8]) -> UnsafeRawBufferPointer {
        if bytes.count < frame.count {
            bytes.deallocate()
            bytes = .allocate(byteCount: frame.count, alignment: 16)
        }
        bytes.copyBytes(from: frame)
        return UnsafeRawBufferPointer(rebasing: bytes[..<frame.count])
    }

    /// The three planes lie one behind another, without padding.
    private func allocate() -> VP8Picture {
        let pixels = columns * rows * 256
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: pixels * 3 / 2)
        pictures.append(memory)
        return VP8Picture(
            y: memory, u: memory + pixels, v: memory + pixels * 5 / 4, strideY: columns * 16, strideC: columns * 8)
    }
}
