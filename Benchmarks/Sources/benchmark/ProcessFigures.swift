import Foundation
import Glibc

/// The kernel's figures for a process and its threads.
struct ProcessFigures {
    let identifier: Int32

    /// The user and system time of all its threads, including ended ones, in milliseconds.
    var cpuMilliseconds: Double {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(identifier, &clock) == 0, clock_gettime(clock, &time) == 0 else { return 0 }
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }

    /// Returns the CPU time of the threads of that name, in milliseconds.
    func cpuMilliseconds(ofThread name: String) -> Double {
        threadNames.filter { $0.value == name }.keys.reduce(0) { sum, thread in
            // The fields are the time on a core in nanoseconds, the time waiting for a core, and the number of time
            // slices.
            let text = try? String(
                contentsOfFile: "/proc/\(identifier)/task/\(thread)/schedstat", encoding: .utf8)
            return sum + (text?.split(separator: " ").first.flatMap { Double($0) } ?? 0) / 1e6
        }
    }

    struct Memory {
        /// In MB: resident, proportional share (PSS), private without files, shared memory.
        var resident = 0.0
        var proportional = 0.0
        var anonymous = 0.0
        var shared = 0.0
    }

    var memory: Memory {
        var memory = Memory()
        for (key, kilobytes) in fields("status") {
            switch key {
            case "VmRSS": memory.resident = kilobytes / 1_024
            case "RssAnon": memory.anonymous = kilobytes / 1_024
            case "RssShmem": memory.shared = kilobytes / 1_024
            default: break
            }
        }
        memory.proportional = (fields("smaps_rollup").first { $0.0 == "Pss" }?.1 ?? 0) / 1_024
        return memory
    }

    /// Lines of the form "Key:   123 kB".
    private func fields(_ file: String) -> [(String, Double)] {
        guard let text = try? String(contentsOfFile: "/proc/\(identifier)/\(file)", encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2,
                let value = parts[1].split(whereSeparator: { $0 == " " || $0 == "\t" }).first.flatMap({ Double($0) })
            else { return nil }
            return (String(parts[0]), value)
        }
    }

    /// The names of the threads by their identifiers.
    var threadNames: [Int32: String] {
        let directory = "/proc/\(identifier)/task"
        var names: [Int32: String] = [:]
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            guard let thread = Int32(entry),
                let name = try? String(contentsOfFile: "\(directory)/\(entry)/comm", encoding: .utf8)
            else { continue }
            names[thread] = name.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        return names
    }

    /// CPU time of the process and all its descendants.
    var familyCPUMilliseconds: Double { family.reduce(0) { $0 + $1.cpuMilliseconds } }

    /// The process and all its descendants.
    var family: [ProcessFigures] {
        var parents: [Int32: Int32] = [:]
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(entry),
                let text = try? String(contentsOfFile: "/proc/\(entry)/stat", encoding: .utf8),
                let end = text.lastIndex(of: ")")
            else { continue }
            let fields = text[text.index(after: end)...].split(separator: " ")
            if fields.count > 1, let parent = Int32(fields[1]) { parents[process] = parent }
        }
        func descends(_ process: Int32) -> Bool {
            var process = process
            while process != identifier {
                guard let parent = parents[process], parent > 1 else { return false }
                process = parent
            }
            return true
        }
        return parents.keys.filter(descends).map(ProcessFigures.init)
    }
}
