import WebMContainer

/// Names the files of a recording.
public struct RecordingDestination: Sendable {
    private let name: @Sendable (_ number: Int, _ attempt: Int) -> String?

    /// - Parameter name: gives the path for the file of a number, from 1 on; asked again, with the next attempt from 0
    ///   on, if there is such a file already. Nil: there is no other name. Called on the disk thread.
    public init(_ name: @escaping @Sendable (_ number: Int, _ attempt: Int) -> String?) { self.name = name }

    /// The first file has the given path. Others get a number before the extension.
    public static func file(_ path: String) -> Self {
        Self { number, attempt in
            if number == 1 { return attempt == 0 ? path : nil }
            return path.withSuffix("-\(number + attempt)")
        }
    }

    /// The given path or, if there is such a file, the same with a number before the extension.
    public static func freeName(_ path: String) -> Self {
        Self { _, attempt in attempt == 0 ? path : path.withSuffix("-\(attempt + 1)") }
    }

    /// Files of a folder.
    /// - Parameter name: gives the name of a file that is begun now, without a number. Called on the disk thread.
    public static func folder(_ path: String, name: @escaping @Sendable () -> String) -> Self {
        Self { number, attempt in
            let file = path + (path.hasSuffix("/") ? "" : "/") + name()
            return attempt == 0 ? file : file.withSuffix("-\(attempt + 1)")
        }
    }

    private static let attempts = 1_000

    /// Creates the file of a number, under the first name that is free.
    func create(_ number: Int) throws(RecordingFileFailure) -> RecordingFile {
        var failure = RecordingFileFailure(.exists, "there is no name for file \(number)")
        for attempt in 0..<Self.attempts {
            guard let path = name(number, attempt) else { break }
            do throws(RecordingFileFailure) {
                return try RecordingFile(creating: path)
            } catch {
                failure = error
                guard error.code == .exists else { break }
            }
        }
        throw failure
    }
}

extension String {
    /// The suffix is put before the extension.
    fileprivate func withSuffix(_ suffix: String) -> String {
        let start = lastIndex(of: "/").map { index(after: $0) } ?? startIndex
        guard let dot = self[start...].lastIndex(of: "."), dot > start else { return self + suffix }
        return self[..<dot] + suffix + self[dot...]
    }
}
