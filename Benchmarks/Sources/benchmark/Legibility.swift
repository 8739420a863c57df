import Foundation
import NetworkBed
import Synchronization

/// Measures when a viewer can read what has changed on the screen: each recorded picture of the viewer's display is
/// read by tesseract, and compared with what it reads on the sender's display. Only words that the change has brought
/// count, each at its place.
struct Legibility {
    static let links: [Double] = [500, 1_000, 2_000, 10_000]

    let contenders: [Networks.Contender]
    let kilobits: [Double]
    /// Whether a video plays beside the page.
    let hasVideo: Bool
    let seconds: Int
    /// Where the recorded pictures are left; nil: nowhere.
    let output: String?

    /// What a viewer could read after one change.
    struct Result: Sendable {
        var page: String
        var change: String
        var words = 0
        /// Until so many of the words were right, in ms; nil if they never were.
        var ninety: Double?
        var ninetyNine: Double?
        /// The share that was right in the end.
        var last = 0.0
        var kilobytes = 0.0
    }

    private struct Change {
        var page: String
        var change: String
        var bytes: Double
    }

    func measure() throws {
        guard ReadPage.isPossible else { throw BenchmarkFailure("tesseract is missing; run Scripts/setup benchmark") }
        let check = try Subprocess(tool("legibility"), [])
        guard check.exitStatus == 0 else { throw BenchmarkFailure(check.errorText) }
        Table.title(
            "Legibility: words of a change that are read on the viewer's display, round trip 50 ms"
                + (hasVideo ? ", beside a video" : ""))
        Table.header(["link", "program", "page", "change", "words", "90 % ms", "99 % ms", "right at the end", "kB"])
        for rate in kilobits {
            for contender in contenders {
                let name = "\(cell(rate / 1_000, rate.truncatingRemainder(dividingBy: 1_000) == 0 ? 0 : 1)) Mbit/s"
                do {
                    let results = try measure(contender, rate)
                    for each in results {
                        Table.row([
                            name, contender.name, each.page, each.change, "\(each.words)", cell(each.ninety), cell(each.ninetyNine),
                            "\(cell(each.last * 100, 1)) %", cell(each.kilobytes),
                        ])
                    }
                    for change in ["new", "scroll", "typing"] {
                        let pages = results.filter { $0.change == change && $0.words > 0 }
                        Table.row([
                            name, contender.name, "median", change, "", cell(Self.median(pages.map(\.ninety))),
                            cell(Self.median(pages.map(\.ninetyNine))),
                            "\(cell((pages.map(\.last).min() ?? 0) * 100, 1)) % at least",
                            cell(Self.median(pages.map(\.kilobytes))),
                        ])
                    }
                } catch {
                    Table.row([name, contender.name, "-", "-", "-", "-", "-", "-", "\(error)"])
                }
            }
        }
    }

    /// The median; nil if that is one of those which never came.
    private static func median(_ values: [Double?]) -> Double? {
        benchmark.median(values.map { $0 ?? .infinity }).flatMap { $0.isFinite ? $0 : nil }
    }

    private func measure(_ contender: Networks.Contender, _ rate: Double) throws -> [Result] {
        let path = try EmulatedPath(LinkConditions(kilobits: rate, queueMilliseconds: 500, delayMilliseconds: 25))
        let folder = try TemporaryDirectory()
        var changes: [Change] = []
        _ = try contender.run(path, { hasVideo ? try Self.startVideo(on: $0) : [] }) { from, to in
            let pages = try Subprocess(tool("legibility"), [from, to, folder.path, "\(seconds)"])
            defer { pages.terminate() }
            for _ in 0..<15 {
                let event = try pages.wait(for: "change", after: changes.count * 2, seconds: 60)
                let begin = try path.link.figures(.forward).bytesOut
                _ = try pages.wait(for: "changed", after: changes.count * 2, seconds: 60)
                let end = try path.link.figures(.forward).bytesOut
                guard
                    let names = try? JSONSerialization.jsonObject(with: Data(event.text.utf8)) as? [String: String],
                    let page = names["page"], let change = names["change"]
                else { throw BenchmarkFailure("legibility said: \(event.text)") }
                changes.append(Change(page: page, change: change, bytes: Double(end - begin)))
            }
            _ = try pages.wait(for: "over")
        }
        if let output {
            try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: true)
            let copy = "\(output)/\(contender.name)-\(Int(rate))"
            try? FileManager.default.removeItem(atPath: copy)
            try FileManager.default.copyItem(atPath: folder.path, toPath: copy)
        }
        return try Self.read(changes, in: folder.path)
    }

    /// A window beside the page.
    private static func startVideo(on display: String) throws -> [Subprocess] {
        [
            try Subprocess(
                tool("scene"), ["-s", "600", "-x", "1000", "-y", "150", "-w", "640", "-h", "360", "-f", "30"],
                environment: ["DISPLAY": display])
        ]
    }

    /// Reads the pictures on all cores.
    private static func read(_ changes: [Change], in folder: String) throws -> [Result] {
        let outcome = Mutex<(results: [Int: Result], failure: (any Error)?)>(([:], nil))
        DispatchQueue.concurrentPerform(iterations: changes.count) { index in
            do {
                let result = try read(changes[index], in: folder)
                outcome.withLock { $0.results[index] = result }
            } catch {
                outcome.withLock { $0.failure = error }
            }
        }
        return try outcome.withLock { outcome in
            if let failure = outcome.failure { throw failure }
            return outcome.results.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// Words that only the picture after the change has, and that tesseract reads whatever small errors the picture
    /// has: what it only reads by chance says nothing of a viewer's picture.
    private static func wantedWords(after: String, before: String, folder: String) throws -> [ReadWord] {
        let known = try ReadPage(before, folder: folder)
        let copies = try [1, 2].map { try ReadPage(after, folder: folder, noise: $0) }
        return try ReadPage(after, folder: folder).certain(besides: known).filter { word in copies.allSatisfy { $0.has(word) } }
    }

    private static func read(_ change: Change, in folder: String) throws -> Result {
        let prefix = "\(change.page)-\(change.change)-"
        let wanted = try wantedWords(
            after: "\(folder)/\(prefix)after.pgm", before: "\(folder)/\(prefix)before.pgm", folder: folder)
        let times = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name -> Int? in
            guard name.hasPrefix(prefix), name.hasSuffix(".pgm") else { return nil }
            return Int(name.dropFirst(prefix.count).dropLast(4))
        }.sorted()
        guard !times.isEmpty else { throw BenchmarkFailure("\(prefix) has no pictures") }
        // Of such a change nothing can be said.
        guard !wanted.isEmpty else { return Result(page: change.page, change: change.change) }
        var shares: [Int: Double] = [:]
        func share(_ index: Int) throws -> Double {
            if let known = shares[index] { return known }
            let page = try ReadPage("\(folder)/\(prefix)\(String(format: "%05d", times[index])).pgm", folder: folder)
            shares[index] = page.share(of: wanted)
            return shares[index] ?? 0
        }
        /// The first picture with that share, by bisection.
        func first(with wanted: Double) throws -> Double? {
            guard try share(times.count - 1) >= wanted else { return nil }
            var (low, high) = (0, times.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if try share(middle) >= wanted { high = middle } else { low = middle + 1 }
            }
            return Double(times[high])
        }
        var result = Result(page: change.page, change: change.change)
        result.words = wanted.count
        result.ninety = try first(with: 0.9)
        result.ninetyNine = try first(with: 0.99)
        result.last = try share(times.count - 1)
        result.kilobytes = change.bytes / 1_000
        return result
    }
}
