import Foundation

/// A word that tesseract has read, with the centre of its box in pixels of the screen.
struct ReadWord {
    let text: String
    let x: Double
    let y: Double
    /// In per cent.
    let confidence: Double

    func isAt(_ other: ReadWord) -> Bool { abs(x - other.x) <= 4 && abs(y - other.y) <= 4 }
}

/// What tesseract reads in a picture of a page.
struct ReadPage {
    private let words: [String: [ReadWord]]

    /// Letters of some 12 pixels are too small for tesseract: the picture is enlarged three times.
    private static let enlargement = 3

    static var isPossible: Bool {
        (try? Subprocess("tesseract", ["--version"]).exitStatus) == 0
    }

    /// - Parameters:
    ///   - path: a PGM file.
    ///   - folder: for the enlarged picture.
    ///   - noise: the seed of an error of at most 4 in each pixel, as sharp video has it; nil: none.
    init(_ path: String, folder: String, noise: UInt64? = nil) throws {
        let large = "\(folder)/\(UUID().uuidString).pgm"
        var file = try Data(contentsOf: URL(fileURLWithPath: path))
        if let noise { Self.disturb(&file, seed: noise) }
        try Self.enlarge(file).write(to: URL(fileURLWithPath: large))
        defer { try? FileManager.default.removeItem(atPath: large) }
        let output = "\(large).words"
        // A process writes to a file: its text is longer than a pipe.
        let reader = try Subprocess(
            "tesseract", [large, output, "--psm", "6", "--dpi", "288", "-l", "eng", "tsv"],
            environment: ["OMP_THREAD_LIMIT": "1"])
        guard reader.exitStatus == 0 else { throw BenchmarkFailure("tesseract: \(reader.errorText)") }
        defer { try? FileManager.default.removeItem(atPath: output + ".tsv") }
        words = Dictionary(grouping: Self.words(try String(contentsOfFile: output + ".tsv", encoding: .utf8)), by: \.text)
    }

    /// Words that tesseract is certain of and that `before` has not at the same place.
    func certain(besides before: ReadPage) -> [ReadWord] {
        words.values.joined().filter { $0.confidence >= 90 && $0.text.count >= 3 && !before.has($0) }
    }

    func has(_ word: ReadWord) -> Bool { words[word.text]?.contains { $0.isAt(word) } ?? false }

    func share(of wanted: [ReadWord]) -> Double {
        Double(wanted.count { has($0) }) / Double(max(wanted.count, 1))
    }

    private static func disturb(_ file: inout Data, seed: UInt64) {
        var state = seed
        // The header is shorter than this.
        for index in file.indices.dropFirst(32) {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            file[index] = UInt8(clamping: Int(file[index]) + Int(state >> 33) % 9 - 4)
        }
    }

    private static func words(_ table: String) -> [ReadWord] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard fields.count == 12, fields[0] == "5" else { return nil }
            let numbers = fields[6..<11].compactMap { Double($0) }
            guard numbers.count == 5 else { return nil }
            return ReadWord(
                text: String(fields[11]), x: (numbers[0] + numbers[2] / 2) / Double(enlargement),
                y: (numbers[1] + numbers[3] / 2) / Double(enlargement), confidence: numbers[4])
        }
    }

    /// Enlarges by bilinear interpolation, as dark letters on light paper.
    private static func enlarge(_ file: Data) throws -> Data {
        let header = file.prefix(32).split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
        let size = header.count == 4 ? String(decoding: header[1], as: UTF8.self).split(separator: " ").compactMap { Int($0) } : []
        guard size.count == 2, file.count >= size[0] * size[1] else { throw BenchmarkFailure("no picture") }
        let (width, height, factor) = (size[0], size[1], enlargement)
        let pixels = [UInt8](file.suffix(width * height))
        let isDark = pixels.reduce(0) { $0 + Int($1) } < 128 * pixels.count
        var large = [UInt8](repeating: 0, count: pixels.count * factor * factor)
        for y in 0..<height * factor {
            let (top, down) = (y / factor, y % factor)
            let bottom = min(top + 1, height - 1)
            for x in 0..<width * factor {
                let (left, across) = (x / factor, x % factor)
                let right = min(left + 1, width - 1)
                let upper = Int(pixels[top * width + left]) * (factor - across) + Int(pixels[top * width + right]) * across
                let lower = Int(pixels[bottom * width + left]) * (factor - across) + Int(pixels[bottom * width + right]) * across
                let value = (upper * (factor - down) + lower * down) / (factor * factor)
                large[y * width * factor + x] = UInt8(isDark ? 255 - value : value)
            }
        }
        return Data("P5\n\(width * factor) \(height * factor)\n255\n".utf8) + Data(large)
    }
}
