import Foundation

/// Names the allocating functions: traces with symbols, the most frequent first.
enum Culprits {
    private struct Mapping {
        var range: Range<UInt64>
        /// The offset between an address in memory and in the file.
        var base: UInt64
        var file: String
    }

    static func text(
        of traces: [AllocationFile.Trace], in process: Subprocess, title: String, bySize: Bool = false
    ) -> [String] {
        let threads = process.figures.threadNames
        var groups: [[UInt64]: (count: Int, thread: String, size: UInt64)] = [:]
        for trace in traces {
            groups[trace.frames, default: (0, threads[trace.thread] ?? "?", 0)].count += 1
            groups[trace.frames]?.size += trace.size
        }
        let mappings = mappings(of: process.figures.identifier)
        var lines = ["", "\(title): \(traces.count) allocations"]
        for (frames, group) in groups.sorted(by: {
            bySize ? $0.value.size > $1.value.size : $0.value.count > $1.value.count
        }).prefix(20) {
            lines.append("  \(group.count) with \(group.size) bytes on \(group.thread)")
            lines += names(of: frames, mappings).map { "      \($0)" }
        }
        return lines
    }

    private static func mappings(of process: Int32) -> [Mapping] {
        guard let text = try? String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8) else { return [] }
        var bases: [String: UInt64] = [:]
        return text.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", maxSplits: 5, omittingEmptySubsequences: true)
            let ends = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            guard fields.count == 6, fields[5].contains("/"), ends.count == 2 else { return nil }
            let file = fields[5].trimmingCharacters(in: .whitespaces)
            let base = bases[file] ?? ends[0]
            bases[file] = base
            return Mapping(range: ends[0]..<ends[1], base: base, file: file)
        }
    }

    private static func names(of frames: [UInt64], _ mappings: [Mapping]) -> [String] {
        let input = frames.prefix(14).compactMap { frame -> String? in
            guard let mapping = mappings.first(where: { $0.range.contains(frame) }) else { return nil }
            // A return address points after its call.
            return "CODE \"\(mapping.file)\" 0x\(String(frame - mapping.base - 1, radix: 16))"
        }
        let names = lines(of: "llvm-symbolizer", ["--output-style=GNU", "--no-inlines", "--basenames"] + input)
        let functions = stride(from: 0, to: names.count - 1, by: 2).map { names[$0] }
        let demangled = lines(of: "swift-demangle", ["--simplified", "--compact"] + functions)
        return functions.indices.map {
            "\($0 < demangled.count ? demangled[$0] : functions[$0]) \(names[$0 * 2 + 1])"
        }
    }

    private static func lines(of program: String, _ arguments: [String]) -> [String] {
        guard let process = try? Subprocess(program, arguments) else { return [] }
        var lines: [String] = []
        while let line = try? process.events.wait(for: "line", after: lines.count).text { lines.append(line) }
        return lines
    }
}
