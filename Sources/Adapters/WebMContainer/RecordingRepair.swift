import Glibc
import Matroska

/// Completes files whose recording was cut off.
public enum RecordingRepair {
    public struct Result: Equatable, Sendable {
        /// The file was complete already, and was not changed.
        public var wasComplete: Bool
        /// In milliseconds.
        public var duration: Int64
        /// Bytes that could not be read, and are left out.
        public var lostBytes: Int
    }

    /// Cuts off what is no whole cluster, covers damage, adds cues, and fills in the duration. The file can be played
    /// as before if that is interrupted.
    /// - Throws: `.inUse` while the file is recorded; `.notReadable` if it is no recording of this program.
    public static func repair(_ path: String) throws(RecordingFileFailure) -> Result {
        let source = try RecordedFileSource(path, isWritable: true)
        let file: MatroskaFile<RecordedFileSource>
        do throws(MatroskaFile<RecordedFileSource>.Malformed) {
            file = try MatroskaFile(source)
        } catch {
            throw RecordingFileFailure(.notReadable, "\(path) is no recording that can be read")
        }
        if file.isComplete {
            return Result(wasComplete: true, duration: Int64(file.header.duration ?? 0), lostBytes: 0)
        }
        guard let repair = file.repair() else {
            throw RecordingFileFailure(.notReadable, "\(path) was written by another program, or little of it is whole")
        }
        for patch in repair.damage { try write(patch.bytes, at: patch.offset, source) }
        guard ftruncate(source.descriptor, off_t(repair.end)) == 0 else { throw failure(source) }
        do throws(RecordingFileFailure) {
            try write(repair.cues, at: repair.end, source)
        } catch {
            ftruncate(source.descriptor, off_t(repair.end))
            throw error
        }
        try sync(source)
        for patch in repair.header { try write(patch.bytes, at: patch.offset, source) }
        try sync(source)
        return Result(wasComplete: false, duration: repair.duration, lostBytes: repair.lostBytes)
    }

    private static func write(
        _ bytes: [UInt8], at offset: Int, _ file: RecordedFileSource
    ) throws(RecordingFileFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes {
                pwrite(file.descriptor, $0.baseAddress, $0.count, off_t(offset + written))
            }
            if count > 0 { written += count } else if count == 0 || errno != EINTR { throw failure(file) }
        }
    }

    private static func sync(_ file: RecordedFileSource) throws(RecordingFileFailure) {
        guard fdatasync(file.descriptor) == 0 else { throw failure(file) }
    }

    private static func failure(_ file: RecordedFileSource) -> RecordingFileFailure {
        RecordingFileFailure(errno: errno, file.path, "cannot be written")
    }
}
