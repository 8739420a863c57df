import ImageFile
import MediaCore
import PixelConversion
import Recording
import VPXCodec

/// Pictures of a recording in one image, from its beginning to its end.
struct ContactSheet {
    /// Twelve pictures, and one.
    static let twelve = ContactSheet(columns: 4, rows: 3, gap: 8)
    static let thumbnail = ContactSheet(columns: 1, rows: 1, gap: 0)

    let columns: Int
    let rows: Int
    /// In pixels, even.
    let gap: Int
    /// Of a picture, in pixels.
    private static let width = 320

    private let converter = YUVConverter()

    /// Writes the sheet as a PNG file. Blocks on the disk.
    /// - Throws: if the recording cannot be read, has no video, if the file cannot be written, or if ffmpeg is needed
    ///   for the codec and is not installed.
    func write(_ recording: StoredRecording, to path: String) throws(RecordingFailure) {
        let count = columns * rows
        // In the middle of each part.
        let instants = (0..<count).map { index in
            MediaDuration(nanoseconds: recording.duration.nanoseconds / Int64(count * 2) * Int64(index * 2 + 1))
        }
        let cell = Self.cell(recording)
        let sheet = I420Buffer(
            PixelSize(
                width: columns * (cell.width + gap) + gap,
                height: rows * (cell.height + gap) + gap))
        Self.fill(sheet)
        var pictures = 0
        try RecordingFrames.forEach(of: recording.path, at: instants) { index, group throws(RecordingFailure) in
            let decoded = group.codec == .vp8 ? picture(group, cell) : try FFmpeg.lastPicture(of: group, size: cell)
            guard let picture = decoded else { return }
            pictures += 1
            Self.copy(
                picture, to: sheet, x: gap + index % columns * (cell.width + gap),
                y: gap + index / columns * (cell.height + gap))
        }
        guard pictures > 0 else { throw RecordingFailure("\(recording.path) has no frame that can be decoded") }
        do throws(ImageFileFailure) {
            try ImageFile.write(sheet.frame, to: path, converter: converter)
        } catch {
            throw RecordingFailure(error.message)
        }
    }

    /// The size of a picture: as wide as all, and at most three times as high.
    private static func cell(_ recording: StoredRecording) -> PixelSize {
        let size = recording.tracks.lazy.compactMap(\.size).first ?? PixelSize(width: 16, height: 9)
        let height = width * max(size.height, 1) / max(size.width, 1)
        return PixelSize(width: width, height: min(max(height, 2), width * 3) & ~1)
    }

    /// Decodes the frames, and returns the last picture in the size of a cell.
    private func picture(_ group: FrameGroup, _ cell: PixelSize) -> I420Buffer? {
        let frames = group.frames
        let decoder = VP8Decoder()
        let scaled = I420Buffer(cell)
        var hasPicture = false
        for (index, frame) in frames.enumerated() {
            let decoded =
                frame.bytes.withUnsafeBytes {
                    try? decoder.decode($0, colorSpace: group.colorSpace)
                } ?? nil
            // The decoder's memory is valid until the next frame; only the last picture is of use, or that before a
            // hidden one.
            guard let decoded, index >= frames.count - 2 || !hasPicture else { continue }
            converter.scale(decoded, to: scaled)
            hasPicture = true
        }
        return hasPicture ? scaled : nil
    }

    private static func fill(_ sheet: I420Buffer) {
        let (width, height) = (sheet.size.width, sheet.size.height)
        for row in 0..<height { (sheet.y + row * sheet.strideY).update(repeating: 40, count: width) }
        for row in 0..<height / 2 {
            (sheet.u + row * sheet.strideC).update(repeating: 128, count: width / 2)
            (sheet.v + row * sheet.strideC).update(repeating: 128, count: width / 2)
        }
    }

    /// - Parameters x and y: even.
    private static func copy(_ picture: I420Buffer, to sheet: I420Buffer, x: Int, y: Int) {
        let (width, height) = (picture.size.width, picture.size.height)
        for row in 0..<height {
            (sheet.y + (y + row) * sheet.strideY + x).update(from: picture.y + row * picture.strideY, count: width)
        }
        for row in 0..<height / 2 {
            let from = row * picture.strideC
            let to = (y / 2 + row) * sheet.strideC + x / 2
            (sheet.u + to).update(from: picture.u + from, count: width / 2)
            (sheet.v + to).update(from: picture.v + from, count: width / 2)
        }
    }
}
